// SPDX-License-Identifier: Apache-2.0
#include "memory/map.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <unordered_set>

#include "memory/groups.h"
#include "memory/parts.h"
#include "ops/host/state_places.h"
#include "ops/op.h"
#include "planner/check.h"
#include "planner/pack.h"
#include "planner/schedule.h"

namespace cormorant::memory {
namespace {

using Order = std::vector<const ir::Node*>;

// How far a result must begin before an argument that it may cover, in terms of offsets. The order in which
// ExecuTorch's kernels read and write is unknown.
std::optional<std::uint64_t> cover_distance(const ir::Node& node, std::string_view argument, ops::Runtime runtime) {
  const ops::Operator* op = ops::find(node);
  if (runtime != ops::Runtime::cormorant || op == nullptr || op->overlap == nullptr || node.results.size() != 1) {
    return std::nullopt;
  }
  const std::optional<std::uint64_t> exact = op->overlap(node, argument);
  if (!exact) return std::nullopt;
  const std::uint64_t distance = planner::align(*exact, planner::Block::kAlignment);
  return distance < bytes_of(node.result()) ? std::optional(distance) : std::nullopt;
}
// The tensors that a node takes, by the names of its arguments; of lists by "name.0", "name.1" and so on.
std::vector<std::pair<std::string, const ir::Value*>> named_inputs(const ir::Node& node) {
  std::vector<std::pair<std::string, const ir::Value*>> inputs;
  for (const ir::NamedArgument& argument : node.args) {
    if (const auto* value = std::get_if<ir::Value*>(&argument.value); value != nullptr && *value != nullptr) {
      inputs.emplace_back(argument.name, *value);
    } else if (const auto* list = std::get_if<std::vector<ir::Value*>>(&argument.value)) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        if ((*list)[i] != nullptr) inputs.emplace_back(argument.name + "." + std::to_string(i), (*list)[i]);
      }
    }
  }
  return inputs;
}
bool can_work_in_place(const ir::Node& node, std::string_view argument, const ir::Value* value) {
  const ops::Operator* op = ops::find(node);
  return op != nullptr && op->in_place != nullptr && node.results.size() == 1 &&
         bytes_of(root(value)) == bytes_of(node.result()) && op->in_place(node, argument);
}

using Apart = std::unordered_set<const ir::Node*>;  // groups

// The blocks of a graph whose nodes are computed in a given order.
class Mapper {
 public:
  // The results of the groups `apart` do not overwrite the images that these are fed with.
  Mapper(const ir::Graph& graph, const Groups& groups, const Parts& parts, ops::Runtime runtime, Reuse reuse,
         const Apart& apart = {})
      : graph_(graph), groups_(groups), parts_(parts), runtime_(runtime), reuse_(reuse), apart_(apart) {}

  // Without regions and plan.
  MemoryMap run(const Order& order) {
    for (const ir::Node* node : order) {
      if (ops::is_alias(*node) || parts_.contains(*node) || is_slab(*node) || is_window(*node)) continue;
      if (const ir::Node* group = groups_.group_of(*node)) begins_.try_emplace(group, end());
      map_.steps.push_back(node);
    }
    find_last_uses();
    state_of_ = ops::StatePlaces(graph_).states();
    for (const ir::Value* input : graph_.inputs()) add_block(input, 0);
    for (const ir::Value& value : graph_.values()) {
      // State is initialized at load and lives from inference to inference.
      if (value.kind == ir::ValueKind::state) {
        add_block(&value, 0);
        map_.blocks.back().last = planner::Block::kForever;
      }
    }
    std::uint32_t step = 0;
    for (const ir::Node* node : order) {
      if (ops::is_alias(*node)) {
        share(node->result(), node->inputs().front());
      } else if (is_slab(*node)) {
        add_slab(*node);
      } else if (is_window(*node)) {
        add_window(*node);
      } else if (parts_.contains(*node)) {
        const Parts::Place* view = parts_.find(node->result());
        view != nullptr && view->is_view ? add_view(*node, *view) : join(*node);
      } else {
        place_results(*node, step++);
      }
    }
    if (reuse_ != Reuse::none) limit_ticks();
    for (std::size_t i = 0; i < map_.blocks.size(); ++i) align_part(i);
    if (reuse_ == Reuse::none) {
      for (planner::Block& block : map_.blocks) block.last = planner::Block::kForever;
    }
    return std::move(map_);
  }

