// SPDX-License-Identifier: Apache-2.0
//
// For tests: every archive there is.
#pragma once

#include <fmt/format.h>

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

// One CPU of each archive, with each compiler.
inline std::vector<Core> all_cores() {
  std::vector<Core> cores;
  std::string_view last;
  for (const Cpu& cpu : kCpus) {
    if (cpu.archive != last) cores.insert(cores.end(), {{&cpu, Compiler::gcc}, {&cpu, Compiler::clang}});
    last = cpu.archive;
  }
  return cores;
}

}  // namespace cormorant
