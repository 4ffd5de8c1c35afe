// SPDX-License-Identifier: Apache-2.0
#include "emit/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <list>
#include <numeric>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "formats/pte/origin.h"
#include "formats/pte/writer.h"
#include "memory/groups.h"
#include "ops/rows/rows.h"

namespace cormorant::emit {
namespace {

using memory::batch_of, memory::called, memory::is_cut, memory::is_feed, memory::is_group, memory::is_paste,
    memory::is_push, memory::is_slab, memory::is_window, memory::short_text;
using memory::Groups, memory::MemoryMap, memory::Schedule;

const char* group_name(const ir::Node& group, const Groups& groups, const Target& target) {
  const bool is_fed = groups.push_of(group) != nullptr;
  if (groups.has_strips(group))
    return is_fed ? ops::rows::strips_fed_variant(target.isa) : ops::rows::strips_variant(target.isa);
  return is_fed ? ops::rows::fed_variant(target.isa) : ops::rows::variant(target.isa);
}

class Emitter {
 public:
  Emitter(const ir::Graph& graph, const ops::Config& config, const MemoryMap& memory)
      : graph_(graph), config_(config), memory_(memory), groups_(graph) {}

  std::vector<std::byte> run() {
    plan_.name = "forward";  // whatever a text calls its graph: runtimes expect this name
    note_origin();
    for (const planner::RegionUse& use : memory_.plan.regions) {
      plan_.memory_sizes.push_back(static_cast<std::int64_t>(use.peak));
    }
    for (const ir::Value* input : graph_.inputs()) plan_.inputs.push_back(tensor(input));
    for (const ir::Value* state : graph_.states()) tensor(state);  // for reset(), also where only views of it are read
    const Groups::Nodes instructions = groups_.instructions(memory_.steps);
    next_stage_ = static_cast<std::size_t>(
        std::ranges::count_if(instructions, [&](const ir::Node* node) { return groups_.group_of(*node) == nullptr; }));
    for (const ir::Node* node : instructions) is_group(*node) ? add_group(*node) : add_call(*node);
    for (const ir::Value* output : graph_.outputs()) plan_.outputs.push_back(tensor(output));
    program_.plans.push_back(std::move(plan_));
    return pte::write(program_);
  }

 private:
  void add_call(const ir::Node& node) {
    const ops::Signature* signature = ops::find_signature(node.op);
    if (signature == nullptr)
      throw std::logic_error("node '" + node.name + "' (" + node.op + ") is not a program operator");
    const std::size_t dot = signature->name.rfind('.');
    pte::KernelCall call;
    call.op = plan_.intern_operator(signature->name.substr(0, dot), signature->name.substr(dot + 1));
    for (const ops::Parameter& parameter : signature->parameters)
      call.args.push_back(argument(node.get(parameter.name)));
    // ExecuTorch's kernels find the out tensors twice: as arguments, and as what they return, several as a list.
    for (const ir::Value* result : node.results) call.args.push_back(tensor(result));
    call.args.push_back(node.results.size() == 1 ? call.args.back() : argument(node.results));
    plan_.calls.push_back(std::move(call));
  }

