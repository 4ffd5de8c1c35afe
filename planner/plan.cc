// SPDX-License-Identifier: Apache-2.0
#include "planner/plan.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/diagnostic.h"

namespace cormorant::planner {
namespace {

using Indices = std::vector<std::uint32_t>;

constexpr Effort kQuick{20'000, 0};  // for "would it fit as well?", asked once per block

// A block that may overlap another one keeps that only if the other is selected too; a part always comes with its
// whole.
std::vector<Block> select(std::span<const Block> blocks, const Indices& indices) {
  std::vector<Block> selected;
  std::vector<std::uint32_t> place(blocks.size(), 0);  // index + 1
  for (const std::uint32_t i : indices) {
    selected.push_back(blocks[i]);
    place[i] = static_cast<std::uint32_t>(selected.size());
  }
  for (Block& block : selected) {
    if (block.part) block.part->whole = place[block.part->whole] - 1;
    if (!block.over) continue;
    const std::uint32_t other = place[block.over->block];
    if (other == 0) {
      block.over.reset();
    } else {
      block.over->block = other - 1;
    }
  }
  return selected;
}

// What to keep in a region that is too small for all: the blocks of highest gain per byte, as long as they fit. Blocks
// that may go nowhere else come first.
struct Split {
  Indices kept, spilled;
  Packing packing;  // of those kept
};
Split split(std::span<const Block> blocks, const Indices& wanted, std::uint64_t size) {
  const std::vector<Anchor> anchors = anchors_of(blocks);
  Indices order = wanted;
  std::erase_if(order, [&](std::uint32_t i) { return anchors[i].block != i; });
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    if (blocks[a].region.has_value() != blocks[b].region.has_value()) return blocks[a].region.has_value();
    if (blocks[a].accesses != blocks[b].accesses) return blocks[a].accesses > blocks[b].accesses;
    return blocks[a].size != blocks[b].size ? blocks[a].size > blocks[b].size : a < b;
  });
  Split split;
  for (const std::uint32_t i : order) {
    const std::size_t before = split.kept.size();
    const auto belongs = [&](std::uint32_t other) { return anchors[other].block == i; };
    std::ranges::copy_if(wanted, std::back_inserter(split.kept), belongs);
    const std::vector<Block> here = select(blocks, split.kept);
    if (lower_bound(here).bytes <= size) {
      if (Packing packing = pack(here, kQuick, size); packing.peak <= size) {
        split.packing = std::move(packing);
        continue;
      }
    }
    split.kept.resize(before);
    std::ranges::copy_if(wanted, std::back_inserter(split.spilled), belongs);
  }
  return split;
}

std::string bytes(std::uint64_t count) { return std::to_string(count) + " bytes"; }

// The message names the largest block at the step that needs the most: it is the one to look at.
[[noreturn]] void does_not_fit(std::span<const Block> blocks, const Indices& wanted, const Region& region,
                               std::uint64_t needed) {
  const std::vector<Block> here = select(blocks, wanted);
  const std::uint32_t step = lower_bound(here).step;
  const Block* largest = nullptr;
  for (const Block& block : here) {
    if (block.first <= step && step <= block.last && (largest == nullptr || block.size > largest->size))
      largest = &block;
  }
  throw InputError({.problem = "memory '" + region.name + "' has " + bytes(region.size) + ", but " + bytes(needed) +
                               " are needed: " + bytes(needed - region.size) +
                               " too few. The largest block at that step has " + bytes(largest->size),
                    .advice = "give '" + region.name + "' at least " + bytes(needed) +
                              ", or add another region after it (--memory=NAME=SIZE,…)",
                    .node = largest->name});
}

// Inside its whole, without cycles, and at the block's alignment.
void check_part(const Block& block, std::span<const Block> blocks) {
  if (!block.part) return;
  const auto& [index, offset, kind] = *block.part;
  const auto wrong = [&](const char* what) { throw std::logic_error("part '" + block.name + "' " + what); };
  if (index >= blocks.size()) wrong("is of nothing");
  const Block& whole = blocks[index];
  if (offset > whole.size || block.size > whole.size - offset) wrong("leaves its whole");
  if (offset % block.alignment != 0 || block.alignment > whole.alignment) wrong("cannot be aligned");
  if (block.region != whole.region) wrong("needs a different region than its whole");
  std::size_t height = 0;
  for (const Block* above = &block; above->part; above = &blocks[above->part->whole]) {
    if (above->part->whole >= blocks.size() || ++height > blocks.size()) wrong("is a part of itself");
  }
}

void check_input(std::span<const Block> blocks, std::span<const Region> regions) {
  if (regions.empty()) throw std::logic_error("no memory regions");
  for (const Block& block : blocks) {
    if (block.first > block.last || block.ticks.first > block.ticks.last)
      throw std::logic_error("block '" + block.name + "' ends before it begins");
    if (!std::has_single_bit(block.alignment)) {
      throw std::logic_error("alignment of block '" + block.name + "' is not a power of two");
    }
    if (block.over && (block.over->block >= blocks.size() || blocks[block.over->block].last != block.first ||
                       &blocks[block.over->block] == &block)) {
      throw std::logic_error("block '" + block.name + "' may only overlap a block at its last use");
    }
    check_part(block, blocks);
    if (block.region && *block.region >= regions.size()) {
      throw std::logic_error("block '" + block.name + "' needs a region that does not exist");
    }
  }
}

}  // namespace

Plan plan(std::span<const Block> blocks, std::span<const Region> regions, Effort effort) {
  check_input(blocks, regions);
  Plan plan{std::vector<Placement>(blocks.size()), std::vector<RegionUse>(regions.size())};
  Indices remaining(blocks.size());
  std::iota(remaining.begin(), remaining.end(), 0U);
  for (std::uint32_t r = 0; r < regions.size(); ++r) {
    const auto is_elsewhere = [&](std::uint32_t i) { return blocks[i].region && *blocks[i].region != r; };
    Indices wanted, later;
    for (const std::uint32_t i : remaining) (is_elsewhere(i) ? later : wanted).push_back(i);

    std::vector<Block> here = select(blocks, wanted);
    Packing packing = pack(here, effort);
    if (packing.peak > regions[r].size) {
      Split parts = split(blocks, wanted, regions[r].size);
      const bool stuck =
          std::ranges::any_of(parts.spilled, [&](std::uint32_t i) { return blocks[i].region.has_value(); });
      if (stuck || r + 1 == regions.size()) does_not_fit(blocks, wanted, regions[r], packing.peak);
      later.insert(later.end(), parts.spilled.begin(), parts.spilled.end());
      std::ranges::sort(later);
      wanted = std::move(parts.kept);
      here = select(blocks, wanted);
      packing = pack(here, effort);
      if (packing.peak > regions[r].size) packing = std::move(parts.packing);
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) plan.placements[wanted[i]] = {r, packing.offsets[i]};
    const LowerBound bound = lower_bound(here);
    plan.regions[r] = {packing.peak, bound.bytes, bound.step, packing.optimal};
    remaining = std::move(later);
  }
  return plan;
}

}  // namespace cormorant::planner
