// SPDX-License-Identifier: Apache-2.0
//
// `compile` for a file with several methods: each is compiled as if it were alone, and all become one program whose
// methods share constants and memory.
#pragma once

#include <string>
#include <vector>

#include "driver/compile_model.h"

namespace cormorant::driver {

struct CompiledMethods {
  std::vector<std::string> names;
  std::vector<CompileResult> methods;  // in the order of the names; each with the firmware of all
  std::vector<std::byte> program;
  std::vector<std::pair<std::string, std::uint64_t>> arenas;  // per region, what the method that needs most of it needs
  nlohmann::ordered_json figures;
};

// Throws InputError where a budget or a region is exceeded.
CompiledMethods compile_methods(const CompileFlags& flags, const CompileInputs& inputs,
                                const std::vector<std::string>& names);

// What all of them need: arenas that they share, the state of each, the deepest stack, one copy of the code.
struct MethodTotals {
  std::uint64_t arena = 0, state = 0, stack = 0, code = 0;
  bool knows_state = true;
  bool is_linked = true;  // else neither code nor stack is known
};
MethodTotals totals_of(const CompiledMethods& compiled);

// Where a page of --report is for one of several methods: page.html, page.encode.html.
std::string report_of(const std::string& file, const std::string& method);

}  // namespace cormorant::driver