  // The table of a group, and the tensors that it moves rows of.
  void add_group(const ir::Node& group) {
    using ops::rows::Entry;
    std::vector<Entry> table;
    pte::TensorList tensors;
    const auto index_of = [&](const ir::Value* value) {
      const std::int32_t tensor_index = tensor(value);
      const auto found = std::ranges::find(tensors.items, tensor_index);
      if (found == tensors.items.end()) tensors.items.push_back(tensor_index);
      return static_cast<std::uint16_t>(std::ranges::find(tensors.items, tensor_index) - tensors.items.begin());
    };
    const auto set_slab = [&](Entry& entry, const ir::Value* row) {
      const ir::Value* slab = groups_.slab_of(row);
      entry.slab = index_of(slab == nullptr ? row : slab);
      entry.row_bytes = static_cast<std::uint32_t>(row->type.bytes() / batch_of(row));
      entry.slab_rows = static_cast<std::uint16_t>((slab == nullptr ? row : slab)->type.shape.at(2));
      if (slab != nullptr) entry.fill = static_cast<std::int8_t>(slab->producer->integer("fill"));
    };
    std::unordered_map<const ir::Value*, Entry> made;
    std::size_t calls = 0, records = 0;
    std::vector<const ir::Node*> strip;  // from its cut on
    for (const ir::Node* member : groups_.members(group)) {
      if (is_slab(*member) || is_window(*member)) continue;
      if (is_cut(*member) || !strip.empty()) strip.push_back(member);
      if (!strip.empty() && !is_paste(*member)) continue;
      const Schedule schedule(group, records++);
      Entry entry = {.kind = is_push(*member)    ? Entry::Kind::push
                             : is_feed(*member)  ? Entry::Kind::feed
                             : is_paste(*member) ? Entry::Kind::strips
                                                 : Entry::Kind::call,
                     .fill = 0,
                     .start = static_cast<std::uint16_t>(schedule.start),
                     .period = static_cast<std::uint16_t>(schedule.period),
                     .before = static_cast<std::uint16_t>(schedule.before),
                     .rows = static_cast<std::uint16_t>(schedule.rows),
                     .after = static_cast<std::uint16_t>(schedule.after),
                     .slab = Entry::kNone,
                     .whole = 0,
                     .row_bytes = 0,
                     .slab_rows = 0,
                     .batch = static_cast<std::uint16_t>(batch_of(member->result()))};
      const ir::Value* row = member->result();
      if (is_feed(*member)) entry.whole = index_of(member->tensor("source"));
      if (is_feed(*member) || is_paste(*member) || groups_.slab_of(row) != nullptr) set_slab(entry, row);
      made[row] = entry;
      if (is_paste(*member)) {
        entry.whole = static_cast<std::uint16_t>(member->integer("strips") + 256 * std::ssize(strip));
        table.push_back(entry);
        for (const ops::rows::Part& part : parts_of(strip, index_of)) table.push_back(std::bit_cast<Entry>(part));
        calls += strip.size() - 2;
        strip.clear();
      } else {
        table.push_back(entry);
        calls += is_feed(*member) ? 0 : 1;
      }
    }
    if (group.integers("schedule").size() != Schedule::kNumbers * records) {
      throw std::logic_error("group '" + group.name + "' has fewer steps than its schedule");
    }
    const auto& rows = group.tensors("rows");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Entry entry = made.at(rows[i]);
      entry.kind = Entry::Kind::collect;
      entry.start = static_cast<std::uint16_t>(entry.start + entry.period * (entry.before / entry.batch));
      entry.before %= entry.batch;
      entry.after %= entry.batch;
      entry.whole = index_of(group.results[i]);
      set_slab(entry, rows[i]);
      table.push_back(entry);
    }
    pte::KernelCall call;
    const std::string_view name = group_name(group, groups_, config_.target);
    call.op = plan_.intern_operator(std::string(name.substr(0, name.rfind('.'))),
                                    std::string(name.substr(name.rfind('.') + 1)));
    call.args = {constant(std::as_bytes(std::span(table))), plan_.intern(static_cast<std::int64_t>(next_stage_)),
                 plan_.intern(tensors)};
    next_stage_ += calls;
    plan_.calls.push_back(std::move(call));
  }
  // What is done for a strip: a cut, operators, a paste.
  static std::vector<ops::rows::Part> parts_of(const std::vector<const ir::Node*>& strip, const auto& index_of) {
    using ops::rows::Part;
    constexpr std::size_t kNumbers = ops::rows::kPlaceNumbers;
    const auto& places = strip.back()->integers("places");
    if (places.size() != kNumbers * (strip.size() - 1)) {
      throw std::logic_error("'" + strip.back()->name + "' has not one place per patch");
    }
    std::vector<Part> parts;
    for (std::size_t i = 0; i < strip.size(); ++i) {
      const bool is_last = i + 1 == strip.size();
      const ir::Value* patch = is_last ? strip[i]->tensor("patch") : strip[i]->result();
      const std::int64_t* at = places.data() + kNumbers * (is_last ? i - 1 : i);
      parts.push_back({.kind = i == 0    ? Part::Kind::cut
                               : is_last ? Part::Kind::paste
                                         : Part::Kind::call,
                       .fill = static_cast<std::int8_t>(at[0]),
                       .tensor = index_of(patch),
                       .source = i == 0 ? index_of(strip[i]->tensor("rows")) : std::uint16_t{0},
                       .pixel_bytes = static_cast<std::uint16_t>(patch->type.bytes() /
                                                                 (patch->type.shape[2] * patch->type.shape[3])),
                       .columns = static_cast<std::uint16_t>(patch->type.shape[3]),
                       .rows = static_cast<std::uint16_t>(patch->type.shape[2]),
                       .image_columns = static_cast<std::uint16_t>(at[1]),
                       .image_rows = static_cast<std::uint16_t>(at[2]),
                       .step_x = static_cast<std::uint16_t>(at[3]),
                       .step_y = static_cast<std::uint16_t>(at[4]),
                       .left = static_cast<std::int16_t>(at[5]),
                       .top = static_cast<std::int16_t>(at[6])});
    }
    return parts;
  }
  // Bytes that no value of the graph holds.
  std::int32_t constant(std::span<const std::byte> bytes) {
    tables_.emplace_back(bytes.begin(), bytes.end());
    pte::Tensor tensor;
    tensor.dtype = DType::u8;
    tensor.sizes = {static_cast<std::int32_t>(bytes.size())};
    tensor.dim_order = {0};
    tensor.data = static_cast<std::uint32_t>(program_.constants.size());
    program_.constants.push_back(tables_.back());
    return plan_.add(std::move(tensor));
  }

