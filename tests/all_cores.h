// SPDX-License-Identifier: Apache-2.0
//
// For tests: the available archives.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runner/toolchain.h"
#include "tests/check.h"

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

// Archives take long to build: `./dev test` has gcc's for every instruction set and clang's for the one that gives a
// compiler the most freedom, since it has the kernels of all; `./dev check` has all.
inline bool is_tested(const Cpu& cpu, Compiler compiler = Compiler::gcc) {
  constexpr std::string_view kAlways[] = {"m55", "m0", "m3", "m4"};
  const std::span<const std::string_view> archives(kAlways, compiler == Compiler::gcc ? 4 : 1);
  return tests::is_check() || std::ranges::find(archives, cpu.archive) != archives.end();
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