 private:
  // After the last step, when the caller reads the outputs.
  [[nodiscard]] std::uint32_t end() const { return static_cast<std::uint32_t>(map_.steps.size()); }

  // A value is needed until its last reader, or the last reader of anything that aliases it; outputs until the end.
  void find_last_uses() {
    for (std::size_t step = 0; step < map_.steps.size(); ++step) {
      for (const ir::Value* input : map_.steps[step]->inputs()) {
        last_use_[root(input)] = static_cast<std::uint32_t>(step);
        ++uses_[root(input)];
      }
    }
    for (const ir::Value* output : graph_.outputs()) last_use_[root(output)] = end();
  }
  [[nodiscard]] std::uint32_t last_use(const ir::Value* value, std::uint32_t fallback) const {
    const auto found = last_use_.find(root(value));
    return found == last_use_.end() ? fallback : std::max(found->second, fallback);
  }

  void add_block(const ir::Value* value, std::uint32_t first) {
    map_.block_of[value] = map_.blocks.size();
    made_at_[value] = first;
    planner::Block block;
    block.size = bytes_of(value);
    block.first = first;
    block.last = value->kind == ir::ValueKind::scratch ? first : last_use(value, first);
    block.name = name_of(value, first);
    block.accesses = accesses_of(value);
    map_.blocks.push_back(std::move(block));
  }
  // In messages: the operator it belongs to.
  [[nodiscard]] std::string name_of(const ir::Value* value, std::uint32_t step) const {
    if (value->kind == ir::ValueKind::scratch) return "scratch of " + called(*map_.steps[step]);
    return value->producer == nullptr ? value->name : called(*value->producer);
  }
  // Written once, and read by each of its users; scratch is written and read by its own node.
  [[nodiscard]] std::uint64_t accesses_of(const ir::Value* value) const {
    const auto found = uses_.find(root(value));
    return value->kind == ir::ValueKind::scratch ? 2 : 1 + (found == uses_.end() ? 0 : found->second);
  }
  void share(const ir::Value* value, const ir::Value* with) {
    const auto found = map_.block_of.find(with);
    if (found != map_.block_of.end()) map_.block_of[value] = found->second;  // a view of a constant has no block either
  }

  // A slice: it exists when its source does.
  void add_view(const ir::Node& node, const Parts::Place& place) {
    const std::size_t whole = map_.block_of.at(place.whole);
    add_block(node.result(), made_at_.at(place.whole));
    make_part(map_.blocks.size() - 1, whole, place.offset, planner::Block::Part::Kind::view);
  }
  // A slab keeps its older rows while its group is computed; the newest is what the operator before it writes.
  void add_slab(const ir::Node& node) {
    const std::size_t row = map_.block_of.at(node.tensor("row"));
    add_block(node.result(), begin_of(node));
    const std::size_t slab = map_.blocks.size() - 1;
    make_part(row, slab, map_.blocks[slab].size - map_.blocks[row].size, planner::Block::Part::Kind::view);
  }
  void add_window(const ir::Node& node) {
    const std::size_t slab = map_.block_of.at(node.tensor("slab"));
    const std::uint64_t row_bytes = bytes_of(node.result()) / static_cast<std::uint64_t>(node.integer("rows"));
    add_block(node.result(), begin_of(node));
    make_part(map_.blocks.size() - 1, slab, row_bytes * static_cast<std::uint64_t>(node.integer("start")),
              planner::Block::Part::Kind::view);
  }
  // The first step of the group that the node belongs to.
  [[nodiscard]] std::uint32_t begin_of(const ir::Node& node) const { return begins_.at(groups_.group_of(node)); }

