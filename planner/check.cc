// SPDX-License-Identifier: Apache-2.0
//
// The sweep goes through time and keeps, per region, the live blocks. When a block begins it is compared with those.
#include "planner/check.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cormorant::planner {
namespace {

struct Event {
  std::uint64_t time;  // a block's end comes after the beginnings at its last step
  bool begins;
  std::size_t block;
};

std::vector<Event> events_of(std::span<const Block> blocks) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].size == 0) continue;  // shares no byte with anything
    events.push_back({2 * std::uint64_t{blocks[i].first}, true, i});
    events.push_back({2 * std::uint64_t{blocks[i].last} + 1, false, i});
  }
  std::ranges::sort(events, {}, [](const Event& event) { return std::pair(event.time, event.block); });
  return events;
}

std::string describe(std::span<const Block> blocks, std::span<const Placement> placements, std::size_t i) {
  const std::uint64_t offset = placements[i].offset;
  return "'" + blocks[i].name + "' (bytes " + std::to_string(offset) + " to " +
         std::to_string(offset + blocks[i].size) + ", steps " + std::to_string(blocks[i].first) + " to " +
         std::to_string(blocks[i].last) + ")";
}

bool share_bytes(std::span<const Block> blocks, std::span<const Placement> placements, std::size_t a, std::size_t b) {
  return placements[a].offset < placements[b].offset + blocks[b].size &&
         placements[b].offset < placements[a].offset + blocks[a].size;
}

// Whether `cover` is allowed to lie on the beginning of `covered`, as it does here.
bool may_cover(std::span<const Block> blocks, std::span<const Placement> placements, std::size_t cover,
               std::size_t covered) {
  const auto& over = blocks[cover].over;
  return over && over->block == covered && blocks[covered].last == blocks[cover].first &&
         placements[covered].offset >= over->distance &&
         placements[cover].offset <= placements[covered].offset - over->distance;
}

}  // namespace

std::optional<std::string> find_violation(std::span<const Block> blocks, std::span<const Region> regions,
                                          std::span<const Placement> placements) {
  if (placements.size() != blocks.size()) return "the plan has not as many placements as there are blocks";
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [region, offset] = placements[i];
    if (region >= regions.size()) return describe(blocks, placements, i) + " is in no region";
    if (blocks[i].region.value_or(region) != region) return describe(blocks, placements, i) + " is in the wrong region";
    if (offset % blocks[i].alignment != 0) return describe(blocks, placements, i) + " is not aligned";
    if (offset > regions[region].size || blocks[i].size > regions[region].size - offset) {
      return describe(blocks, placements, i) + " leaves region '" + regions[region].name + "'";
    }
  }
  std::vector<std::vector<std::size_t>> live(regions.size());
  for (const Event& event : events_of(blocks)) {
    auto& here = live[placements[event.block].region];
    if (!event.begins) {
      std::erase(here, event.block);
      continue;
    }
    for (const std::size_t other : here) {
      if (share_bytes(blocks, placements, event.block, other) && !may_cover(blocks, placements, event.block, other) &&
          !may_cover(blocks, placements, other, event.block)) {
        return describe(blocks, placements, event.block) + " and " + describe(blocks, placements, other) + " overlap";
      }
    }
    here.push_back(event.block);
  }
  return std::nullopt;
}

}  // namespace cormorant::planner