  std::int32_t argument(const ir::Argument& argument) {
    struct Visitor {
      Emitter& e;
      std::int32_t operator()(ir::None) const { return e.plan_.intern(pte::None{}); }
      std::int32_t operator()(const ir::Value* value) const { return e.tensor(value); }
      std::int32_t operator()(const std::vector<ir::Value*>& values) const {
        pte::TensorList list;
        for (const ir::Value* value : values) list.items.push_back(e.tensor(value));
        return e.plan_.intern(list);
      }
      std::int32_t operator()(std::int64_t value) const { return e.plan_.intern(value); }
      std::int32_t operator()(const std::vector<std::int64_t>& values) const { return e.plan_.intern_ints(values); }
      std::int32_t operator()(double value) const { return e.plan_.intern(value); }
      std::int32_t operator()(const std::vector<double>& values) const {
        return e.plan_.intern(pte::DoubleList{values});
      }
      std::int32_t operator()(bool value) const { return e.plan_.intern(value); }
      std::int32_t operator()(const std::string& value) const { return e.plan_.intern(value); }
      std::int32_t operator()(DType value) const { return e.plan_.intern(static_cast<std::int64_t>(value)); }
    };
    return std::visit(Visitor{*this}, argument);
  }

  // What the format has no fields for: a string that no operator uses, and values that it announces
  // (formats/pte/origin.h). From it callers learn what integers mean, and a checking runtime that scratch is planned to
  // the byte.
  void note_origin() {
    const Target& target = config_.target;
    const std::string_view isa = target.is_any() ? "any" : name_of(target.isa);
    const std::string_view made = config_.runtime == ops::Runtime::executorch ? pte::kForExecuTorch : pte::kOurs;
    const std::vector<double> quantization = quantization_of_all();
    plan_.add(fmt::format("{}{} {}{}{}{}{}{}", made, target.name(), isa, pushed_rows(), region_names(), pte::kNamed,
                          quantization.empty() ? "" : pte::kQuantized, memory_.constants ? pte::kConstantsInRam : ""));
    if (memory_.constants) {
      const auto bytes = static_cast<std::int32_t>(memory_.blocks[*memory_.constants].size);
      plan_.add(
          pte::Tensor{.dtype = DType::i8, .sizes = {bytes}, .dim_order = {0}, .place = place(*memory_.constants)});
    }
    if (!quantization.empty()) plan_.add(pte::DoubleList{quantization});
    for (const ir::Value* input : graph_.inputs()) plan_.add(input->name);
    for (const std::string& key : graph_.output_keys()) plan_.add(key);
  }
  // For an image that arrives by rows.
  [[nodiscard]] std::string pushed_rows() const {
    for (const ir::Node* step : memory_.steps) {
      const ir::Node* const push = is_group(*step) ? groups_.push_of(*step) : nullptr;
      if (push == nullptr) continue;
      const Groups::Nodes scheduled = groups_.scheduled(*step);
      const auto index = static_cast<std::size_t>(std::ranges::find(scheduled, push) - scheduled.begin());
      return fmt::format("{}{}", pte::kRows, Schedule(*step, index).rows);
    }
    return {};
  }
  // For boards that have memories of these names.
  [[nodiscard]] std::string region_names() const {
    if (memory_.regions.size() == 1 && memory_.regions[0].size == planner::Region::kUnlimited) return {};
    std::string text;
    for (const planner::Region& region : memory_.regions) {
      text += std::string(text.empty() ? pte::kMemories : ",") + region.name;
    }
    return text;
  }
  // Scale and zero point of each input, then of each output; empty if all are float.
  [[nodiscard]] std::vector<double> quantization_of_all() const {
    std::vector<double> all;
    bool is_any_quantized = false;
    for (const auto* values : {&graph_.inputs(), &graph_.outputs()}) {
      for (const ir::Value* value : *values) {
        const bool is_quantized = value->type.is_quantized();
        is_any_quantized |= is_quantized;
        all.push_back(is_quantized ? value->type.quant->scale() : 0);
        all.push_back(is_quantized ? static_cast<double>(value->type.quant->zero_point()) : 0);
      }
    }
    return is_any_quantized ? all : std::vector<double>();
  }

