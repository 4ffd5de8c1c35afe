// SPDX-License-Identifier: Apache-2.0
//
// A lowered graph becomes a program: tensors get addresses from the planner (checked independently), nodes become
// instructions, constants a segment. Aliases (views, relabelled layouts) share their source's address and make no
// instruction.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "emit/memory.h"
#include "ir/graph.h"
#include "ops/op.h"
#include "planner/memory.h"

namespace cormorant::emit {

// Where an instruction of the program comes from.
struct Step {
  std::string node, source;
};

struct Emitted {
  std::vector<std::byte> program;
  std::vector<Step> steps;  // one per instruction
  std::map<std::string, int> operators;
  std::int64_t constant_bytes = 0;
  std::int64_t scratch_bytes = 0;
  std::map<std::string, std::int64_t> arena_bytes;
  std::int64_t arena_lower_bound = 0;
  std::string peak_node;
};

Emitted emit(const ir::Graph& graph, const ops::Config& config, const std::vector<planner::Region>& memory,
             Reuse reuse = Reuse::all);

}  // namespace cormorant::emit