  // A concatenation begins when the last of its parts is computed.
  void join(const ir::Node& node) {
    std::uint32_t first = 0;
    for (const ir::Value* input : node.inputs()) first = std::max(first, made_at_.at(root(input)));
    add_block(node.result(), first);
    const std::size_t whole = map_.blocks.size() - 1;
    for (const ir::Value* input : node.inputs()) {
      const std::size_t piece = map_.block_of.at(input);
      make_part(piece, whole, parts_.find(root(input))->offset, planner::Block::Part::Kind::piece);
      map_.blocks[piece].last = std::max(map_.blocks[piece].last, first);
    }
  }
  void make_part(std::size_t part, std::size_t whole, std::uint64_t offset, planner::Block::Part::Kind kind) {
    planner::Block& block = map_.blocks[part];
    if (block.part) throw std::logic_error("'" + block.name + "' is part of two blocks");
    block.part = {static_cast<std::uint32_t>(whole), offset, kind};
    wholes_.insert(whole);
  }
  // A part's alignment: that of its offset and of its whole, whose own is computed first.
  std::uint32_t align_part(std::size_t index) {
    planner::Block& block = map_.blocks[index];
    if (!block.part) return block.alignment;
    const std::uint64_t offset = block.part->offset;
    const std::uint64_t own = offset == 0 ? planner::Block::kAlignment : std::uint64_t{1} << std::countr_zero(offset);
    block.alignment = static_cast<std::uint32_t>(std::min<std::uint64_t>(own, align_part(block.part->whole)));
    return block.alignment;
  }
  [[nodiscard]] bool is_part_or_whole(std::size_t block) const {
    return map_.blocks[block].part || wholes_.contains(block);
  }

  void place_results(const ir::Node& node, std::uint32_t step) {
    for (const ir::Value* input : node.inputs()) {
      if (input->kind == ir::ValueKind::scratch) add_block(input, step);
    }
    std::size_t placed = 0;
    for (const ir::Value* result : node.results) {
      const auto state = state_of_.find(result);
      if (state == state_of_.end()) continue;
      share(result, state->second);
      made_at_[result] = step;
      ++placed;
    }
    if (placed == node.results.size()) return;
    if (is_group(node)) {
      place_collected(node, step);
      return;
    }
    if (const ir::Value* over = in_place_input(node, step)) {
      work_in_place(node.result(), map_.block_of.at(over), step);
      return;
    }
    if (is_cut(node)) cut_at_ = step;
    for (const ir::Value* result : node.results) {
      // All strips of a row are computed before it is complete; the first of them is pasted before the second is cut.
      if (!state_of_.contains(result)) add_block(result, is_paste(node) ? cut_at_ : step);
    }
    if (node.results.size() == 1 && !groups_.is_pinned(node.result())) {
      map_.blocks.back().over = find_cover(node, step);
    }
  }

  // A group's results come row by row: they exist from its beginning, unless they overwrite the rows of an image that
  // it is fed with.
  void place_collected(const ir::Node& group, std::uint32_t step) {
    for (std::size_t i = 0; i < group.results.size(); ++i) {
      const ir::Value* result = group.results[i];
      if (state_of_.contains(result)) continue;
      const bool is_apart = reuse_ == Reuse::none || apart_.contains(&group);
      const ir::Value* source = is_apart ? nullptr : groups_.covered_by(group, i);
      const auto found = source == nullptr ? map_.block_of.end() : map_.block_of.find(source);
      if (found == map_.block_of.end() || parts_.find(result) != nullptr || parts_.find(root(source)) != nullptr ||
          wholes_.contains(found->second) || map_.blocks[found->second].last != step ||
          root(source)->kind == ir::ValueKind::state) {
        add_block(result, begins_.at(&group));
        continue;
      }
      const std::size_t over = found->second;
      add_block(result, step);
      make_part(map_.blocks.size() - 1, over, 0, planner::Block::Part::Kind::rewritten);
    }
  }

