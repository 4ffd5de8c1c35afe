// SPDX-License-Identifier: Apache-2.0
//
// How much a compiled program may need: --budget=ram=64K,flash=256K. What the firmware adds to the program (code,
// state, stack) counts where it is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/compile.h"
#include "runner/launcher.h"

namespace cormorant::cli {

struct Budget {
  std::optional<std::uint64_t> ram, flash;  // bytes
};

Budget parse_budget(std::string_view text);  // throws UsageError

// Throws InputError, which names the largest contributors, if the budget is exceeded.
void require_budget(const Budget& budget, const compiler::Compiled& compiled, const std::optional<RunResult>& firmware);

}  // namespace cormorant::cli