  [[nodiscard]] pte::Place place(std::size_t block, std::uint64_t inside = 0) const {
    const auto& [region, offset] = memory_.plan.placements[block];
    return {region + 1, offset + inside};
  }

  // One tensor value per graph value.
  std::int32_t tensor(const ir::Value* value) {
    const auto known = tensors_.find(value);
    if (known != tensors_.end()) return known->second;
    pte::Tensor tensor;
    tensor.dtype = value->type.dtype;
    tensor.sizes.assign(value->type.shape.begin(), value->type.shape.end());
    tensor.dim_order = value->type.dim_order;
    if (tensor.dim_order.empty()) {
      tensor.dim_order.resize(value->type.rank());
      std::iota(tensor.dim_order.begin(), tensor.dim_order.end(), std::uint8_t{0});
    }
    if (const auto block = memory_.block_of.find(value); block != memory_.block_of.end()) {
      tensor.place = place(block->second);
    }
    if (const auto copy = memory_.constant_at.find(value); copy != memory_.constant_at.end()) {
      tensor.place = place(memory_.constants.value(), copy->second);
    }
    const ir::Value* const source = tensor.place ? value : ops::root(value);  // a constant may have another shape
    if (source->kind == ir::ValueKind::state || source->kind == ir::ValueKind::constant) {
      auto& pieces = tensor.place ? program_.initial_values : program_.constants;
      tensor.data = static_cast<std::uint32_t>(pieces.size());
      pieces.push_back(source->data.bytes);
    }
    if (!tensor.place && !tensor.data) throw std::logic_error("%" + value->name + " has no place");
    const std::int32_t index = plan_.add(std::move(tensor));
    tensors_.emplace(value, index);
    return index;
  }

  const ir::Graph& graph_;
  const ops::Config& config_;
  const MemoryMap& memory_;
  const Groups groups_;
  std::size_t next_stage_ = 0;                // the instruction at which the next group's stages begin
  std::list<std::vector<std::byte>> tables_;  // of groups
  pte::Program program_;
  pte::Plan plan_;
  std::unordered_map<const ir::Value*, std::int32_t> tensors_;
};

using Sizes = std::vector<std::pair<std::string, std::int64_t>>;

void largest_first(Sizes& sizes) {
  std::ranges::sort(sizes, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
}

Step step_of(const ir::Node& node, const Groups& groups, const Target& target) {
  Step step{node.name, node.location.text(),
            is_group(node) ? group_name(node, groups, target) : ops::program_name(node.op)};
  if (!node.results.empty()) step.result = short_text(node.result()->type);
  for (const ir::Value* value : node.inputs()) {
    if (value->kind == ir::ValueKind::constant) step.constant_bytes += value->type.bytes();
    if (value->kind == ir::ValueKind::scratch) step.scratch_bytes += value->type.bytes();
  }
  const ops::Operator* op = ops::find(node);
  if (op != nullptr && op->estimate != nullptr) step.estimate = op->estimate(node);
  return step;
}

// Where values come from, through those that have no instruction of their own.
class Sources {
 public:
  Sources(const ir::Graph& graph, const Groups::Nodes& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) step_of_[steps[i]] = static_cast<std::int64_t>(i);
    for (const ir::Value* input : graph.inputs()) {
      input_.emplace(input, -1 - static_cast<std::int64_t>(input_.size()));
    }
  }

  [[nodiscard]] std::vector<std::int64_t> of(const std::vector<ir::Value*>& values) const {
    std::vector<std::int64_t> from;
    for (const ir::Value* value : values) follow(value, from);
    std::ranges::sort(from);
    from.erase(std::unique(from.begin(), from.end()), from.end());
    return from;
  }

 private:
  void follow(const ir::Value* value, std::vector<std::int64_t>& from) const {
    if (const auto input = input_.find(value); input != input_.end()) return from.push_back(input->second);
    if (value == nullptr || value->producer == nullptr) return;
    if (const auto step = step_of_.find(value->producer); step != step_of_.end()) return from.push_back(step->second);
    for (const ir::Value* source : value->producer->inputs()) follow(source, from);
  }

  std::unordered_map<const ir::Node*, std::int64_t> step_of_;
  std::unordered_map<const ir::Value*, std::int64_t> input_;
};

// From the plan's steps, some of which are only other views of memory, to those that are instructions.
class Times {
 public:
  Times(const Groups::Nodes& planned, const Groups::Nodes& instructions) {
    const std::unordered_set<const ir::Node*> are_steps(instructions.begin(), instructions.end());
    for (const ir::Node* node : planned) {
      before_.push_back(count_);
      if (are_steps.contains(node)) time_of_[node] = count_++;
    }
    before_.push_back(count_);
  }