  // If the block holds nothing else, the result takes it over from now on. Else it is a part of the block, of the same
  // size, so that the checker sees when it is written.
  void work_in_place(const ir::Value* result, std::size_t over, std::uint32_t step) {
    if (is_part_or_whole(over)) {
      add_block(result, step);
      make_part(map_.blocks.size() - 1, over, 0, planner::Block::Part::Kind::rewritten);
      return;
    }
    map_.block_of[result] = over;
    made_at_[result] = step;
    map_.blocks[over].last = last_use(result, step);
  }

  // Whether the result, whose block is the last one, may cover the beginning of an input that dies here: of several,
  // the one that saves the most.
  [[nodiscard]] std::optional<planner::Block::Over> find_cover(const ir::Node& node, std::uint32_t step) const {
    if (reuse_ == Reuse::none) return std::nullopt;
    std::optional<planner::Block::Over> best;
    std::uint64_t best_saving = 0;
    for (const auto& [argument, value] : named_inputs(node)) {
      if (!dies_at(node, value, step)) continue;
      const std::optional<std::uint64_t> distance = cover_distance(node, argument, runtime_);
      if (!distance) continue;
      const std::size_t block = map_.block_of.at(value);
      const std::uint64_t saving = std::min(map_.blocks.back().size - *distance, map_.blocks[block].size);
      if (saving <= best_saving) continue;
      best = {static_cast<std::uint32_t>(block), *distance};
      best_saving = saving;
    }
    return best;
  }

  // Whether this argument's memory is not needed after the node, which takes it as an argument once.
  [[nodiscard]] bool dies_at(const ir::Node& node, const ir::Value* value, std::uint32_t step) const {
    const auto block = map_.block_of.find(value);
    if (block == map_.block_of.end() || value->kind == ir::ValueKind::scratch || groups_.is_pinned(value)) return false;
    // An operand of a concatenation has its place, even if it is never read there.
    if (parts_.find(root(value)) != nullptr && !map_.blocks[block->second].part) return false;
    const std::vector<const ir::Value*> sharing = parts_.sharing(root(value));
    const auto shares = [&](const ir::Value* other) {
      const auto found = map_.block_of.find(other);
      return (found != map_.block_of.end() && found->second == block->second) ||
             std::ranges::count(sharing, root(other)) != 0;
    };
    const auto dies_too = [&](const ir::Value* other) { return last_use(other, 0) <= step; };
    return map_.blocks[block->second].last == step && root(value)->kind != ir::ValueKind::state &&
           std::ranges::count_if(node.inputs(), shares) == 1 && std::ranges::all_of(sharing, dies_too);
  }

  // An input that dies here and whose memory the operator may write its result over.
  const ir::Value* in_place_input(const ir::Node& node, std::uint32_t step) const {
    // A slab is shifted when its newest row is written, not before.
    if (reuse_ == Reuse::none || (node.results.size() == 1 && groups_.is_pinned(node.result()))) return nullptr;
    for (const ir::NamedArgument& argument : node.args) {
      const auto* value = std::get_if<ir::Value*>(&argument.value);
      if (value == nullptr || !dies_at(node, *value, step) || !can_work_in_place(node, argument.name, *value)) continue;
      const bool has_place = parts_.find(node.result()) != nullptr;  // and cannot take a part or whole of others
      if (!has_place || !is_part_or_whole(map_.block_of.at(*value))) return *value;
    }
    return nullptr;
  }

