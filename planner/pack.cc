// SPDX-License-Identifier: Apache-2.0
#include "planner/pack.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/diagnostic.h"
#include "planner/exact.h"

namespace cormorant::planner {
namespace {

using Order = std::vector<std::uint32_t>;

enum class Fit { lowest, tightest };  // which gap a block takes: the first, or the one it fills best

// Calls f(alive, count) at every step at which something begins, with the blocks that live there, at whatever tick; the
// last `count` are those that begin. Time depends on the number of live blocks, not of all.
template <class F>
void sweep(std::span<const Block> blocks, F f) {
  constexpr std::size_t kMostAlive = 8192;  // pairs of them are kept
  Order order(blocks.size()), alive;
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(blocks[i].first, i); });
  for (std::size_t i = 0; i < order.size();) {
    const std::uint32_t step = blocks[order[i]].first;
    std::erase_if(alive, [&](std::uint32_t other) { return blocks[other].last < step; });
    std::size_t count = 0;
    for (; i < order.size() && blocks[order[i]].first == step; ++i, ++count) alive.push_back(order[i]);
    if (alive.size() > kMostAlive) {
      throw InputError({.problem = "more than " + std::to_string(kMostAlive) + " tensors are live at the same time",
                        .advice = "this exceeds the planner's limit: return or keep fewer of them"});
    }
    f(std::as_const(alive), count);
  }
}

// Places blocks one after another, each where those placed before leave room. A block with parts is placed as they all
// require: "block" below means one that is part of none, together with its parts.
class Packer {
 public:
  explicit Packer(std::span<const Block> blocks)
      : blocks_(blocks),
        anchors_(anchors_of(blocks)),
        members_(blocks.size()),
        pairs_(blocks.size()),
        neighbours_(blocks.size()) {
    for (std::uint32_t a = 0; a < blocks.size(); ++a) members_[anchor(a)].push_back(a);
    sweep(blocks, [&](const Order& alive, std::size_t count) {
      for (std::size_t i = alive.size() - count; i < alive.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const std::uint32_t a = alive[i], b = alive[j];
          if (blocks[a].size == 0 || blocks[b].size == 0 || anchor(a) == anchor(b)) continue;
          if (!blocks[a].lives_with(blocks[b])) continue;  // not at the same tick
          pairs_[anchor(a)].push_back(pair(a, b));
          pairs_[anchor(b)].push_back(pair(b, a));
        }
      }
    });
    for (std::uint32_t block = 0; block < blocks.size(); ++block) {
      for (const Pair& pair : pairs_[block]) neighbours_[block].push_back(anchor(pair.other));
      std::ranges::sort(neighbours_[block]);
      const auto twice = std::ranges::unique(neighbours_[block]);
      neighbours_[block].erase(twice.begin(), twice.end());
    }
  }

  Packing place(const Order& order, Fit fit) {
    Packing packing{std::vector<std::uint64_t>(blocks_.size(), kNowhere), 0, false};
    for (const std::uint32_t block : order) {
      const std::uint64_t offset = blocks_[block].size == 0 ? 0 : find_gap(block, packing.offsets, fit);
      for (const std::uint32_t member : members_[block]) packing.offsets[member] = offset + anchors_[member].offset;
      packing.peak = std::max(packing.peak, end(block, packing.offsets));
    }
    return packing;
  }

  // All but parts.
  [[nodiscard]] Order everything() const {
    Order order;
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
      if (anchor(i) == i) order.push_back(i);
    }
    return order;
  }
  [[nodiscard]] std::uint32_t anchor(std::uint32_t block) const { return anchors_[block].block; }
  [[nodiscard]] const std::vector<std::uint32_t>& neighbours(std::uint32_t block) const { return neighbours_[block]; }
  [[nodiscard]] std::uint64_t end(std::uint32_t block, const std::vector<std::uint64_t>& offsets) const {
    return offsets[block] + blocks_[block].size;
  }
  [[nodiscard]] bool holds_up(std::uint32_t lower, std::uint32_t upper,
                              const std::vector<std::uint64_t>& offsets) const {
    return std::ranges::any_of(pairs_[upper], [&](const Pair& pair) {
      return anchor(pair.other) == lower &&
             align(offsets[pair.other] + pair.above, blocks_[pair.member].alignment) == offsets[pair.member];
    });
  }
  // Most bytes alive at a step of the block's life, itself included.
  [[nodiscard]] std::uint64_t crowd(std::uint32_t block) const {
    std::uint64_t most = 0;
    for (const std::uint32_t at : neighbours_[block]) {  // most is alive where something begins
      if (blocks_[at].first >= blocks_[block].first) most = std::max(most, alive(block, blocks_[at].first));
    }
    return std::max(most, alive(block, blocks_[block].first));
  }
  // From the first to the last step of the block and its parts.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> life(std::uint32_t block) const {
    std::pair life(blocks_[block].first, blocks_[block].last);
    for (const std::uint32_t member : members_[block]) {
      life = {std::min(life.first, blocks_[member].first), std::max(life.second, blocks_[member].last)};
    }
    return life;
  }
  [[nodiscard]] std::uint64_t work() const { return work_; }

  static constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();

 private:
  [[nodiscard]] std::uint64_t alive(std::uint32_t block, std::uint32_t step) const {
    std::uint64_t bytes = blocks_[block].size;
    for (const std::uint32_t other : neighbours_[block]) {
      if (blocks_[other].first <= step && step <= blocks_[other].last) bytes += blocks_[other].size;
    }
    return bytes;
  }

  // A neighbour forbids the offsets between those at which the block is below it and those at which it is above.
  std::uint64_t find_gap(std::uint32_t block, const std::vector<std::uint64_t>& offsets, Fit fit) {
    std::uint64_t free_from = 0, best = kNowhere, best_room = kNowhere;
    taken_.clear();
    for (const Pair& pair : pairs_[block]) {
      const std::uint64_t at = offsets[pair.other];
      if (at == kNowhere) continue;
      const std::uint64_t above = at + pair.above;
      const std::uint64_t first_above = above > pair.inside ? above - pair.inside : 0;
      const std::uint64_t below = pair.inside + pair.below;
      if (at >= below) {
        taken_.push_back({at - below, first_above});
      } else {  // no room below it
        free_from = std::max(free_from, first_above);
      }
    }
    work_ += pairs_[block].size() + 1;
    std::ranges::sort(taken_);
    const std::uint64_t alignment = blocks_[block].alignment;
    for (const Taken& taken : taken_) {
      const std::uint64_t offset = align(free_from, alignment);
      if (offset <= taken.last_below && taken.last_below - free_from < best_room) {
        if (fit == Fit::lowest) return offset;
        best = offset;
        best_room = taken.last_below - free_from;
      }
      free_from = std::max(free_from, taken.first_above);
    }
    return best != kNowhere ? best : align(free_from, alignment);
  }

  struct Taken {
    std::uint64_t last_below;   // the highest offset at which the block is below
    std::uint64_t first_above;  // and the lowest at which it is above
    friend auto operator<=>(const Taken&, const Taken&) = default;
  };

  // Two that are alive at the same time, and how far the higher of them must begin after the other.
  struct Pair {
    std::uint32_t member, other;
    std::uint64_t inside;        // of the member, in its block
    std::uint64_t below, above;  // if the member is below the other, and above it
  };
  [[nodiscard]] Pair pair(std::uint32_t member, std::uint32_t other) const {
    return {member, other, anchors_[member].offset, distance(blocks_, member, other), distance(blocks_, other, member)};
  }

  std::span<const Block> blocks_;
  std::vector<Anchor> anchors_;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<std::vector<Pair>> pairs_;
  std::vector<std::vector<std::uint32_t>> neighbours_;
  std::vector<Taken> taken_;
  std::uint64_t work_ = 0;
};

