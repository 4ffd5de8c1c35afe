// SPDX-License-Identifier: Apache-2.0
#include "formats/pte/methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "formats/pte/origin.h"
#include "formats/pte/reader.h"
#include "formats/pte/writer.h"

namespace cormorant::pte {
namespace {

constexpr std::uint64_t kAlignment = 16;  // what moved tensors keep

std::uint64_t round_down(std::uint64_t n) { return n / kAlignment * kAlignment; }
std::uint64_t round_up(std::uint64_t n) { return round_down(n + kAlignment - 1); }

template <class T>
T take(const Result<T>& result, const char* what) {
  if (!result.ok()) throw std::logic_error(fmt::format("cannot join programs: {}: {}", what, describe(result.error())));
  return result.value();
}

template <class T>
auto vector_of(const Result<std::span<const T>>& items, const char* what) {
  const std::span<const T> span = take(items, what);
  return std::vector<T>(span.begin(), span.end());
}

// ---- one method as the writer's structs ------------------------------------------------------------------------

class MethodReader {
 public:
  MethodReader(const ProgramView& file, const MethodView& method, Program& program)
      : file_(file), method_(method), program_(program) {}

  Plan run(std::string name) {
    Plan plan;
    plan.name = std::move(name);
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(method_.value_count()); ++i) plan.values.push_back(value(i));
    plan.inputs = vector_of(method_.inputs(), "the inputs");
    plan.outputs = vector_of(method_.outputs(), "the outputs");
    for (std::uint32_t i = 0; i < method_.operator_count(); ++i) {
      const OperatorView op = take(method_.operator_at(i), "an operator");
      plan.operators.push_back({std::string(op.name), std::string(op.overload)});
    }
    for (std::uint32_t i = 0; i < method_.instruction_count(); ++i) {
      const InstructionView call = take(method_.instruction(i), "an instruction");
      plan.calls.push_back({.op = call.op, .args = {call.args.begin(), call.args.end()}});
    }
    const auto sizes = method_.memory_sizes();
    plan.memory_sizes.assign(sizes.begin(), sizes.end());
    if (plan.memory_sizes.empty()) plan.memory_sizes = {0};
    return plan;
  }

 private:
  Value value(std::int32_t i) {
    switch (take(method_.kind(i), "a value")) {
      case ValueKind::none:
        return None{};
      case ValueKind::integer:
        return take(method_.integer(i), "an integer");
      case ValueKind::boolean:
        return take(method_.boolean(i), "a boolean");
      case ValueKind::floating:
        return take(method_.floating(i), "a number");
      case ValueKind::string:
        return std::string(take(method_.string(i), "a string"));
      case ValueKind::tensor:
        return tensor(i);
      case ValueKind::int_list:
        return IntList{vector_of(method_.int_list(i), "a list of integers")};
      case ValueKind::double_list:
        return DoubleList{vector_of(method_.double_list(i), "a list of numbers")};
      case ValueKind::bool_list: {
        const auto items = take(method_.bool_list(i), "a list of booleans");
        return BoolList{{items.begin(), items.end()}};
      }
      case ValueKind::tensor_list:
        return TensorList{vector_of(method_.tensor_list(i), "a list of tensors")};
      case ValueKind::optional_tensor_list:
        return OptionalTensorList{vector_of(method_.optional_tensor_list(i), "a list of tensors")};
    }
    throw std::logic_error("cannot join programs: a value of unknown kind");
  }

  Tensor tensor(std::int32_t i) {
    const TensorView view = take(method_.tensor(i), "a tensor");
    Tensor tensor{.dtype = view.dtype,
                  .sizes = {view.sizes.begin(), view.sizes.end()},
                  .dim_order = {view.dim_order.begin(), view.dim_order.end()}};
    tensor.name = std::string(take(method_.tensor_name(i), "a tensor's name"));
    if (view.is_planned()) tensor.place = {view.memory_id, view.offset};
    if (view.data_index == 0) return tensor;
    auto& pieces = tensor.place ? program_.initial_values : program_.constants;
    tensor.data = static_cast<std::uint32_t>(pieces.size());
    pieces.push_back(take(
        tensor.place ? file_.initial_value(view.data_index, view.bytes) : file_.constant(view.data_index, view.bytes),
        "a constant"));
    return tensor;
  }