  // What a group computes late can be where it keeps something early, and where the first rows of an image were that it
  // is fed with.
  void limit_ticks() {
    std::uint32_t now = 0;  // ticks of all groups are counted in the order of execution
    for (std::uint32_t step = 0; step < map_.steps.size(); ++step) {
      const ir::Node& group = *map_.steps[step];
      if (!is_group(group)) continue;
      const auto dues = groups_.dues(group);
      const auto tick = [&](std::int64_t of_group) { return now + static_cast<std::uint32_t>(of_group); };
      std::int64_t end = 0;
      for (const auto& [member, due] : dues) end = std::max(end, due.last + 1);
      limit_members(group, step, dues, now);
      for (std::size_t i = 0; i < group.results.size(); ++i) {
        const auto found = map_.block_of.find(group.results[i]);
        const ir::Node* const row = group.tensors("rows")[i]->producer;
        if (found == map_.block_of.end() || state_of_.contains(group.results[i])) continue;
        planner::Block& block = map_.blocks[found->second];
        if (block.first == begins_.at(&group)) block.ticks.first = tick(dues.at(row).computes);
      }
      for (const auto& [feed, flow] : groups_.feeds(group)) {
        const std::size_t image = map_.block_of.at(feed->tensor("source"));
        if (is_only_fed(*feed, image, step)) free_row_by_row(image, flow, begins_.at(&group), now, tick(end - 1));
      }
      now = tick(end);
    }
  }

  // Blocks that hold what the members of a group compute, or their scratch. What is in one place lives together.
  void limit_members(const ir::Node& group, std::uint32_t step, const std::unordered_map<const ir::Node*, Due>& dues,
                     std::uint32_t now) {
    const auto top_of = [&](std::size_t block) {
      while (map_.blocks[block].part) block = map_.blocks[block].part->whole;
      return block;
    };
    std::unordered_map<std::size_t, Due> lives;  // by what the blocks are parts of
    const auto live = [&](const ir::Value* value, std::int64_t first, std::int64_t last) {
      const auto found = map_.block_of.find(value);
      if (found == map_.block_of.end()) return;
      const auto [life, is_new] = lives.try_emplace(top_of(found->second), Due{.first = first, .last = last});
      life->second.first = std::min(life->second.first, first);
      life->second.last = std::max(life->second.last, last);
    };
    for (const auto& [member, due] : dues) {
      for (const ir::Value* input : member->inputs()) {
        const bool is_own = input->kind == ir::ValueKind::scratch ||
                            (input->producer != nullptr && groups_.group_of(*input->producer) == &group);
        if (is_own) live(input, due.computes, due.last);
      }
      live(member->result(), due.first, due.last);
    }
    const std::uint32_t begin = begins_.at(&group);
    for (std::size_t i = 0; i < map_.blocks.size(); ++i) {
      planner::Block& block = map_.blocks[i];
      const auto life = lives.find(top_of(i));
      if (life == lives.end() || block.first < begin || block.last > step) continue;
      block.ticks = {now + static_cast<std::uint32_t>(life->second.first),
                     now + static_cast<std::uint32_t>(life->second.last)};
    }
  }

  // Whether the image is not needed after the group at this step, which reads it by this feed alone.
  [[nodiscard]] bool is_only_fed(const ir::Node& feed, std::size_t image, std::uint32_t step) const {
    const planner::Block& block = map_.blocks[image];
    if (is_part_or_whole(image) || block.last != step || block.size != bytes_of(feed.tensor("source"))) return false;
    const auto reads = [&](const ir::Node* member) {
      return member != &feed && std::ranges::any_of(member->inputs(), [&](const ir::Value* input) {
               const auto found = map_.block_of.find(input);
               return found != map_.block_of.end() && found->second == image;
             });
    };
    return std::ranges::none_of(groups_.members(*map_.steps[step]), reads);
  }

