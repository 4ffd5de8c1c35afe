// SPDX-License-Identifier: Apache-2.0
//
// What must be known about a program before firmware can be linked for it: which operators it calls and how much memory
// it plans. Everything else is left to the board.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "formats/pte/reader.h"

namespace cormorant {

// An input or output, as firmware sees it.
struct IoFacts {
  std::string name;  // an argument's, or a key of the dictionary that the model returns; may be empty
  DType dtype = DType::f32;
  std::vector<std::int32_t> sizes;  // logical, NCHW
  std::vector<std::uint8_t> order;  // the dimensions as they nest in memory
  std::uint32_t memory_id = 0;      // 0: the caller brings the memory
  std::uint32_t offset = 0;         // bytes from the start of that memory
  std::uint32_t bytes = 0;
  double scale = 0;  // 0: not quantized
  std::int32_t zero_point = 0;
};

// A step that computes others, its stages, row by row (ops/rows/rows.h).
struct GroupFacts {
  std::size_t step = 0;
  // The instructions that it calls, in order: in one execution or, where rows are pushed, with each of them.
  std::vector<std::vector<std::size_t>> parts;
};

// What must survive in the arenas from one execution to the next, so that nothing else may use its memory.
struct KeptFacts {
  bool state = false;              // contents that the program changes
  std::uint64_t buffer_bytes = 0;  // of state, that cormorant_save copies
  bool constants = false;          // copied to RAM by load (--weights-in)
};
KeptFacts kept_by(const pte::ProgramView& program, const pte::MethodView& method);

struct ProgramFacts {
  std::vector<std::string> operators;  // each once, in the program's order: "cortex_m::quantized_add.out"
  // Those of them that some instruction calls with types other than float, which matters where an operator has a kernel
  // for that (runtime/call_types.h).
  std::vector<std::string> of_numbers;
  std::vector<std::string> steps;         // the operator of each step of an execution
  std::vector<std::string> instructions;  // the same, followed by the stages of groups
  std::vector<GroupFacts> groups;
  std::vector<std::uint64_t> arena_bytes;  // [0] is memory id 1, and so on
  std::vector<std::string> arena_names;    // of the regions named to the compiler; empty: none
  KeptFacts kept;
  std::vector<IoFacts> inputs, outputs;
  std::size_t rows = 0;   // that are pushed, each as the input says; 0: inputs are taken whole
  std::size_t taker = 0;  // the step that takes them
};

// Throws InputError when the bytes are not a program, or it has no such method.
ProgramFacts read_facts(std::span<const std::byte> pte, const std::string& method);

}  // namespace cormorant