// Orders in which greedy placement does well; each wins on some networks. Ties fall to the earlier block.
std::vector<Order> greedy_orders(std::span<const Block> blocks, const Packer& packer) {
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
  const auto life = [&](std::uint32_t i) {
    const auto [first, last] = packer.life(i);
    return std::uint64_t{last} - first + 1;
  };
  const auto descending = [](std::uint64_t value) { return ~value; };
  std::vector<std::uint64_t> crowds;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) crowds.push_back(packer.crowd(i));
  const auto sorted = [&](auto key_of) {
    Order order = packer.everything();
    std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(Key(key_of(i)), i); });
    return order;
  };
  return {
      sorted([&](std::uint32_t i) { return Key(descending(blocks[i].size), descending(life(i)), 0); }),
      sorted([&](std::uint32_t i) { return Key(packer.life(i).first, descending(blocks[i].size), 0); }),
      sorted([&](std::uint32_t i) { return Key(descending(life(i)), descending(blocks[i].size), 0); }),
      sorted([&](std::uint32_t i) { return Key(descending(crowds[i]), descending(blocks[i].size), 0); }),
      sorted(
          [&](std::uint32_t i) { return Key(descending(crowds[i]), descending(life(i)), descending(blocks[i].size)); }),
      sorted([&](std::uint32_t i) {
        return Key(descending(blocks[i].size * std::min<std::uint64_t>(life(i), 1U << 16U)), 0, 0);
      }),
      sorted([&](std::uint32_t i) { return Key(descending(packer.life(i).second), descending(blocks[i].size), 0); }),
  };
}