  [[nodiscard]] std::uint32_t of(const ir::Node* node) const { return time_of_.at(node); }
  // A step of the plan, or the next instruction's.
  [[nodiscard]] std::uint32_t from(std::uint32_t step) const {
    return before_[std::min<std::size_t>(step, before_.size() - 1)];
  }
  // A step of the plan, or the last instruction's before it; the end stays the end.
  [[nodiscard]] std::uint32_t until(std::uint32_t step) const {
    if (step + 1 >= before_.size()) return count_;
    const std::uint32_t next = before_[step + 1];
    return next == 0 ? 0 : next - 1;
  }

 private:
  std::vector<std::uint32_t> before_;  // instructions before each step of the plan
  std::unordered_map<const ir::Node*, std::uint32_t> time_of_;
  std::uint32_t count_ = 0;
};

RegionFacts region_facts(const ir::Graph& graph, const MemoryMap& memory, std::uint32_t region, const Times& times) {
  const planner::RegionUse& use = memory.plan.regions[region];
  RegionFacts facts;
  facts.name = memory.regions[region].name;
  facts.bytes = static_cast<std::int64_t>(use.peak);
  facts.peak_step = times.from(use.peak_step);
  facts.lower_bound = static_cast<std::int64_t>(use.optimal ? use.peak : use.lower_bound);
  if (use.peak != 0 && use.peak_step < memory.steps.size()) facts.peak_node = called(*memory.steps[use.peak_step]);
  for (std::size_t i = 0; i < memory.blocks.size(); ++i) {
    const planner::Block& block = memory.blocks[i];
    const auto is_alive = [&](const planner::Block& b) { return b.first <= use.peak_step && use.peak_step <= b.last; };
    if (memory.plan.placements[i].region != region || !is_alive(block)) continue;
    if (block.part && is_alive(memory.blocks[block.part->whole])) continue;  // its bytes are named already
    facts.at_peak.emplace_back(block.name, static_cast<std::int64_t>(block.size));
  }
  if (memory.constants && memory.plan.placements[*memory.constants].region == region) {
    facts.constant_bytes = static_cast<std::int64_t>(memory.blocks[*memory.constants].size);
  }
  largest_first(facts.at_peak);
  facts.buffers = buffers_of(graph, memory, region);
  for (memory::Buffer& buffer : facts.buffers) {
    buffer.first = times.from(buffer.first);
    buffer.last = std::max(buffer.first, times.until(buffer.last));
  }
  return facts;
}

}  // namespace

Emitted emit(const ir::Graph& graph, const ops::Config& config, const MemoryMap& memory) {
  Emitted emitted;
  emitted.program = Emitter(graph, config, memory).run();
  const Groups groups(graph);
  const Groups::Nodes steps = groups.instructions(memory.steps);
  const Sources sources(graph, steps);
  const Times times(memory.steps, steps);
  for (const ir::Node* node : steps) {
    Step& step = emitted.steps.emplace_back(step_of(*node, groups, config.target));
    ++emitted.operators[step.op];
    step.from = sources.of(node->inputs());
    step.time = times.of(node);
    if (const ir::Node* group = groups.group_of(*node)) {
      step.part_of = static_cast<std::size_t>(std::ranges::find(steps, group) - steps.begin());
    }
  }
  for (ir::Value* output : graph.outputs()) emitted.outputs_from.push_back(sources.of({output}));
  for (const ir::Value& value : graph.values()) {
    const std::int64_t bytes = value.type.bytes();
    if (value.kind == ir::ValueKind::constant) {
      emitted.constant_bytes += bytes;
      emitted.constants.emplace_back(value.name, bytes);
    }
    if (value.kind == ir::ValueKind::scratch) emitted.scratch_bytes = std::max(emitted.scratch_bytes, bytes);
    if (value.kind == ir::ValueKind::state) emitted.buffer_bytes += bytes;
  }
  largest_first(emitted.constants);
  for (std::uint32_t r = 0; r < memory.regions.size(); ++r)
    emitted.regions.push_back(region_facts(graph, memory, r, times));
  return emitted;
}

}  // namespace cormorant::emit
