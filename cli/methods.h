// SPDX-License-Identifier: Apache-2.0
//
// `compile` for a file with several methods: each is compiled as if it were alone, and all become one program whose
// methods share constants and memory.
#pragma once

#include <string>
#include <vector>

#include "cli/compile_model.h"

namespace cormorant::cli {

struct CompiledMethods {
  std::vector<std::string> names;
  std::vector<CompileResult> methods;  // in the order of the names; each with the firmware of all
  std::vector<std::byte> program;
  std::vector<std::pair<std::string, std::uint64_t>> arenas;  // per region, what the method that needs most of it needs
  nlohmann::ordered_json figures;
};

// Throws UsageError for options that are about a single program, and InputError where a budget or a region is exceeded.
CompiledMethods compile_methods(const CompileFlags& flags, const CompileInputs& inputs,
                                const std::vector<std::string>& names);

void print_methods(const CompiledMethods& compiled, const std::string& output);

}  // namespace cormorant::cli