  // The image is as long as before only until its first row is copied. Parts of it live on, each until the tick from
  // which on something can be there.
  void free_row_by_row(std::size_t image, const ops::rows::Flow& flow, std::uint32_t begin, std::uint32_t first_tick,
                       std::uint32_t last_tick) {
    std::vector<std::uint32_t> beginnings;
    for (const planner::Block& block : map_.blocks) {
      if (block.ticks.first > first_tick && block.ticks.first <= last_tick) beginnings.push_back(block.ticks.first);
    }
    std::ranges::sort(beginnings);
    map_.blocks[image].ticks.last = first_tick;
    const std::uint64_t size = map_.blocks[image].size;
    std::uint64_t gone = 0;
    const auto keep = [&](std::uint64_t to, std::uint32_t until) {
      if (to <= gone) return;
      planner::Block part = map_.blocks[image];
      part.over.reset();
      part.size = to - gone;
      part.first = begin;
      part.ticks = {0, until};
      map_.blocks.push_back(std::move(part));
      make_part(map_.blocks.size() - 1, image, gone, planner::Block::Part::Kind::view);
      gone = to;
    };
    for (const std::uint32_t tick : beginnings) {
      const std::int64_t rows = flow.rows_by(std::int64_t{tick} - 1 - first_tick);
      keep(static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 0) * flow.row_bytes), tick - 1);
    }
    keep(size, last_tick);
  }

  const ir::Graph& graph_;
  const Groups& groups_;
  const Parts& parts_;
  ops::Runtime runtime_;
  Reuse reuse_;
  const Apart& apart_;
  std::unordered_map<const ir::Node*, std::uint32_t> begins_;  // of groups: their first steps
  std::uint32_t cut_at_ = 0;                                   // the step that began the last strip
  MemoryMap map_;
  std::unordered_map<const ir::Value*, const ir::Value*> state_of_;  // by the root that lies there
  std::unordered_set<std::size_t> wholes_;                           // blocks that others are parts of
  std::unordered_map<const ir::Value*, std::uint32_t> made_at_;      // the step, for roots
  std::unordered_map<const ir::Value*, std::uint32_t> last_use_;
  std::unordered_map<const ir::Value*, std::uint64_t> uses_;
};

// The nodes in an order that needs as little memory as possible; the graph's own, if no better is found.
class Scheduler {
 public:
  Scheduler(const ir::Graph& graph, const Groups& groups, const Parts& parts, ops::Runtime runtime)
      : graph_(graph), groups_(groups), parts_(parts), runtime_(runtime) {
    for (const auto& [value, state] : ops::StatePlaces(graph).states()) placed_.insert(value);
    passing_ = placed_;
    for (const ir::Update& update : graph.updates()) passing_.erase(root(update.value));
    for (const ir::Value* input : graph.inputs()) buffers_[buffer_of(input)].is_input = true;
    for (const ir::Node& node : graph.nodes()) {
      if (groups.group_of(node) != nullptr) continue;  // all of a group is one task
      if (is_group(node)) {
        add_group(node);
      } else if (!ops::is_alias(node) && !parts.contains(node)) {
        add_task(node);
      }
    }
    for (const ir::Value* output : graph.outputs()) {
      for (const std::uint32_t buffer : buffers_of(output)) buffers_[buffer].is_output = true;
    }
  }

  Order run() {
    for (const std::uint32_t task : planner::schedule(tasks_, buffers_)) put(nodes_[task]);
    for (const ir::Node& node : graph_.nodes()) put(&node);  // aliases that are outputs
    return std::move(order_);
  }

