// SPDX-License-Identifier: Apache-2.0
//
// For tests: the available archives.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
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

// Archives take long to build: `./dev test` has gcc's for every instruction set and clang's for the two that give a
// compiler the least and the most freedom; `./dev check` has all, and sets CORMORANT_ALL_PLACES.
inline bool is_tested(const Cpu& cpu, Compiler compiler = Compiler::gcc) {
  constexpr std::string_view kAlways[] = {"m0", "m55", "m3", "m4"};
  const std::span<const std::string_view> archives(kAlways, compiler == Compiler::gcc ? 4 : 2);
  return std::getenv("CORMORANT_ALL_PLACES") != nullptr || std::ranges::find(archives, cpu.archive) != archives.end();
}

// One CPU of each archive, with each compiler.
inline std::vector<Core> all_cores() {
  std::vector<Core> cores;
  std::string_view last;
  for (const Cpu& cpu : kCpus) {
    for (const Compiler compiler : {Compiler::gcc, Compiler::clang}) {
      if (cpu.archive != last && is_tested(cpu, compiler)) cores.push_back({&cpu, compiler});
    }
    last = cpu.archive;
  }
  return cores;
}

}  // namespace cormorant
