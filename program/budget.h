// SPDX-License-Identifier: Apache-2.0
//
// How much a compiled program may need: --budget=ram=64K,flash=256K. What the firmware adds to the program (code,
// state, stack) counts if it is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "program/firmware_table.h"

namespace cormorant {

struct Budget {
  std::optional<std::uint64_t> ram, flash;  // bytes
};

Budget parse_budget(std::string_view text);  // throws UsageError

// What a device must provide: arena, state and stack; code and model.
struct Needs {
  std::uint64_t ram = 0, flash = 0;
};
Needs needs_of(const compiler::Compiled& compiled, const Firmware& firmware);

// Which limit is exceeded, if any, with the largest contributors.
std::optional<Diagnostic> over_budget(const Budget& budget, const compiler::Compiled& compiled,
                                      const Firmware& firmware);

}  // namespace cormorant
