// SPDX-License-Identifier: Apache-2.0
//
// A lowered graph whose memory is planned (memory/map.h) becomes a program: nodes become instructions, constants a
// segment. Aliases (views, relabelled layouts) share their source's address and become no instruction.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "memory/buffers.h"
#include "memory/map.h"
#include "ops/op.h"
#include "planner/memory.h"

namespace cormorant::emit {

// Where an instruction of the program comes from, and what it is.
struct Step {
  std::string node, source;
  std::string op = {};              // by the program's name
  std::string result = {};          // "i8[1,16,14,14]"; the first, of several
  std::int64_t constant_bytes = 0;  // that it reads
  std::int64_t scratch_bytes = 0;
  std::optional<std::int64_t> estimate = {};  // of its instructions, by the operator
  std::int64_t macs = 0;                      // of the node that it stands for, counted by the compiler before lowering
  std::vector<std::int64_t> from = {};        // steps whose results it reads; -1 - k is the k-th input
  std::uint32_t time = 0;                     // its place in the order of execution
  std::optional<std::size_t> part_of = {};    // the step that executes it by rows
};

// What a region of memory is used for.
struct RegionFacts {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t constant_bytes = 0;  // of these, for copies of the constants
  std::int64_t lower_bound = 0;     // no plan needs less for these tensors, in this order
  std::string peak_node;            // the operator that sets the peak; empty where nothing is here
  std::uint32_t peak_step = 0;      // of steps in the order of execution (Step::time), as in the buffers
  std::vector<std::pair<std::string, std::int64_t>> at_peak;  // what is alive then, and its bytes, the largest first
  std::vector<memory::Buffer> buffers;
};

struct Emitted {
  std::vector<std::byte> program;
  std::vector<Step> steps;                              // one per instruction, in the program's order
  std::vector<std::vector<std::int64_t>> outputs_from;  // as Step::from, of every output
  std::map<std::string, int> operators;
  std::int64_t constant_bytes = 0;
  std::int64_t scratch_bytes = 0;
  std::int64_t buffer_bytes = 0;                                // of state, which persists between executions
  std::vector<RegionFacts> regions;                             // in order of preference
  std::vector<std::pair<std::string, std::int64_t>> constants;  // and their bytes, the largest first
};

Emitted emit(const ir::Graph& graph, const ops::Config& config, const memory::MemoryMap& memory);

}  // namespace cormorant::emit
