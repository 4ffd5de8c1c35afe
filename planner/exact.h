// SPDX-License-Identifier: Apache-2.0
//
// Branch and bound for the packing problem (pack.h). In any packing, take the blocks from the lowest offset upwards and
// let each sink onto those below: nothing gets higher. So it suffices to look at orders in which every block rests on
// the blocks placed before it and offsets never decrease.
#pragma once

#include <cstdint>
#include <span>

#include "planner/pack.h"

namespace cormorant::planner {

// Improves `best` if it can, until it needs no more than `target`. True if nothing is left to try: unless the target
// was reached, no packing is better then. False when the budget is used up.
bool search_exactly(std::span<const Block> blocks, std::uint64_t target, std::uint64_t budget, Packing& best);

}  // namespace cormorant::planner
