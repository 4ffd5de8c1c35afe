// SPDX-License-Identifier: Apache-2.0
#include "planner/exact.h"

#include <algorithm>
#include <compare>
#include <tuple>
#include <vector>

namespace cormorant::planner {
namespace {

class Search {
 public:
  Search(std::span<const Block> blocks, std::uint64_t target, std::uint64_t budget, Packing& best)
      : blocks_(blocks), target_(target), budget_(budget), best_(best), offsets_(blocks.size(), 0) {
    // Only the steps at which something begins matter: the live set does not grow elsewhere.
    std::vector<std::uint32_t> steps;
    for (const Block& block : blocks) steps.push_back(block.first);
    std::ranges::sort(steps);
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    top_.assign(steps.size(), 0);
    waiting_.assign(steps.size(), 0);
    saving_.assign(steps.size(), 0);
    in_pair_.assign(blocks.size(), false);
    is_placed_.assign(blocks.size(), false);
    for (std::uint32_t i = 0; i < blocks.size(); ++i) {
      const auto first = std::ranges::lower_bound(steps, blocks[i].first) - steps.begin();
      const auto last = std::ranges::upper_bound(steps, blocks[i].last) - steps.begin();
      spans_.push_back({static_cast<std::size_t>(first), static_cast<std::size_t>(last)});
      if (blocks[i].size == 0) continue;
      unplaced_.push_back(i);
      for (std::size_t s = spans_[i].begin; s < spans_[i].end; ++s) waiting_[s] += blocks[i].size;
      if (!blocks[i].over) continue;
      in_pair_[i] = in_pair_[blocks[i].over->block] = true;
      saving_[spans_[i].begin] += saved_by_covering(blocks, blocks[i]);
    }
  }

  bool run() { return visit(0, 0); }

 private:
  struct Steps {
    std::size_t begin, end;
    friend auto operator<=>(const Steps&, const Steps&) = default;
  };
  struct Candidate {
    std::uint64_t offset;
    std::uint32_t block;
  };

  // All completions of what is placed, none of them below `floor`; false when the budget is used up.
  bool visit(std::uint64_t floor, std::uint64_t peak) {
    if (unplaced_.empty()) {
      best_.offsets = offsets_;
      best_.peak = peak;  // visits end where they cannot improve
      return true;
    }
    if (hopeless(floor)) return true;
    std::vector<Candidate> candidates = choices(floor);
    if (work_ > budget_) return false;
    for (const Candidate& candidate : candidates) {
      const Block& block = blocks_[candidate.block];
      const std::uint64_t end = candidate.offset + block.size;
      if (std::max(peak, end) >= best_.peak) continue;
      const auto [begin_step, end_step] = spans_[candidate.block];
      const std::vector<std::uint64_t> kept(top_.begin() + static_cast<std::ptrdiff_t>(begin_step),
                                            top_.begin() + static_cast<std::ptrdiff_t>(end_step));
      for (std::size_t s = begin_step; s < end_step; ++s) {
        top_[s] = std::max(top_[s], end);
        waiting_[s] -= block.size;
      }
      std::erase(unplaced_, candidate.block);
      offsets_[candidate.block] = candidate.offset;
      is_placed_[candidate.block] = true;
      const bool complete = visit(candidate.offset, std::max(peak, end));
      unplaced_.push_back(candidate.block);
      is_placed_[candidate.block] = false;
      std::ranges::copy(kept, top_.begin() + static_cast<std::ptrdiff_t>(begin_step));
      for (std::size_t s = begin_step; s < end_step; ++s) waiting_[s] += block.size;
      if (!complete) return false;
      if (best_.peak <= target_) return true;
    }
    return true;
  }

  // At some step, the waiting blocks do not fit between what is placed and the best peak, whatever they may overlap.
  bool hopeless(std::uint64_t floor) {
    work_ += top_.size();
    for (std::size_t s = 0; s < top_.size(); ++s) {
      if (waiting_[s] != 0 && std::max(top_[s], floor) + waiting_[s] >= best_.peak + saving_[s]) return true;
    }
    return false;
  }

  // The lowest offset of a waiting block above those that are placed.
  std::uint64_t lowest_offset(std::uint32_t block, std::uint64_t floor) {
    std::uint64_t offset = floor;
    if (!in_pair_[block]) {
      for (std::size_t s = spans_[block].begin; s < spans_[block].end; ++s) offset = std::max(offset, top_[s]);
      work_ += spans_[block].end - spans_[block].begin;
    } else {
      for (std::uint32_t other = 0; other < blocks_.size(); ++other) {
        if (!is_placed_[other] || !blocks_[other].lives_with(blocks_[block])) continue;
        offset = std::max(offset, offsets_[other] + distance(blocks_, other, block));
      }
      work_ += blocks_.size();
    }
    return align(offset, blocks_[block].alignment);
  }

  // The positions the waiting blocks would take now. One that would end below where another begins must come first: it
  // could sink there later without touching anything.
  std::vector<Candidate> choices(std::uint64_t floor) {
    std::vector<Candidate> candidates;
    std::uint64_t lowest_end = best_.peak;
    for (const std::uint32_t i : unplaced_) {
      const std::uint64_t offset = lowest_offset(i, floor);
      candidates.push_back({offset, i});
      lowest_end = std::min(lowest_end, offset + blocks_[i].size);
    }
    std::erase_if(candidates, [&](const Candidate& c) { return c.offset >= lowest_end; });
    // The first of equal blocks is enough.
    std::ranges::sort(candidates, [&](const Candidate& a, const Candidate& b) {
      if (a.offset != b.offset) return a.offset < b.offset;
      if (blocks_[a.block].size != blocks_[b.block].size) return blocks_[a.block].size > blocks_[b.block].size;
      return std::tie(spans_[a.block], a.block) < std::tie(spans_[b.block], b.block);
    });
    const auto alike = std::ranges::unique(candidates, [&](const Candidate& a, const Candidate& b) {
      return a.offset == b.offset && blocks_[a.block].size == blocks_[b.block].size &&
             blocks_[a.block].alignment == blocks_[b.block].alignment && spans_[a.block] == spans_[b.block] &&
             !in_pair_[a.block] && !in_pair_[b.block];
    });
    candidates.erase(alike.begin(), alike.end());
    return candidates;
  }

  std::span<const Block> blocks_;
  std::uint64_t target_, budget_, work_ = 0;
  Packing& best_;
  std::vector<std::uint64_t> offsets_;
  std::vector<Steps> spans_;            // a block's life in the steps that matter
  std::vector<std::uint64_t> top_;      // per step, where the next block can be
  std::vector<std::uint64_t> waiting_;  // per step, bytes of blocks that are not placed yet
  std::vector<std::uint64_t> saving_;   // per step, bytes that pairs need less if one covers the other
  std::vector<bool> in_pair_;           // covers another block, or is covered
  std::vector<bool> is_placed_;
  std::vector<std::uint32_t> unplaced_;
};

}  // namespace

bool search_exactly(std::span<const Block> blocks, std::uint64_t target, std::uint64_t budget, Packing& best) {
  return Search(blocks, target, budget, best).run();
}

}  // namespace cormorant::planner
