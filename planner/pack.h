// SPDX-License-Identifier: Apache-2.0
//
// Offsets in one memory, so that blocks alive at the same time do not overlap and the memory is as small as possible.
// The problem is NP-hard in general and easy in practice: a dozen greedy orders find the optimum for almost every
// network, a hill climb improves most others, and an exact search proves or improves small ones. All of it is
// deterministic: effort is counted in steps of work, never in seconds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/block.h"

namespace cormorant::planner {

// How far `upper` must begin after `lower`, if both are needed at the same time and it is the one that is higher.
std::uint64_t distance(std::span<const Block> blocks, std::uint32_t lower, std::uint32_t upper);
// Bytes that both save together at the step at which the block begins.
std::uint64_t saved_by_covering(std::span<const Block> blocks, const Block& block);

// What a block and all its parts are attached to, and the block's offset in it. They are placed together.
struct Anchor {
  std::uint32_t block = 0;
  std::uint64_t offset = 0;
};
std::vector<Anchor> anchors_of(std::span<const Block> blocks);

// A bound below which no packing exists, and the step that determines it.
struct LowerBound {
  std::uint64_t bytes = 0;
  std::uint32_t step = 0;
};
LowerBound lower_bound(std::span<const Block> blocks);

// Units are visits of one block's neighbour: some hundred million per second.
struct Effort {
  std::uint64_t climb = 1'500'000;
  std::uint64_t exact = 1'500'000;
};

struct Packing {
  std::vector<std::uint64_t> offsets;  // parallel to the blocks
  std::uint64_t peak = 0;
  bool optimal = false;  // proved: equal to the lower bound, or the search was complete
};

// Stops early at a packing that needs no more than `good_enough`.
Packing pack(std::span<const Block> blocks, Effort effort = {}, std::uint64_t good_enough = 0);

}  // namespace cormorant::planner
