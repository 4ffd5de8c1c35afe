// SPDX-License-Identifier: Apache-2.0
#include "runner/program_facts.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "base/diagnostic.h"
#include "fmt/format.h"
#include "formats/pte/origin.h"
#include "formats/pte/reader.h"
#include "ops/rows/rows.h"
#include "runtime/call_types.h"

namespace cormorant {
namespace {

template <class T>
T checked(Result<T> result, const char* what) {
  if (result.ok()) return std::move(result.value());
  throw InputError({.problem = fmt::format("{}: {}", what, describe(result.error())),
                    .advice = result.error() == Error::has_delegate
                                  ? "export the model without a delegate: Cormorant compiles whole models itself"
                                  : ""});
}

std::string name_of(const pte::OperatorView& op) {
  std::string name(op.name);
  if (!op.overload.empty()) name.append(".").append(op.overload);
  return name;
}

std::vector<IoFacts> io_facts(const pte::MethodView& method, std::span<const std::int32_t> values, std::size_t number) {
  const pte::Notes notes = pte::find_notes(method);
  std::vector<IoFacts> all;
  for (const std::int32_t value : values) {
    const pte::TensorView tensor = checked(method.tensor(value), "an input or output");
    const auto quantization = checked(pte::read_quantization(method, notes, number), "an input's or output's scale");
    all.push_back({.name = std::string(checked(pte::read_name(method, notes, number), "an input's or output's name")),
                   .dtype = tensor.dtype,
                   .sizes = {tensor.sizes.begin(), tensor.sizes.end()},
                   .order = {tensor.dim_order.begin(), tensor.dim_order.end()},
                   .memory_id = tensor.memory_id,
                   .offset = tensor.offset,
                   .bytes = tensor.bytes,
                   .scale = quantization.scale,
                   .zero_point = quantization.zero_point});
    ++number;
  }
  return all;
}

// Those of the regions named to our compiler.
std::vector<std::string> region_names(const pte::MethodView& method) {
  std::vector<std::string> names;
  std::istringstream list(std::string(pte::find_notes(method).memories));
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

// What a group calls, by its table. None if there are more than `most`, which becomes less by them, or if the table is
// invalid, which load will report.
std::vector<std::vector<std::size_t>> calls_of(std::span<const std::byte> table, std::size_t first, std::size_t& most) {
  using ops::rows::Entry;
  using ops::rows::Part;
  std::vector<Entry> entries(table.size() / sizeof(Entry));
  if (entries.size() >= Entry::kNone) return {};
  if (!entries.empty()) std::memcpy(entries.data(), table.data(), entries.size() * sizeof(Entry));
  // For entries with parts, which follow them, their calls for a strip.
  std::vector<std::size_t> calls(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].kind != Entry::Kind::strips) continue;
    const std::size_t count = entries[i].parts();
    if (count >= entries.size() - i) return {};
    for (std::size_t k = i + 1; k <= i + count; ++k) {
      Part part;
      std::memcpy(&part, &entries[k], sizeof(part));
      calls[i] += part.kind == Part::Kind::call ? 1 : 0;
    }
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                  entries.begin() + static_cast<std::ptrdiff_t>(i + 1 + count));
  }
  std::size_t ticks = 0;
  for (const Entry& e : entries) {
    if (e.period == 0 || e.batch == 0) return {};
    const std::size_t times = e.all_rows() / e.batch;
    if (times != 0) ticks = std::max(ticks, e.start + e.period * (times - 1) + 1);
  }
  std::size_t each = entries.size();  // of what a tick does, at most
  for (std::size_t i = 0; i < entries.size(); ++i) each += entries[i].strips() * calls[i];
  if (each != 0 && ticks > most / each) return {};
  most -= ticks * each;
  std::vector<std::vector<std::size_t>> parts(1);
  for (std::size_t tick = 0; tick < ticks; ++tick) {
    std::size_t next = first;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Entry& e = entries[i];
      const std::size_t stage = next;
      next += e.kind == Entry::Kind::call ? 1 : calls[i];
      if (tick < e.start || (tick - e.start) % e.period != 0) continue;
      const auto n = static_cast<std::uint32_t>((tick - e.start) / e.period);
      if (n * e.batch >= e.all_rows()) continue;
      const ops::rows::Inside batch = ops::rows::batch_of(e, n);
      if (batch.count() == 0) continue;
      if (e.kind == Entry::Kind::push && batch.first != 0) parts.emplace_back();
      if (e.kind == Entry::Kind::call) parts.back().push_back(stage);
      if (e.kind != Entry::Kind::strips) continue;
      for (std::size_t strip = 0; strip < e.strips(); ++strip) {
        for (std::size_t call = 0; call < calls[i]; ++call) parts.back().push_back(stage + call);
      }
    }
  }
  return parts;
}

