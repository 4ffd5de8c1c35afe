// SPDX-License-Identifier: Apache-2.0
#include "emit/memory.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "ops/op.h"
#include "planner/check.h"
#include "planner/pack.h"
#include "planner/schedule.h"

namespace cormorant::emit {
namespace {

using Order = std::vector<const ir::Node*>;

const ir::Value* root(const ir::Value* value) {
  while (value->producer != nullptr && ops::is_alias(*value->producer)) value = value->producer->inputs().front();
  return value;
}
std::uint64_t bytes_of(const ir::Value* value) { return static_cast<std::uint64_t>(value->type.bytes()); }

// How far a result must begin before an argument that it may cover, as offsets go.
std::optional<std::uint64_t> cover_distance(const ir::Node& node, const ir::NamedArgument& argument) {
  const ops::Operator* op = ops::find(node);
  if (op == nullptr || op->overlap == nullptr || node.results.size() != 1) return std::nullopt;
  const std::optional<std::uint64_t> exact = op->overlap(node, argument.name);
  if (!exact) return std::nullopt;
  const std::uint64_t distance =
      (*exact + planner::Block::kAlignment - 1) / planner::Block::kAlignment * planner::Block::kAlignment;
  return distance < bytes_of(node.result()) ? std::optional(distance) : std::nullopt;
}
bool can_work_in_place(const ir::Node& node, const ir::NamedArgument& argument, const ir::Value* value) {
  const ops::Operator* op = ops::find(node);
  return op != nullptr && op->in_place != nullptr && node.results.size() == 1 &&
         bytes_of(root(value)) == bytes_of(node.result()) && op->in_place(node, argument.name);
}

// The blocks of a graph whose nodes are computed in a given order.
class Mapper {
 public:
  Mapper(const ir::Graph& graph, Reuse reuse) : graph_(graph), reuse_(reuse) {}

  // Without regions and plan.
  MemoryMap run(const Order& order) {
    for (const ir::Node* node : order) {
      if (!ops::is_alias(*node)) map_.steps.push_back(node);
    }
    find_last_uses();
    for (const ir::Value* input : graph_.inputs()) add_block(input, 0);
    for (const ir::Value& value : graph_.values()) {
      // State is initialised at load and lives from inference to inference.
      if (value.kind == ir::ValueKind::state) {
        add_block(&value, 0);
        map_.blocks.back().last = planner::Block::kForever;
      }
    }
    std::uint32_t step = 0;
    for (const ir::Node* node : order) {
      if (ops::is_alias(*node)) {
        share(node->result(), node->inputs().front());
      } else {
        place_results(*node, step++);
      }
    }
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
    planner::Block block;
    block.size = static_cast<std::uint64_t>(value->type.bytes());
    block.first = first;
    block.last = value->kind == ir::ValueKind::scratch ? first : last_use(value, first);
    block.name = name_of(value, first);
    block.accesses = accesses_of(value);
    map_.blocks.push_back(std::move(block));
  }
  // In messages: the operator whose it is.
  [[nodiscard]] std::string name_of(const ir::Value* value, std::uint32_t step) const {
    if (value->kind == ir::ValueKind::scratch) return "scratch of " + called(*map_.steps[step]);
    return value->producer == nullptr ? value->name : called(*value->producer);
  }
  // Written once, and read by each of its users; scratch is written and read by its own.
  [[nodiscard]] std::uint64_t accesses_of(const ir::Value* value) const {
    const auto found = uses_.find(root(value));
    return value->kind == ir::ValueKind::scratch ? 2 : 1 + (found == uses_.end() ? 0 : found->second);
  }
  void share(const ir::Value* value, const ir::Value* with) {
    const auto found = map_.block_of.find(with);
    if (found != map_.block_of.end()) map_.block_of[value] = found->second;  // a view of a constant has no block either
  }

  void place_results(const ir::Node& node, std::uint32_t step) {
    for (const ir::Value* input : node.inputs()) {
      if (input->kind == ir::ValueKind::scratch) add_block(input, step);
    }
    if (const ir::Value* over = in_place_input(node, step)) {
      share(node.result(), over);
      planner::Block& block = map_.blocks[map_.block_of.at(over)];
      block.last = last_use(node.result(), step);
      return;
    }
    for (const ir::Value* result : node.results) add_block(result, step);
    if (node.results.size() == 1) map_.blocks.back().over = find_cover(node, step);
  }

  // Whether the result, whose block is the last one, may cover the beginning of an input that dies here: of several the
  // one with which most is saved.
  [[nodiscard]] std::optional<planner::Block::Over> find_cover(const ir::Node& node, std::uint32_t step) const {
    if (reuse_ == Reuse::none) return std::nullopt;
    std::optional<planner::Block::Over> best;
    std::uint64_t best_saving = 0;
    for (const ir::NamedArgument& argument : node.args) {
      const auto* value = std::get_if<ir::Value*>(&argument.value);
      if (value == nullptr || !dies_at(node, *value, step)) continue;
      const std::optional<std::uint64_t> distance = cover_distance(node, argument);
      if (!distance) continue;
      const std::size_t block = map_.block_of.at(*value);
      const std::uint64_t saving = std::min(map_.blocks.back().size - *distance, map_.blocks[block].size);
      if (saving <= best_saving) continue;
      best = {static_cast<std::uint32_t>(block), *distance};
      best_saving = saving;
    }
    return best;
  }