 private:
  // The memory of a value: one buffer, or all those that it consists of or is a part of.
  std::vector<std::uint32_t> buffers_of(const ir::Value* value) {
    std::vector<std::uint32_t> buffers;
    for (const ir::Value* source : parts_.sources(value)) {
      if (source->kind == ir::ValueKind::input || source->kind == ir::ValueKind::result) {
        buffers.push_back(buffer_of(source));
      }
    }
    return buffers;
  }
  std::uint32_t buffer_of(const ir::Value* value) {
    const auto [found, is_new] = index_.try_emplace(root(value), static_cast<std::uint32_t>(buffers_.size()));
    // A state's new contents are in the state's memory, which is always live.
    if (is_new) buffers_.push_back({.size = placed_.contains(root(value)) ? 0 : bytes_of(root(value))});
    return found->second;
  }
  void add_task(const ir::Node& node) {
    planner::Task task;
    for (const ir::Value* input : node.inputs()) {
      if (input->kind == ir::ValueKind::scratch) task.scratch += bytes_of(input);
      if (root(input)->kind == ir::ValueKind::state || passing_.contains(root(input))) task.keeps_order = 1;
      for (const std::uint32_t buffer : buffers_of(input)) task.reads.push_back(buffer);
    }
    for (const auto& [argument, value] : named_inputs(node)) {
      const std::vector<std::uint32_t> buffers = buffers_of(value);
      if (buffers.size() != 1 || parts_.sources(value).front() != root(value)) continue;
      const std::uint32_t buffer = buffers.front();
      if (std::ranges::count(task.reads, buffer) != 1 || placed_.contains(node.result())) continue;
      if (can_work_in_place(node, argument, value)) {
        task.savings.push_back({buffer, buffers_[buffer].size});
      } else if (const auto distance = cover_distance(node, argument, runtime_)) {
        task.savings.push_back({buffer, std::min(bytes_of(node.result()) - *distance, buffers_[buffer].size)});
      }
    }
    for (const ir::Value* result : node.results) {
      task.writes.push_back(buffer_of(result));
      if (placed_.contains(result)) task.keeps_order = 1;
    }
    tasks_.push_back(std::move(task));
    nodes_.push_back(&node);
  }
  // What it keeps from tick to tick is scratch.
  void add_group(const ir::Node& group) {
    planner::Task task;
    for (const ir::Value* source : group.tensors("sources")) {
      for (const std::uint32_t buffer : buffers_of(source)) task.reads.push_back(buffer);
    }
    for (const ir::Value* slab : group.tensors("slabs")) task.scratch += bytes_of(slab);
    for (const ir::Value* result : group.results) task.writes.push_back(buffer_of(result));
    tasks_.push_back(std::move(task));
    nodes_.push_back(&group);
  }
  // With the aliases that it needs before it, which may be a long chain.
  void put(const ir::Node* node) {
    if (is_group(*node)) {  // its members in their own order
      for (const ir::Value* source : node->tensors("sources")) {
        if (source->producer != nullptr) put(source->producer);
      }
      for (const ir::Node* member : groups_.members(*node)) {
        if (is_put_.insert(member).second) order_.push_back(member);
      }
    }
    std::vector<std::pair<const ir::Node*, bool>> pending = {{node, false}};
    while (!pending.empty()) {
      const auto [next, has_inputs] = pending.back();
      pending.pop_back();
      if (has_inputs) {
        order_.push_back(next);
      } else if (is_put_.insert(next).second) {
        pending.push_back({next, true});
        std::vector<ir::Value*> inputs = next->inputs();
        std::ranges::reverse(inputs);
        for (const ir::Value* input : inputs) {
          if (input->producer != nullptr) pending.push_back({input->producer, false});
        }
      }
    }
  }

  const ir::Graph& graph_;
  const Groups& groups_;
  const Parts& parts_;
  ops::Runtime runtime_;
  std::vector<planner::Task> tasks_;
  std::vector<planner::Buffer> buffers_;
  std::vector<const ir::Node*> nodes_;
  std::unordered_map<const ir::Value*, std::uint32_t> index_;
  std::unordered_set<const ir::Node*> is_put_;
  std::unordered_set<const ir::Value*> placed_;   // roots in a state's memory
  std::unordered_set<const ir::Value*> passing_;  // those of them that others overwrite
  Order order_;
};

struct Attempt {
  MemoryMap map;
  std::uint64_t peak = 0;
};

// The better of two orders, the graph's own and the one that was searched for.
Attempt attempt(const ir::Graph& graph, const Groups& groups, const Order& given, const Parts& parts,
                ops::Runtime runtime, const Apart& apart) {
  Attempt best{Mapper(graph, groups, parts, runtime, Reuse::all, apart).run(given)};
  best.peak = planner::pack(best.map.blocks).peak;
  MemoryMap other =
      Mapper(graph, groups, parts, runtime, Reuse::all, apart).run(Scheduler(graph, groups, parts, runtime).run());
  if (other.steps == best.map.steps) return best;
  const std::uint64_t peak = planner::pack(other.blocks).peak;
  return peak < best.peak ? Attempt{std::move(other), peak} : std::move(best);
}

