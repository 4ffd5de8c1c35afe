// SPDX-License-Identifier: Apache-2.0
//
// The header that firmware includes for one of its models: sizes as constants, inputs and outputs with name, type,
// shape, order, scale and zero point, and inline functions that load, run, quantize and dequantize. C99; C++17 gets a
// class on top. It contains nothing that the program does not: only what firmware would otherwise look up at run
// time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/program_facts.h"
#include "target/target.h"

namespace cormorant {

struct ModelHeader {
  std::string name;  // what all identifiers begin with
  std::string file;  // the program's name, for the reader
  ProgramFacts facts;
  std::uint64_t model_bytes = 0;
  std::uint64_t state_bytes = 0;
  Isa isa = Isa::scalar;  // that the firmware must be compiled for
};

// Throws InputError for a program in which an input or output has no planned address.
std::string model_header(const ModelHeader& header);

// For a program with several methods, which share their arenas: everything of each method, whose identifiers begin with
// the header's name and the method's, and the sizes of all together.
std::string methods_header(const std::string& name, const std::vector<ModelHeader>& methods);

// Letters, digits and underscores, no digit first: what a name of C can be made of.
std::string identifier(std::string_view text);

}  // namespace cormorant