  // Whether nobody needs the memory of this argument after the node, which has it as an argument once.
  [[nodiscard]] bool dies_at(const ir::Node& node, const ir::Value* value, std::uint32_t step) const {
    const auto block = map_.block_of.find(value);
    if (block == map_.block_of.end() || value->kind == ir::ValueKind::scratch) return false;
    const auto shares = [&](const ir::Value* other) {
      const auto found = map_.block_of.find(other);
      return found != map_.block_of.end() && found->second == block->second;
    };
    return map_.blocks[block->second].last == step && root(value)->kind != ir::ValueKind::state &&
           std::ranges::count_if(node.inputs(), shares) == 1;
  }

  // An input that dies here and whose memory the operator may write its result over.
  const ir::Value* in_place_input(const ir::Node& node, std::uint32_t step) const {
    if (reuse_ == Reuse::none) return nullptr;
    for (const ir::NamedArgument& argument : node.args) {
      const auto* value = std::get_if<ir::Value*>(&argument.value);
      if (value != nullptr && dies_at(node, *value, step) && can_work_in_place(node, argument, *value)) return *value;
    }
    return nullptr;
  }

  const ir::Graph& graph_;
  Reuse reuse_;
  MemoryMap map_;
  std::unordered_map<const ir::Value*, std::uint32_t> last_use_;
  std::unordered_map<const ir::Value*, std::uint64_t> uses_;
};

// The nodes in an order that needs as little memory as possible; the graph's own, if no better is found.
class Scheduler {
 public:
  explicit Scheduler(const ir::Graph& graph) : graph_(graph) {
    for (const ir::Value* input : graph.inputs()) buffers_[buffer_of(input)].is_input = true;
    for (const ir::Node& node : graph.nodes()) {
      if (!ops::is_alias(node)) add_task(node);
    }
    for (const ir::Value* output : graph.outputs()) {
      if (is_planned(output)) buffers_[buffer_of(output)].is_output = true;
    }
  }

  Order run() {
    for (const std::uint32_t task : planner::schedule(tasks_, buffers_)) put(nodes_[task]);
    for (const ir::Node& node : graph_.nodes()) put(&node);  // aliases that are outputs
    return std::move(order_);
  }

 private:
  static bool is_planned(const ir::Value* value) {
    const ir::ValueKind kind = root(value)->kind;
    return kind == ir::ValueKind::input || kind == ir::ValueKind::result;
  }
  std::uint32_t buffer_of(const ir::Value* value) {
    const auto [found, is_new] = index_.try_emplace(root(value), static_cast<std::uint32_t>(buffers_.size()));
    if (is_new) buffers_.push_back({.size = bytes_of(root(value))});
    return found->second;
  }
  void add_task(const ir::Node& node) {
    planner::Task task;
    for (const ir::Value* input : node.inputs()) {
      if (input->kind == ir::ValueKind::scratch) task.scratch += bytes_of(input);
      if (root(input)->kind == ir::ValueKind::state) task.keeps_order = 1;
      if (is_planned(input)) task.reads.push_back(buffer_of(input));
    }
    for (const ir::NamedArgument& argument : node.args) {
      const auto* value = std::get_if<ir::Value*>(&argument.value);
      if (value == nullptr || *value == nullptr || !is_planned(*value)) continue;
      const std::uint32_t buffer = buffer_of(*value);
      if (std::ranges::count(task.reads, buffer) != 1) continue;
      if (can_work_in_place(node, argument, *value)) {
        task.savings.push_back({buffer, buffers_[buffer].size});
      } else if (const auto distance = cover_distance(node, argument)) {
        task.savings.push_back({buffer, std::min(bytes_of(node.result()) - *distance, buffers_[buffer].size)});
      }
    }
    for (const ir::Value* result : node.results) task.writes.push_back(buffer_of(result));
    tasks_.push_back(std::move(task));
    nodes_.push_back(&node);
  }
  // With the aliases that it needs before it.
  void put(const ir::Node* node) {
    if (!is_put_.insert(node).second) return;
    for (const ir::Value* input : node->inputs()) {
      if (input->producer != nullptr) put(input->producer);
    }
    order_.push_back(node);
  }

  const ir::Graph& graph_;
  std::vector<planner::Task> tasks_;
  std::vector<planner::Buffer> buffers_;
  std::vector<const ir::Node*> nodes_;
  std::unordered_map<const ir::Value*, std::uint32_t> index_;
  std::unordered_set<const ir::Node*> is_put_;
  Order order_;
};

}  // namespace

std::string called(const ir::Node& node) { return node.location.module.empty() ? node.name : node.location.module; }

MemoryMap map_memory(const ir::Graph& graph, std::vector<planner::Region> regions, Reuse reuse) {
  Order given;
  for (const ir::Node& node : graph.nodes()) given.push_back(&node);
  MemoryMap map = Mapper(graph, reuse).run(given);
  if (reuse == Reuse::all) {
    MemoryMap other = Mapper(graph, reuse).run(Scheduler(graph).run());
    if (other.steps != map.steps && planner::pack(other.blocks).peak < planner::pack(map.blocks).peak)
      map = std::move(other);
  }
  if (regions.empty()) regions.push_back({"arena"});
  map.regions = std::move(regions);
  map.plan = planner::plan(map.blocks, map.regions);
  if (const auto violation = planner::find_violation(map.blocks, map.regions, map.plan.placements)) {
    throw std::logic_error("memory plan: " + *violation);
  }
  return map;
}

}  // namespace cormorant::emit
