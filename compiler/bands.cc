// SPDX-License-Identifier: Apache-2.0
#include "compiler/bands.h"

#include <vector>

#include "memory/map.h"
#include "ops/conv2d/bands.h"
#include "ops/op.h"
#include "passes/passes.h"

namespace cormorant::compiler {
namespace {

constexpr std::int64_t kShare = 100;  // of the time, at most
constexpr std::size_t kMostAttempts = 24;

std::uint64_t bytes_of(const memory::MemoryMap& memory) { return memory.plan.regions.front().peak; }

std::int64_t work_of(const ir::Graph& graph) {
  std::int64_t cycles = 0;
  for (const ir::Node& node : graph.nodes()) {
    const ops::Operator* op = ops::find(node);
    if (op != nullptr && op->estimate != nullptr) cycles += op->estimate(node).value_or(0);
  }
  return cycles;
}

// What a node had before.
struct Undo {
  ir::Node* node;
  ir::Value* packed;
};

}  // namespace

bool has_bands(const ops::Config& config) {
  return config.target.isa == Isa::mve && config.target.optimize != Optimize::speed &&
         config.runtime == ops::Runtime::cormorant;
}

void lower_bands(ir::Graph& graph, ops::Runtime runtime) {
  // Whether the memory there is suffices is seen later.
  const auto plan = [&] { return memory::map_memory(graph, {}, runtime); };
  memory::MemoryMap memory = plan();
  const std::int64_t allowed = work_of(graph) / kShare;
  std::uint64_t least = bytes_of(memory);
  std::int64_t cycles = 0;
  std::vector<Undo> undo;  // all since the least
  bool is_changed = false;
  for (std::size_t attempt = 0; attempt < kMostAttempts; ++attempt) {
    const std::uint32_t peak = memory.plan.regions.front().peak_step;
    if (peak >= memory.steps.size()) break;
    // The map is of this graph, whose nodes are not constant.
    auto* node = const_cast<ir::Node*>(memory.steps[peak]);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    const auto next = ops::conv2d::next_bands(*node);
    if (!next || cycles + next->cycles > allowed) break;
    cycles += next->cycles;
    undo.push_back({node, node->tensor("packed")});
    ops::conv2d::set_bands(graph, *node, next->count);
    is_changed = true;
    memory = plan();
    // Several layers may need the same: nothing is won before each of them needs less.
    if (bytes_of(memory) > least) break;
    if (bytes_of(memory) < least) {
      least = bytes_of(memory);
      undo.clear();
    }
  }
  for (auto change = undo.rbegin(); change != undo.rend(); ++change) change->node->set("packed", change->packed);
  if (is_changed) passes::clean_up(graph);
}

}  // namespace cormorant::compiler
