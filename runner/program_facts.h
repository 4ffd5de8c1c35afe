// SPDX-License-Identifier: Apache-2.0
//
// What must be known of a program before firmware can be linked for it: which operators it calls and how much memory it
// plans. Everything else is the board's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cormorant {

struct ProgramFacts {
  std::vector<std::string> operators;      // each once, in the program's order: "cortex_m::quantized_add.out"
  std::vector<std::string> steps;          // the operator of each instruction
  std::vector<std::uint64_t> arena_bytes;  // [0] is memory id 1, and so on
  std::vector<std::string> arena_names;    // of the regions that the compiler was told of; empty: it knew none
  std::vector<std::uint64_t> input_bytes;  // as they lie in memory
  std::vector<std::uint64_t> output_bytes;
};

// Throws InputError when the bytes are not a program, or it has no such method.
ProgramFacts read_facts(std::span<const std::byte> pte, const std::string& method);

}  // namespace cormorant
