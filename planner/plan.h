// SPDX-License-Identifier: Apache-2.0
//
// Where every block goes: a region and an offset. Regions are tried in order of preference. If all blocks fit the first
// one they go there; otherwise those that gain most per byte stay, by accesses, and the others move on to the next
// region.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/block.h"
#include "planner/memory.h"
#include "planner/pack.h"

namespace cormorant::planner {

struct Placement {
  std::uint32_t region = 0;
  std::uint64_t offset = 0;  // bytes from the start of the region
  friend bool operator==(const Placement&, const Placement&) = default;
};

struct RegionUse {
  std::uint64_t peak = 0;         // bytes
  std::uint64_t lower_bound = 0;  // no plan could do with less for the blocks that are here
  std::uint32_t peak_step = 0;    // the step that needs it
  bool optimal = true;            // proved
};

struct Plan {
  std::vector<Placement> placements;  // parallel to the blocks
  std::vector<RegionUse> regions;     // parallel to the regions
};

// Throws InputError if the blocks do not fit: which one, where, and by how much. Deterministic.
Plan plan(std::span<const Block> blocks, std::span<const Region> regions, Effort effort = {});
inline Plan plan(std::span<const Block> blocks) {
  const Region unlimited;
  return plan(blocks, std::span(&unlimited, 1));
}

}  // namespace cormorant::planner