// A block that is to cover another one's beginning must be placed before it, or it finds no room below. Where the step
// at which they meet is too crowded otherwise, it is.
Order covers_first(std::span<const Block> blocks, const Packer& packer, const Order& order, std::uint64_t target) {
  std::unordered_map<std::uint32_t, std::uint64_t> crowds;  // bytes alive at a step
  sweep(blocks, [&](const Order& alive, std::size_t) {
    std::uint64_t& crowd = crowds[blocks[alive.back()].first];
    for (const std::uint32_t i : alive) crowd += blocks[i].size;
  });
  std::vector<std::uint32_t> cover(blocks.size(), 0);  // index + 1
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].over && crowds[blocks[i].first] > target) {
      cover[packer.anchor(blocks[i].over->block)] = packer.anchor(i) + 1;
    }
  }
  Order result, chain;
  std::vector<bool> is_placed(blocks.size(), false);
  for (const std::uint32_t block : order) {
    chain.clear();
    for (std::uint32_t at = block + 1; at != 0 && !is_placed[at - 1]; at = cover[at - 1]) {
      chain.push_back(at - 1);
      is_placed[at - 1] = true;
    }
    result.insert(result.end(), chain.rbegin(), chain.rend());
  }
  return result;
}

// Changes the order where it matters: a block that reaches the peak, or one of those it rests on, trades places with
// another of its neighbours. Steps that are no worse are kept, so that plateaus are crossed.
void climb(Packer& packer, Order order, Packing current, std::uint64_t target, std::uint64_t budget, Packing& best) {
  std::uint64_t state = 0x9e3779b97f4a7c15;  // xorshift: the same on every machine
  const auto random = [&](std::size_t bound) {
    state ^= state << 13U, state ^= state >> 7U, state ^= state << 17U;
    return static_cast<std::size_t>(state % bound);
  };
  std::vector<std::uint32_t> rank(current.offsets.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  const auto trade_places = [&](std::uint32_t a, std::uint32_t b) {
    std::swap(order[rank[a]], order[rank[b]]);
    std::swap(rank[a], rank[b]);
  };
  const std::uint64_t limit = packer.work() + budget;
  while (packer.work() < limit && best.peak > target) {
    std::vector<std::uint32_t> tower;  // blocks at the peak and, below them, what holds them up
    for (const std::uint32_t block : order) {
      if (packer.end(block, current.offsets) == current.peak) tower.push_back(block);
    }
    for (std::size_t i = 0; i < tower.size() && tower.size() < 32; ++i) {
      for (const std::uint32_t other : packer.neighbours(tower[i])) {
        const bool supports = packer.holds_up(other, tower[i], current.offsets);
        if (supports && std::ranges::find(tower, other) == tower.end()) tower.push_back(other);
      }
    }
    const std::uint32_t block = tower[random(tower.size())];
    const auto& neighbours = packer.neighbours(block);
    if (neighbours.empty()) return;  // one block alone is the peak
    const std::uint32_t other = neighbours[random(neighbours.size())];
    trade_places(block, other);
    Packing next = packer.place(order, Fit::lowest);
    if (next.peak <= current.peak) {
      current = std::move(next);
      if (current.peak < best.peak) best = current;
    } else {
      trade_places(block, other);
    }
  }
}

}  // namespace

std::uint64_t distance(std::span<const Block> blocks, std::uint32_t lower, std::uint32_t upper) {
  const Block& below = blocks[lower];
  const bool may_cover = below.over && below.over->block == upper;
  return may_cover ? std::min(below.over->distance, below.size) : below.size;
}

std::vector<Anchor> anchors_of(std::span<const Block> blocks) {
  std::vector<Anchor> anchors;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    Anchor anchor{i, 0};
    for (; blocks[anchor.block].part; anchor.block = blocks[anchor.block].part->whole) {
      anchor.offset += blocks[anchor.block].part->offset;
    }
    anchors.push_back(anchor);
  }
  return anchors;
}

std::uint64_t saved_by_covering(std::span<const Block> blocks, const Block& block) {
  if (!block.over) return 0;
  const Block& other = blocks[block.over->block];
  if (block.size == 0 || other.size == 0) return 0;
  const std::uint64_t together = std::max(std::min(block.over->distance, block.size) + other.size, block.size);
  return block.size + other.size - together;
}