  const ProgramView& file_;
  const MethodView& method_;
  Program& program_;
};

// ---- what outlives an execution --------------------------------------------------------------------------------

struct Range {
  std::uint64_t begin = 0, end = 0;
  [[nodiscard]] bool meets(const Range& other) const { return begin < other.end && other.begin < end; }
};

// The planned tensors of a memory, with the bytes they take; empty ones take none and stay where they are.
std::vector<std::pair<Tensor*, Range>> planned(Plan& plan, std::uint32_t memory) {
  std::vector<std::pair<Tensor*, Range>> tensors;
  for (Value& value : plan.values) {
    auto* const tensor = std::get_if<Tensor>(&value);
    if (tensor == nullptr || !tensor->place || tensor->place->memory_id != memory || tensor->bytes() == 0) continue;
    tensors.emplace_back(tensor, Range{tensor->place->offset, tensor->place->offset + tensor->bytes()});
  }
  return tensors;
}

// The bytes of a memory that must not change between executions: of tensors with initial values, of the stretch that
// copies of constants are in, and of all tensors that share some of these bytes. Sorted; no two touch each other.
std::vector<Range> persistent(Plan& plan, std::uint32_t memory) {
  const auto* origin = plan.values.empty() ? nullptr : std::get_if<std::string>(plan.values.data());
  const bool has_copies = origin != nullptr && begins_with(*origin, kOurs) && has_constants_in_ram(*origin);
  const Value* const copies = has_copies && plan.values.size() > kCopies ? &plan.values[kCopies] : nullptr;
  const auto tensors = planned(plan, memory);
  std::vector<Range> ranges;
  for (const auto& [tensor, range] : tensors) {
    if (tensor->data || (copies != nullptr && tensor == std::get_if<Tensor>(copies))) ranges.push_back(range);
  }
  for (bool has_grown = !ranges.empty(); has_grown;) {
    has_grown = false;
    std::ranges::sort(ranges, {}, &Range::begin);
    std::vector<Range> merged;
    for (const Range& range : ranges) {
      if (!merged.empty() && range.begin <= merged.back().end) {
        merged.back().end = std::max(merged.back().end, range.end);
      } else {
        merged.push_back(range);
      }
    }
    ranges = std::move(merged);
    for (const auto& [tensor, range] : tensors) {
      const auto met = std::ranges::find_if(ranges, [&](const Range& r) { return r.meets(range); });
      if (met == ranges.end() || (met->begin <= range.begin && range.end <= met->end)) continue;
      *met = {std::min(met->begin, range.begin), std::max(met->end, range.end)};
      has_grown = true;
      break;  // it may have met another one, too
    }
  }
  return ranges;
}

// First what each method keeps, one after another, then everything else. All moves are by multiples of the alignment.
void separate(std::vector<Plan>& plans, std::uint32_t memory) {
  std::vector<std::vector<Range>> kept;
  std::uint64_t next = 0;
  std::vector<std::vector<std::uint64_t>> to;  // where the kept ranges begin then
  for (Plan& plan : plans) {
    kept.push_back(persistent(plan, memory));
    to.emplace_back();
    for (const Range& range : kept.back()) {
      const std::uint64_t begin = round_up(next) + range.begin % kAlignment;
      to.back().push_back(begin);
      next = begin + (range.end - range.begin);
    }
  }
  if (next == 0) return;
  const std::uint64_t others = round_up(next);
  for (std::size_t p = 0; p < plans.size(); ++p) {
    if (memory >= plans[p].memory_sizes.size()) continue;
    std::uint64_t size = next;
    for (const auto& [tensor, range] : planned(plans[p], memory)) {
      std::uint64_t below = 0;  // what it can move down by, because ranges beneath it are gone
      const std::vector<Range>& ranges = kept[p];
      const auto own = std::ranges::find_if(ranges, [&range](const Range& r) { return r.meets(range); });
      for (const Range& r : ranges) below += r.end <= range.begin ? round_down(r.end - r.begin) : 0;
      tensor->place->offset = own != ranges.end()
                                  ? to[p][static_cast<std::size_t>(own - ranges.begin())] + (range.begin - own->begin)
                                  : others + range.begin - below;
      size = std::max(size, tensor->place->offset + tensor->bytes());
    }
    plans[p].memory_sizes[memory] = static_cast<std::int64_t>(size);
  }
}

}  // namespace

std::vector<std::byte> join_methods(std::span<const NamedProgram> programs) {
  Program joined;
  std::size_t memories = 1;
  for (const NamedProgram& program : programs) {
    const ProgramView file = take(ProgramView::open(program.file), "a program");
    if (file.method_count() != 1) throw std::logic_error("cannot join programs: one has several methods");
    const MethodView method = take(file.method(std::uint32_t{0}), "a method");
    joined.plans.push_back(MethodReader(file, method, joined).run(program.method));
    memories = std::max(memories, joined.plans.back().memory_sizes.size());
  }
  for (std::uint32_t memory = 1; memory < memories; ++memory) separate(joined.plans, memory);
  return write(joined);
}

}  // namespace cormorant::pte
