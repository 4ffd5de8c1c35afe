// SPDX-License-Identifier: Apache-2.0
//
// For tests: every archive there is.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "runner/toolchain.h"

namespace cormorant {

struct Core {
  const Cpu* cpu;
  Compiler compiler;
};

inline std::ostream& operator<<(std::ostream& out, const Core& core) {
  return out << core.cpu->name << " with " << name_of(core.compiler);
}

// For names of tests.
inline std::string identifier_of(const Core& core) {
  return fmt::format("{}_{}", core.cpu->archive, name_of(core.compiler));
}

// The second compiler's archives take a minute to build: `./dev test` has those of every instruction set, and all where
// CORMORANT_ALL_PLACES is set.
inline bool is_tested_with(const Cpu& cpu, Compiler compiler) {
  constexpr std::string_view kBoth[] = {"m0", "m3", "m4", "m55"};
  return compiler == Compiler::gcc || std::getenv("CORMORANT_ALL_PLACES") != nullptr ||
         std::ranges::find(kBoth, cpu.archive) != std::end(kBoth);
}

// One CPU of each archive, with each compiler.
inline std::vector<Core> all_cores() {
  std::vector<Core> cores;
  std::string_view last;
  for (const Cpu& cpu : kCpus) {
    for (const Compiler compiler : {Compiler::gcc, Compiler::clang}) {
      if (cpu.archive != last && is_tested_with(cpu, compiler)) cores.push_back({&cpu, compiler});
    }
    last = cpu.archive;
  }
  return cores;
}

}  // namespace cormorant