namespace {

// Bytes of the blocks that are parts or have some, counted once where they overlap.
class SharedBytes {
 public:
  explicit SharedBytes(std::span<const Block> blocks) : blocks_(blocks), anchors_(anchors_of(blocks)) {
    is_shared_.assign(blocks.size(), false);
    for (std::uint32_t i = 0; i < blocks.size(); ++i) {
      if (anchors_[i].block != i) is_shared_[i] = is_shared_[anchors_[i].block] = true;
    }
  }
  [[nodiscard]] bool is_shared(std::uint32_t block) const { return is_shared_[block]; }
  void add(std::uint32_t block) { spans_.push_back({anchors_[block].block, anchors_[block].offset, block}); }
  [[nodiscard]] std::uint64_t take() {
    std::ranges::sort(spans_);
    std::uint64_t bytes = 0, end = 0;
    std::uint32_t anchor = 0;
    for (const auto& [next_anchor, begin, block] : spans_) {
      if (next_anchor != anchor) end = 0;
      anchor = next_anchor;
      const std::uint64_t next_end = begin + blocks_[block].size;
      if (next_end > end) bytes += next_end - std::max(begin, end);
      end = std::max(end, next_end);
    }
    spans_.clear();
    return bytes;
  }

 private:
  std::span<const Block> blocks_;
  std::vector<Anchor> anchors_;
  std::vector<bool> is_shared_;
  std::vector<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>> spans_;  // anchor, begin, block
};

}  // namespace

LowerBound lower_bound(std::span<const Block> blocks) {
  LowerBound bound;
  SharedBytes shared(blocks);
  std::unordered_map<std::uint32_t, std::uint64_t> crowds;  // by steps at which something begins: there it is largest
  std::vector<std::uint32_t> ticks;
  sweep(blocks, [&](const Order& alive, std::size_t) {
    const std::uint32_t step = blocks[alive.back()].first;
    std::uint64_t granularity = std::uint64_t{1} << 63U;
    for (const std::uint32_t i : alive) granularity = std::min<std::uint64_t>(granularity, blocks[i].alignment);
    // Most is alive at a tick at which something begins.
    ticks.clear();
    for (const std::uint32_t i : alive) ticks.push_back(blocks[i].ticks.first);
    std::ranges::sort(ticks);
    ticks.erase(std::unique(ticks.begin(), ticks.end()), ticks.end());
    for (const std::uint32_t tick : ticks) {
      // All offsets are multiples of the smallest alignment, so every block but the topmost is rounded up to it.
      std::uint64_t bytes = 0, slack = 0, saved = 0;
      for (const std::uint32_t i : alive) {
        const Block& block = blocks[i];
        if (block.size == 0 || block.ticks.first > tick || block.ticks.last < tick) continue;
        if (block.first == step) saved += align(saved_by_covering(blocks, block), granularity);
        if (shared.is_shared(i)) {
          shared.add(i);
          continue;
        }
        bytes += align(block.size, granularity);
        slack = std::max(slack, align(block.size, granularity) - block.size);
      }
      bytes += shared.take();
      bytes -= std::min(bytes, saved + slack);
      crowds[step] = std::max(crowds[step], bytes);
    }
  });
  for (const Block& at : blocks) {
    const std::uint64_t bytes = crowds.at(at.first);
    if (bytes > bound.bytes) bound = {bytes, at.first};
  }
  return bound;
}

Packing pack(std::span<const Block> blocks, Effort effort, std::uint64_t good_enough) {
  const std::uint64_t bound = lower_bound(blocks).bytes;
  const std::uint64_t target = std::max(bound, good_enough);
  Packer packer(blocks);
  Packing best{{}, Packer::kNowhere, false};
  Packing start = best;  // of the climb, which places by lowest gap
  Order start_order;
  std::vector<Order> orders = greedy_orders(blocks, packer);
  if (std::ranges::any_of(blocks, [](const Block& block) { return block.over.has_value(); })) {
    for (std::size_t i = 0, count = orders.size(); i < count; ++i) {
      orders.push_back(covers_first(blocks, packer, orders[i], target));
    }
  }
  for (const Order& order : orders) {
    for (const Fit fit : {Fit::lowest, Fit::tightest}) {
      if (best.peak <= target) break;
      Packing packing = packer.place(order, fit);
      if (fit == Fit::lowest && packing.peak < start.peak) {
        start = packing;
        start_order = order;
      }
      if (packing.peak < best.peak) best = std::move(packing);
    }
  }
  // Small problems are searched at once; larger ones when the climb has brought the bound down that the search needs.
  // The search handles neither parts nor ticks.
  const bool can_search = std::ranges::none_of(
      blocks, [](const Block& block) { return block.part.has_value() || block.ticks != Block::Ticks(); });
  bool complete = false;
  if (can_search && best.peak > target) complete = search_exactly(blocks, target, effort.exact / 4, best);
  if (!complete && best.peak > target) climb(packer, start_order, start, target, effort.climb, best);
  if (can_search && !complete && best.peak > target) complete = search_exactly(blocks, target, effort.exact, best);
  best.optimal = best.peak == bound || (complete && best.peak > target);
  return best;
}

}  // namespace cormorant::planner
