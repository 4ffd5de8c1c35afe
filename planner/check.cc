// SPDX-License-Identifier: Apache-2.0
//
// The sweep goes through time and keeps, per region, the live blocks by offset. When a block begins, only those next to
// it can overlap it, because the ones that are there do not overlap each other.
#include "planner/check.h"

#include <algorithm>
#include <map>
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
  std::vector<std::map<std::uint64_t, std::size_t>> live(regions.size());  // by offset
  for (const Event& event : events_of(blocks)) {
    const auto [region, offset] = placements[event.block];
    auto& here = live[region];
    if (!event.begins) {
      here.erase(offset);
      continue;
    }
    const auto above = here.lower_bound(offset);
    const auto overlap = [&](std::size_t other) {
      return describe(blocks, placements, event.block) + " and " + describe(blocks, placements, other) + " overlap";
    };
    if (above != here.end() && above->first < offset + blocks[event.block].size) return overlap(above->second);
    if (above != here.begin()) {
      const auto below = std::prev(above);
      if (below->first + blocks[below->second].size > offset) return overlap(below->second);
    }
    here.emplace(offset, event.block);
  }
  return std::nullopt;
}

}  // namespace cormorant::planner
