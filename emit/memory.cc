// SPDX-License-Identifier: Apache-2.0
#include "emit/memory.h"

#include <algorithm>
#include <stdexcept>

#include "ops/op.h"
#include "planner/check.h"

namespace cormorant::emit {
namespace {

class Mapper {
 public:
  explicit Mapper(const ir::Graph& graph) : graph_(graph) {}

  MemoryMap run(std::vector<planner::Region> regions) {
    for (const ir::Node& node : graph_.nodes()) {
      if (!is_alias(node)) map_.steps.push_back(&node);
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
    for (const ir::Node& node : graph_.nodes()) {
      if (is_alias(node)) {
        share(node.result(), node.inputs().front());
      } else {
        place_results(node, step++);
      }
    }
    if (regions.empty()) regions.push_back({"arena"});
    map_.regions = std::move(regions);
    map_.plan = planner::plan(map_.blocks, map_.regions);
    if (const auto violation = planner::find_violation(map_.blocks, map_.regions, map_.plan.placements)) {
      throw std::logic_error("memory plan: " + *violation);
    }
    return std::move(map_);
  }

 private:
  static bool is_alias(const ir::Node& node) {
    const ops::Operator* op = ops::find(node);
    return op != nullptr && op->is_alias;
  }
  // After the last step, when the caller reads the outputs.
  [[nodiscard]] std::uint32_t end() const { return static_cast<std::uint32_t>(map_.steps.size()); }

  // A value is needed until its last reader, or the last reader of anything that aliases it; outputs until the end.
  void find_last_uses() {
    for (std::size_t step = 0; step < map_.steps.size(); ++step) {
      for (const ir::Value* input : map_.steps[step]->inputs())
        last_use_[root(input)] = static_cast<std::uint32_t>(step);
    }
    for (const ir::Value* output : graph_.outputs()) last_use_[root(output)] = end();
  }
  static const ir::Value* root(const ir::Value* value) {
    while (value->producer != nullptr && is_alias(*value->producer)) value = value->producer->inputs().front();
    return value;
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
    block.name = value->name;
    map_.blocks.push_back(std::move(block));
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
  }

  // An input that dies here and whose memory the operator may write its result over.
  const ir::Value* in_place_input(const ir::Node& node, std::uint32_t step) const {
    const ops::Operator* op = ops::find(node);
    if (op == nullptr || op->in_place == nullptr || node.results.size() != 1) return nullptr;
    for (const ir::NamedArgument& argument : node.args) {
      const auto* value = std::get_if<ir::Value*>(&argument.value);
      if (value == nullptr || !map_.block_of.contains(*value) || (*value)->kind == ir::ValueKind::scratch) continue;
      const planner::Block& block = map_.blocks[map_.block_of.at(*value)];
      const bool dies_here = block.last == step && root(*value)->kind != ir::ValueKind::state;
      const bool once = std::ranges::count(node.inputs(), *value) == 1;
      if (dies_here && once && block.size == static_cast<std::uint64_t>(node.result()->type.bytes()) &&
          op->in_place(node, argument.name))
        return *value;
    }
    return nullptr;
  }

  const ir::Graph& graph_;
  MemoryMap map_;
  std::unordered_map<const ir::Value*, std::uint32_t> last_use_;
};

}  // namespace

MemoryMap map_memory(const ir::Graph& graph, std::vector<planner::Region> regions) {
  return Mapper(graph).run(std::move(regions));
}

}  // namespace cormorant::emit