// Where a group's results overwrite the image that it is fed with, nothing else can: which of them saves more is tried.
void set_apart(const ir::Graph& graph, const Groups& groups, const Order& given, ops::Runtime runtime, Apart& apart,
               Attempt& best) {
  constexpr std::size_t kMostAttempts = 8;
  std::size_t attempts = 0;
  for (const ir::Node* node : given) {
    if (!is_group(*node)) continue;
    bool covers = false;
    for (std::size_t i = 0; i < node->results.size(); ++i) covers = covers || groups.covered_by(*node, i) != nullptr;
    if (!covers || attempts++ == kMostAttempts) continue;
    apart.insert(node);
    Attempt next = attempt(graph, groups, given, {}, runtime, apart);
    if (next.peak < best.peak) {
      best = std::move(next);
    } else {
      apart.erase(node);
    }
  }
}

// A part costs nothing, but pins its place from the beginning and may need a whole that is in the way. So all operators
// become parts if that needs no more memory than none; otherwise they are tried one by one.
MemoryMap place_parts(const ir::Graph& graph, const Groups& groups, const Order& given, ops::Runtime runtime) {
  constexpr std::size_t kMostAttempts = 24;
  // Our kernels read activations in words at most; other kernels are unknown.
  const std::uint64_t alignment = runtime == ops::Runtime::cormorant ? 4 : planner::Block::kAlignment;
  Apart apart;
  Attempt best = attempt(graph, groups, given, {}, runtime, apart);
  set_apart(graph, groups, given, runtime, apart, best);
  const Parts all(given, alignment, graph);
  if (all.nodes().empty()) return std::move(best.map);
  if (Attempt every = attempt(graph, groups, given, all, runtime, apart); every.peak <= best.peak)
    return std::move(every.map);
  Order chosen;
  for (std::size_t i = 0; i < std::min(kMostAttempts, all.nodes().size()); ++i) {
    chosen.push_back(all.nodes()[i]);
    const Parts parts(chosen, alignment, graph);
    if (parts.contains(*chosen.back())) {
      if (Attempt next = attempt(graph, groups, given, parts, runtime, apart); next.peak <= best.peak) {
        best = std::move(next);
        continue;
      }
    }
    chosen.pop_back();
  }
  return std::move(best.map);
}

// One block for all of them, to which the runtime copies them before anything is executed.
void add_constants(const ir::Graph& graph, std::uint32_t region, MemoryMap& map) {
  planner::Block block;
  for (const ir::Value& value : graph.values()) {
    if (value.kind != ir::ValueKind::constant) continue;
    map.constant_at[&value] = block.size;
    block.size += planner::align(bytes_of(&value), planner::Block::kAlignment);
  }
  block.last = planner::Block::kForever;
  block.name = "constants";
  block.region = region;
  map.constants = map.blocks.size();
  map.blocks.push_back(std::move(block));
}

}  // namespace

std::string called(const ir::Node& node) { return node.location.module.empty() ? node.name : node.location.module; }

MemoryMap map_memory(const ir::Graph& graph, std::vector<planner::Region> regions, ops::Runtime runtime, Reuse reuse,
                     std::optional<std::uint32_t> constants_in) {
  Order given;
  for (const ir::Node& node : graph.nodes()) given.push_back(&node);
  const Groups groups(graph);
  MemoryMap map = reuse == Reuse::all ? place_parts(graph, groups, given, runtime)
                                      : Mapper(graph, groups, {}, runtime, reuse).run(given);
  if (constants_in) add_constants(graph, *constants_in, map);
  if (regions.empty()) regions.push_back({"arena"});
  map.regions = std::move(regions);
  map.plan = planner::plan(map.blocks, map.regions, reuse == Reuse::all ? planner::Effort{} : planner::Effort{0, 0});
  if (const auto violation = planner::find_violation(map.blocks, map.regions, map.plan.placements)) {
    throw std::logic_error("memory plan: " + *violation);
  }
  return map;
}

}  // namespace cormorant::memory
