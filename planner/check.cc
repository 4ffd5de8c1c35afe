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

bool share_ticks(const Block& a, const Block& b) {
  return std::max(a.ticks.first, b.ticks.first) <= std::min(a.ticks.last, b.ticks.last);
}

// Whether `cover` is allowed to overlap the beginning of `covered` as it does here.
bool may_cover(std::span<const Block> blocks, std::span<const Placement> placements, std::size_t cover,
               std::size_t covered) {
  const auto& over = blocks[cover].over;
  return over && over->block == covered && blocks[covered].last == blocks[cover].first &&
         placements[covered].offset >= over->distance &&
         placements[cover].offset <= placements[covered].offset - over->distance;
}

using Kind = Block::Part::Kind;

// A block, what it is a part of, what that is a part of, and so on.
std::vector<std::size_t> way_up(std::span<const Block> blocks, std::size_t block) {
  std::vector<std::size_t> way = {block};
  while (blocks[way.back()].part && way.size() <= blocks.size()) way.push_back(blocks[way.back()].part->whole);
  return way;
}

// Whether both hold the same where they overlap, or one of them is used for the last time.
bool may_share(std::span<const Block> blocks, std::size_t a, std::size_t b) {
  std::vector<std::size_t> from_a = way_up(blocks, a), from_b = way_up(blocks, b);
  if (from_a.back() != from_b.back()) return false;
  // A whole that both are parts of is left out.
  while (!from_a.empty() && !from_b.empty() && from_a.back() == from_b.back()) {
    from_a.pop_back();
    from_b.pop_back();
  }
  bool is_rewritten = false, in_time = true;
  const auto look = [&](const std::vector<std::size_t>& way, std::size_t other) {
    for (const std::size_t at : way) {
      if (blocks[at].part->kind != Kind::rewritten) continue;
      is_rewritten = true;
      in_time = in_time && blocks[other].last <= blocks[at].first;
    }
  };
  look(from_a, b);
  look(from_b, a);
  if (is_rewritten) return in_time;
  const auto is_view = [&](const std::vector<std::size_t>& way) { return blocks[way.back()].part->kind == Kind::view; };
  return from_a.empty() || from_b.empty() || is_view(from_a) || is_view(from_b);
}

// A piece is kept until the whole begins, and the whole at least until its views begin.
bool is_in_its_place(std::span<const Block> blocks, std::span<const Placement> placements, std::size_t i) {
  const auto& [index, offset, kind] = *blocks[i].part;
  if (index >= blocks.size() || index == i) return false;
  const Block& whole = blocks[index];
  const Block& earlier = kind == Kind::piece ? blocks[i] : whole;
  const Block& later = kind == Kind::piece ? whole : blocks[i];
  return placements[i].region == placements[index].region &&
         placements[i].offset == placements[index].offset + offset && offset + blocks[i].size <= whole.size &&
         earlier.first <= later.first && later.first <= earlier.last;
}

}  // namespace

std::optional<std::string> find_violation(std::span<const Block> blocks, std::span<const Region> regions,
                                          std::span<const Placement> placements) {
  if (placements.size() != blocks.size()) return "the plan does not have one placement per block";
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [region, offset] = placements[i];
    if (region >= regions.size()) return describe(blocks, placements, i) + " is in no region";
    if (blocks[i].region.value_or(region) != region) return describe(blocks, placements, i) + " is in the wrong region";
    if (offset % blocks[i].alignment != 0) return describe(blocks, placements, i) + " is not aligned";
    if (offset > regions[region].size || blocks[i].size > regions[region].size - offset) {
      return describe(blocks, placements, i) + " leaves region '" + regions[region].name + "'";
    }
    if (blocks[i].part && !is_in_its_place(blocks, placements, i)) {
      return describe(blocks, placements, i) + " is not where or when its whole is";
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
      if (share_bytes(blocks, placements, event.block, other) && share_ticks(blocks[event.block], blocks[other]) &&
          !may_cover(blocks, placements, event.block, other) && !may_cover(blocks, placements, other, event.block) &&
          !may_share(blocks, event.block, other)) {
        return describe(blocks, placements, event.block) + " and " + describe(blocks, placements, other) + " overlap";
      }
    }
    here.push_back(event.block);
  }
  return std::nullopt;
}

}  // namespace cormorant::planner
