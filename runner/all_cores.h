// SPDX-License-Identifier: Apache-2.0
//
// For tests: the archives there are.
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

// Archives take long to build: `./dev test` has those of every instruction set, `./dev check` all, which it says by
// CORMORANT_ALL_PLACES.
inline bool is_tested(const Cpu& cpu) {
  constexpr std::string_view kAlways[] = {"m0", "m3", "m4", "m55"};
  return std::getenv("CORMORANT_ALL_PLACES") != nullptr || std::ranges::find(kAlways, cpu.archive) != std::end(kAlways);
}

// One CPU of each archive, with each compiler.
inline std::vector<Core> all_cores() {
  std::vector<Core> cores;
  std::string_view last;
  for (const Cpu& cpu : kCpus) {
    for (const Compiler compiler : {Compiler::gcc, Compiler::clang}) {
      if (cpu.archive != last && is_tested(cpu)) cores.push_back({&cpu, compiler});
    }
    last = cpu.archive;
  }
  return cores;
}

}  // namespace cormorant