// Whether a planned tensor with contents is where the program keeps copies of its constants (formats/pte/origin.h).
class Copies {
 public:
  explicit Copies(const pte::MethodView& method) : place_(method.tensor(pte::kCopies)) {
    std::string_view origin;
    exist_ = place_.ok() && pte::find_origin(method, origin) && pte::has_constants_in_ram(origin);
  }
  [[nodiscard]] bool exist() const { return exist_; }
  [[nodiscard]] bool contain(const pte::TensorView& tensor) const {
    return exist_ && tensor.memory_id == place_.value().memory_id && tensor.offset >= place_.value().offset &&
           tensor.offset < place_.value().offset + place_.value().bytes;
  }

 private:
  Result<pte::TensorView> place_;
  bool exist_ = false;
};

// The reader requires what the runtime requires of flash: 16-byte alignment, which a span of bytes does not guarantee.
struct alignas(16) Block {
  std::byte bytes[16];
};
std::vector<Block> aligned_copy(std::span<const std::byte> pte) {
  std::vector<Block> blocks((pte.size() + sizeof(Block) - 1) / sizeof(Block));
  if (!pte.empty()) std::memcpy(blocks.data(), pte.data(), pte.size());
  return blocks;
}

}  // namespace

// A tensor that has both a place and contents is state, unless it is a constant's copy. ExecuTorch need not give it
// contents; what it does to a mutable buffer is done in place.
KeptFacts kept_by(const pte::ProgramView& program, const pte::MethodView& method) {
  const Copies copies(method);
  KeptFacts kept = {.constants = copies.exist()};
  for (std::uint32_t i = 0; i < method.value_count(); ++i) {
    const auto tensor = method.tensor(static_cast<std::int32_t>(i));
    if (!tensor.ok() || !tensor.value().is_planned() || tensor.value().data_index == 0) continue;
    if (copies.contain(tensor.value())) continue;
    kept.state = true;
    const pte::TensorView& view = tensor.value();
    if (program.initial_data(view.data_index, view.bytes) != nullptr) kept.buffer_bytes += view.bytes;
  }
  for (std::uint32_t i = 0; i < method.operator_count(); ++i) {
    const auto op = method.operator_at(i);
    if (op.ok() && op.value().name.ends_with("_")) kept.state = true;  // aten::copy_
  }
  return kept;
}

ProgramFacts read_facts(std::span<const std::byte> pte, const std::string& method_name) {
  const std::vector<Block> copy = aligned_copy(pte);
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(copy.data()), pte.size());
  const auto program = checked(pte::ProgramView::open(bytes), "the program cannot be read");
  const auto method = checked(program.method(method_name), fmt::format("method '{}'", method_name).c_str());

  ProgramFacts facts;
  for (std::uint32_t i = 0; i < method.operator_count(); ++i) {
    const std::string name = name_of(checked(method.operator_at(i), "an operator"));
    if (std::ranges::find(facts.operators, name) == facts.operators.end()) facts.operators.push_back(name);
  }
  std::size_t steps = method.instruction_count();
  std::size_t most_calls = std::size_t{1} << 20;  // of all groups, in one execution
  for (std::uint32_t i = 0; i < method.instruction_count(); ++i) {
    const auto instruction = checked(method.instruction(i), fmt::format("instruction {}", i).c_str());
    facts.steps.push_back(name_of(checked(method.operator_at(instruction.op), "an operator")));
    const std::string& name = facts.steps.back();
    const bool is_known = std::ranges::find(facts.of_numbers, name) != facts.of_numbers.end();
    if (!is_known && is_of_numbers(name, types_of(method, instruction.args))) facts.of_numbers.push_back(name);
    // Instructions from there on are not steps of an execution, but stages of this one (ops/rows/rows.h).
    const bool is_fed = ops::rows::is_fed_group(facts.steps.back());
    if (is_fed && facts.rows == 0) {
      facts.rows = pte::find_notes(method).rows;
      facts.taker = i;
    }
    if (ops::rows::is_group(facts.steps.back()) && instruction.args.size() > 1) {
      const std::int64_t first = checked(method.integer(instruction.args[1]), "the stages of a group");
      if (first > i && static_cast<std::size_t>(first) < steps) steps = static_cast<std::size_t>(first);
      const pte::TensorView table = checked(method.tensor(instruction.args[0]), "the table of a group");
      const auto entries = program.constant(table.data_index, table.bytes);
      if (first > i && entries.ok())
        facts.groups.push_back({i, calls_of(entries.value(), static_cast<std::size_t>(first), most_calls)});
    }
  }
  facts.instructions = facts.steps;
  facts.steps.resize(steps);
  for (const std::int64_t size : method.memory_sizes()) {
    if (size < 0) throw InputError({.problem = "the program plans a memory of negative size", .advice = ""});
    facts.arena_bytes.push_back(static_cast<std::uint64_t>(size));
  }
  if (!facts.arena_bytes.empty()) facts.arena_bytes.erase(facts.arena_bytes.begin());  // memory id 0 does not exist
  facts.arena_names = region_names(method);
  facts.arena_names.resize(facts.arena_names.empty() ? 0 : facts.arena_bytes.size());
  facts.kept = kept_by(program, method);
  facts.inputs = io_facts(method, checked(method.inputs(), "the inputs"), 0);
  facts.outputs = io_facts(method, checked(method.outputs(), "the outputs"), facts.inputs.size());
  return facts;
}

}  // namespace cormorant
