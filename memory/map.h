// SPDX-License-Identifier: Apache-2.0
//
// From a lowered graph to addresses: which values share memory (aliases, results computed in place), how long each
// piece lives, and where the planner put it.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"
#include "planner/plan.h"

namespace cormorant::memory {

struct MemoryMap {
  explicit MemoryMap() = default;  // {} as an argument means no memory at all

  std::vector<const ir::Node*> steps;  // the nodes that become instructions, in order
  std::vector<planner::Block> blocks;
  std::unordered_map<const ir::Value*, std::size_t> block_of;  // activations, inputs, scratch; not constants
  // Constants that are kept in RAM: where in their block, and which that is.
  std::unordered_map<const ir::Value*, std::uint64_t> constant_at;
  std::optional<std::size_t> constants;
  std::vector<planner::Region> regions;
  planner::Plan plan;
};

// A node's name for users: its module, if it has one.
std::string called(const ir::Node& node);

// quick and none are for tests. quick: memory is reused, but nothing is searched for. none: every tensor has its own
// place, to find out whether reuse of memory is at fault.
enum class Reuse : std::uint8_t { all, quick, none };

// Plans, and verifies the plan with the planner's independent checker. Regions come in order of preference; none means
// one without limit, "arena". What may be where depends on whose kernels execute the program. Constants stay in the
// program and, if a region's index is given, get memory to which they are copied at load.
MemoryMap map_memory(const ir::Graph& graph, std::vector<planner::Region> regions, ops::Runtime runtime,
                     Reuse reuse = Reuse::all, std::optional<std::uint32_t> constants_in = {});

}  // namespace cormorant::memory
