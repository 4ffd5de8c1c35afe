// SPDX-License-Identifier: Apache-2.0
//
// Proves a plan, independently of how it was found: another algorithm (a sweep over time instead of pairs), no code in
// common with the planner. Run after every planning, in release builds too; it costs less than a millisecond.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "planner/plan.h"

namespace cormorant::planner {

// What is wrong with the plan, naming the blocks; nothing if it is sound: every block is in a region that exists,
// within its size, at an offset that is aligned, and no two blocks share a byte at a step and tick at which both are
// alive. But
// - one may cover the beginning of the other (Block::over), if it is as far before it as it must be;
// - a part is in its whole, where and when it says, and so are parts of parts; views of a whole may be on its other
//   parts; and what is rewritten only covers blocks that are not needed after the step at which it begins.
std::optional<std::string> find_violation(std::span<const Block> blocks, std::span<const Region> regions,
                                          std::span<const Placement> placements);

}  // namespace cormorant::planner
