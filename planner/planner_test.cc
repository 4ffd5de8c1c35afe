// SPDX-License-Identifier: Apache-2.0
//
// Plans of thousands of random programs are proved sound by the checker; the checker is proved by comparison with the
// definition (all pairs) and by plans that are broken on purpose; and the peak is compared with what is known to be
// best.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include "base/diagnostic.h"
#include "planner/check.h"
#include "planner/exact.h"
#include "planner/plan.h"
#include "planner/schedule.h"
#include "tests/check.h"

namespace cormorant::planner {
namespace {

using Blocks = std::vector<Block>;

Block block(std::uint64_t size, std::uint32_t first, std::uint32_t last, std::uint32_t alignment = 1) {
  return {.size = size, .first = first, .last = last, .alignment = alignment, .name = "b"};
}

const Region kAnywhere[] = {Region{}};

std::uint64_t peak_of(const Plan& plan) { return plan.regions.at(0).peak; }

constexpr Effort kLittle{5'000, 5'000};  // for tests that plan thousands of times

Plan checked_plan(const Blocks& blocks, std::span<const Region> regions = kAnywhere, Effort effort = {}) {
  Plan result = plan(blocks, regions, effort);
  const auto violation = find_violation(blocks, regions, result.placements);
  EXPECT_FALSE(violation) << *violation;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    EXPECT_GE(result.regions[r].peak, result.regions[r].lower_bound);
    std::uint64_t peak = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (result.placements[i].region == r) peak = std::max(peak, result.placements[i].offset + blocks[i].size);
    }
    EXPECT_EQ(result.regions[r].peak, peak);
  }
  return result;
}

// ---- random programs --------------------------------------------------------------------------------------------

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(engine_() % bound); }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + below(high - low + 1); }

 private:
  std::mt19937 engine_;
};

// A different character per seed: many equal sizes, powers of two, long lives, short ones, mixed alignments, holes.
Blocks random_blocks(unsigned seed, std::uint32_t most) {
  Random random(seed);
  const std::uint32_t count = random.between(1, most), steps = random.between(1, 2 * count);
  const std::uint32_t longest = random.between(1, random.below(4) == 0 ? steps : 4);
  const std::uint32_t kind = random.below(4), alignments = random.below(3);
  Blocks blocks;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t first = random.below(steps);
    std::uint64_t size = random.between(1, 1000);
    if (kind == 1) size = std::uint64_t{1} << random.below(12);
    if (kind == 2) size = std::uint64_t{64} * random.between(1, 3);
    if (kind == 3 && random.below(8) == 0) size = 0;
    blocks.push_back(block(size, first, first + random.below(longest), alignments == 0 ? 1 : 16));
    if (alignments == 2) blocks.back().alignment = 1U << random.below(6);
    if (random.below(32) == 0) blocks.back().last = Block::kForever;
  }
  return blocks;
}

// Some blocks begin where others end, and may cover these.
Blocks random_covers(unsigned seed, std::uint32_t most) {
  Random random(seed + 77);
  Blocks blocks = random_blocks(seed, most);
  for (Block& b : blocks) {
    if (b.last == Block::kForever) b.last = b.first;
  }
  for (std::uint32_t i = 1; i < blocks.size(); ++i) {
    const std::uint32_t other = random.below(i);
    const std::uint32_t life = blocks[i].last - blocks[i].first;
    if (blocks[other].over && random.below(2) == 0) continue;
    blocks[i].first = blocks[other].last;
    blocks[i].last = blocks[i].first + life;
    blocks[i].over = {other, random.below(static_cast<std::uint32_t>(blocks[i].size) + 10)};
  }
  return blocks;
}

// Some blocks are needed for a part of the ticks only.
Blocks random_ticks(unsigned seed, std::uint32_t most) {
  Random random(seed + 770);
  Blocks blocks = random_blocks(seed, most);
  for (Block& b : blocks) {
    const std::uint32_t first = random.below(12);
    if (random.below(3) != 0) b.ticks = {first, random.below(4) == 0 ? Block::kForever : first + random.below(6)};
  }
  return blocks;
}

std::uint64_t best_peak_by_trying_all(const Blocks& blocks);
bool is_sound(const Blocks& blocks, std::span<const Region> regions, const std::vector<Placement>& placements);

TEST(Planner, RandomProgramsGetSoundPlans) {
  for (unsigned seed = 0; seed < tests::seeds(3000, 600); ++seed) {
    SCOPED_TRACE(seed);
    const Blocks blocks = random_blocks(seed, 24);
    const Plan result = checked_plan(blocks, kAnywhere, kLittle);
    EXPECT_TRUE(result.regions[0].optimal || peak_of(result) > result.regions[0].lower_bound);
  }
}

TEST(Planner, RandomProgramsThatCoverGetSoundPlans) {
  int saved = 0;
  const unsigned count = tests::seeds(1000, 200);
  for (unsigned seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    Blocks blocks = random_covers(seed, 24);
    const Plan result = checked_plan(blocks, kAnywhere, kLittle);
    for (Block& b : blocks) b.over.reset();
    saved += peak_of(checked_plan(blocks, kAnywhere, kLittle)) > peak_of(result) ? 1 : 0;
  }
  EXPECT_GT(saved * 1000, 150 * static_cast<int>(count));
}

TEST(Planner, RandomProgramsWithTicksGetSoundPlans) {
  int saved = 0, best = 0, small = 0;
  const unsigned count = tests::seeds(600, 120);
  for (unsigned seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    const bool is_small = seed % 3 == 0;
    Blocks blocks = random_ticks(seed, is_small ? 6 : 24);
    const Plan result = checked_plan(blocks, kAnywhere, kLittle);
    EXPECT_TRUE(is_sound(blocks, kAnywhere, result.placements));
    if (is_small) {
      const std::uint64_t least = best_peak_by_trying_all(blocks);
      EXPECT_LE(result.regions[0].lower_bound, least);
      EXPECT_GE(peak_of(result), least);
      EXPECT_TRUE(!result.regions[0].optimal || peak_of(result) == least);
      best += peak_of(result) == least ? 1 : 0;
      ++small;
    }
    for (Block& b : blocks) b.ticks = {};
    saved += peak_of(checked_plan(blocks, kAnywhere, kLittle)) > peak_of(result) ? 1 : 0;
  }
  EXPECT_GT(saved * 1000, 300 * static_cast<int>(count));
  EXPECT_GT(best * 100, 95 * small);
}

// An image whose rows are no longer needed one after another, and a block that comes when half of them are gone.
TEST(Planner, WhatComesLateTakesThePlaceOfWhatIsGone) {
  using Kind = Block::Part::Kind;
  Blocks blocks = {block(100, 0, 3, 4), block(52, 2, 3, 4), block(48, 2, 3, 4), block(80, 2, 3, 4), block(32, 2, 3, 4)};
  blocks[0].ticks.last = 0;
  blocks[1].part = {0, 0, Kind::view};
  blocks[1].ticks.last = 4;
  blocks[2].part = {0, 52, Kind::view};
  blocks[2].ticks.last = 9;
  blocks[3].ticks = {5, 9};  // may cover the first part
  blocks[4].ticks = {4, 9};  // may not
  EXPECT_EQ(peak_of(checked_plan(blocks)), 80U + 48U + 32U);
  blocks[3].ticks.first = 4;
  EXPECT_EQ(peak_of(checked_plan(blocks)), 100U + 80U + 32U);
  blocks[3].ticks = {5, 4};
  EXPECT_THROW(plan(blocks), std::logic_error);
}

TEST(Planner, SmallProgramsThatCoverArePlannedOptimally) {
  int covered = 0;
  const unsigned count = tests::seeds(400, 80);
  for (unsigned seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    const Blocks blocks = random_covers(seed, 6);
    const Plan result = checked_plan(blocks);
    EXPECT_TRUE(result.regions[0].optimal);
    EXPECT_EQ(peak_of(result), best_peak_by_trying_all(blocks));
    for (const Block& b : blocks) covered += b.over ? 1 : 0;
  }
  EXPECT_GT(covered * 400, 300 * static_cast<int>(count));
}

TEST(Planner, AChainThatCoversNeedsLittleMoreThanItsLargestBlock) {
  // An inverted residual: expand, depthwise with stride 2, project; distances as the kernels have them.
  Blocks blocks = {block(200'704, 0, 1, 16), block(1'204'224, 1, 2, 16), block(301'056, 2, 3, 16),
                   block(75'264, 3, 4, 16), block(451'584, 4, 5, 16)};
  const std::uint64_t distances[] = {1'003'712, 5'488, 192, 376'512};
  for (std::uint32_t i = 1; i < blocks.size(); ++i) blocks[i].over = {i - 1, distances[i - 1]};
  const Plan result = checked_plan(blocks);
  // Each of the first three begins as far before the one before it as it must.
  EXPECT_EQ(peak_of(result), 5'488U + 1'003'712U + 200'704U);
  EXPECT_TRUE(result.regions[0].optimal);
}

TEST(Planner, WhatIsNeededLongerIsNotCovered) {
  Blocks blocks = {block(100, 0, 3), block(100, 2, 4)};
  blocks[1].over = {0, 10};
  EXPECT_THROW(plan(blocks), std::logic_error);
  blocks[0].last = 2;
  EXPECT_EQ(peak_of(checked_plan(blocks)), 110U);
}

TEST(Planner, TheSameBlocksGetTheSamePlan) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const Blocks blocks = random_blocks(seed, 60);
    EXPECT_EQ(plan(blocks, kAnywhere, kLittle).placements, plan(blocks, kAnywhere, kLittle).placements);
  }
}

// Every order, every block at the lowest free position: contains an optimal packing, and is written independently of
// the planner.
std::uint64_t best_peak_by_trying_all(const Blocks& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::uint64_t best = ~std::uint64_t{0};
  do {
    std::vector<std::uint64_t> offsets(blocks.size());
    std::uint64_t peak = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Block& b = blocks[order[i]];
      std::uint64_t offset = 0;
      for (bool moved = b.size != 0; moved;) {
        moved = false;
        for (std::size_t j = 0; j < i; ++j) {
          const Block& other = blocks[order[j]];
          const bool together = b.first <= other.last && other.first <= b.last && other.size != 0 &&
                                b.ticks.first <= other.ticks.last && other.ticks.first <= b.ticks.last;
          const std::uint64_t there = offsets[order[j]];
          const auto distance = [&](const Block& lower, std::size_t upper) {
            return lower.over && lower.over->block == upper ? std::min(lower.over->distance, lower.size) : lower.size;
          };
          const std::uint64_t above = there + distance(other, order[i]);
          if (together && offset < above && there < offset + distance(b, order[j])) {
            offset = (above + b.alignment - 1) / b.alignment * b.alignment;
            moved = true;
          }
        }
      }
      offsets[order[i]] = offset;
      peak = std::max(peak, offset + b.size);
    }
    best = std::min(best, peak);
  } while (std::ranges::next_permutation(order).found);
  return best;
}

TEST(Planner, SmallProgramsArePlannedOptimally) {
  int above_the_bound = 0;
  for (unsigned seed = 0; seed < tests::seeds(400, 80); ++seed) {
    SCOPED_TRACE(seed);
    const Blocks blocks = random_blocks(seed, 7);
    const Plan result = checked_plan(blocks);
    EXPECT_TRUE(result.regions[0].optimal);
    EXPECT_EQ(peak_of(result), best_peak_by_trying_all(blocks));
    above_the_bound += peak_of(result) > result.regions[0].lower_bound ? 1 : 0;
  }
  EXPECT_GT(above_the_bound, 0);  // some cannot reach the bound, and that was proved
}

TEST(Planner, ExactSearchFindsTheOptimumOnItsOwn) {
  for (unsigned seed = 0; seed < tests::seeds(300, 60); ++seed) {
    SCOPED_TRACE(seed);
    const Blocks blocks = random_blocks(seed, 7);
    Packing worst;  // all side by side
    for (const Block& b : blocks) {
      worst.offsets.push_back((worst.peak + b.alignment - 1) / b.alignment * b.alignment);
      worst.peak = worst.offsets.back() + b.size;
    }
    ++worst.peak;
    EXPECT_TRUE(search_exactly(blocks, 0, 100'000'000, worst));
    EXPECT_EQ(worst.peak, best_peak_by_trying_all(blocks));
    std::vector<Placement> placements;
    for (const std::uint64_t offset : worst.offsets) placements.push_back({0, offset});
    const auto violation = find_violation(blocks, kAnywhere, placements);
    EXPECT_FALSE(violation) << *violation;
  }
}

// A rectangle of time and memory, cut at random: fits together without a gap, so the height is known to be best.
void cut(Random& random, std::uint32_t first, std::uint32_t last, std::uint64_t height, unsigned pieces, Blocks& out) {
  const bool across_time = last > first && (height < 2 || random.below(2) == 0);
  if (pieces <= 1 || (!across_time && height < 2)) {
    out.push_back(block(height, first, last));
  } else if (across_time) {
    const std::uint32_t middle = random.between(first, last - 1);
    cut(random, first, middle, height, pieces / 2, out);
    cut(random, middle + 1, last, height, pieces - pieces / 2, out);
  } else {
    const std::uint64_t lower = 1 + random.below(static_cast<std::uint32_t>(height - 1));
    cut(random, first, last, lower, pieces / 2, out);
    cut(random, first, last, height - lower, pieces - pieces / 2, out);
  }
}

TEST(Planner, JigsawsOfKnownHeightComeOutTight) {
  int perfect = 0;
  const unsigned count = tests::seeds(300, 60);
  for (unsigned seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Blocks blocks;
    cut(random, 0, 40, 4096, random.between(2, 32), blocks);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(seed));
    const Plan result = checked_plan(blocks);
    EXPECT_EQ(result.regions[0].lower_bound, 4096U);
    EXPECT_LE(peak_of(result), 4096U * 5 / 4);
    perfect += peak_of(result) == 4096 ? 1 : 0;
  }
  EXPECT_GE(perfect * 300, 270 * static_cast<int>(count));
}

// The same with more pieces than can be searched: gaps must be filled to the byte from the start.
TEST(Planner, LargeJigsawsComeOutNearlyTight) {
  std::uint64_t sum = 0;
  for (unsigned seed = 0; seed < 8; ++seed) {
    Random random(seed);
    Blocks blocks;
    cut(random, 0, 400, 65536, 300, blocks);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(seed));
    sum += peak_of(checked_plan(blocks));
  }
  EXPECT_LE(sum, 8U * 65536 * 6 / 5);
}

// ---- programs that look like networks ---------------------------------------------------------------------------

TEST(Planner, ChainsWithScratchReachTheLowerBound) {
  // Activations of a small keyword spotter with the scratch of each convolution; sizes by hand.
  const std::uint64_t activations[] = {490, 8000, 8000, 8000, 8000, 8000, 8000, 8000, 8000, 64, 12};
  Blocks blocks;
  for (std::uint32_t i = 0; i < std::size(activations); ++i) {
    blocks.push_back(block(activations[i], i == 0 ? 0 : i - 1, i, 16));
    if (i > 0) blocks.push_back(block(i % 2 == 0 ? 512 : 1152, i - 1, i - 1, 16));
  }
  const Plan result = checked_plan(blocks);
  EXPECT_EQ(peak_of(result), result.regions[0].lower_bound);
  EXPECT_EQ(peak_of(result), 8000U + 8000U + 1152U);
}

TEST(Planner, ResidualNetworksReachTheLowerBound) {
  for (unsigned seed = 0; seed < tests::seeds(200, 60); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Blocks blocks;
    std::uint32_t step = 0;
    for (unsigned stage = 0; stage < 12; ++stage) {  // in -> expand -> depthwise -> project -> add
      const std::uint64_t narrow = std::uint64_t{16} * random.between(1, 64), wide = 6 * narrow;
      blocks.push_back(block(narrow, step, step + 4, 16));
      blocks.push_back(block(wide, step + 1, step + 2, 16));
      blocks.push_back(block(wide, step + 2, step + 3, 16));
      blocks.push_back(block(narrow, step + 3, step + 4, 16));
      blocks.push_back(block(std::uint64_t{16} * random.between(0, 40), step + 2, step + 2, 16));
      step += 4;
    }
    const Plan result = checked_plan(blocks);
    EXPECT_EQ(peak_of(result), result.regions[0].lower_bound);
  }
}

TEST(Planner, StateIsNeverReused) {
  const Blocks blocks = {block(100, 0, Block::kForever), block(50, 0, 0), block(50, 1, 1), block(70, 2, 2)};
  const Plan result = checked_plan(blocks);
  EXPECT_EQ(peak_of(result), 170U);
  EXPECT_EQ(result.regions[0].peak_step, 2U);
}

TEST(Planner, EdgeCases) {
  EXPECT_EQ(peak_of(checked_plan({})), 0U);
  EXPECT_EQ(peak_of(checked_plan({block(0, 0, 5)})), 0U);
  EXPECT_EQ(peak_of(checked_plan({block(7, 3, 3)})), 7U);
  EXPECT_EQ(peak_of(checked_plan({block(7, 0, 1, 16), block(9, 1, 2, 16)})), 23U);  // the smaller one on top
  EXPECT_EQ(peak_of(checked_plan({block(10, 0, 1), block(20, 2, 3)})), 20U);        // never together
  EXPECT_EQ(peak_of(checked_plan({block(10, 0, 2), block(20, 2, 3)})), 30U);        // together at one step
}

TEST(Planner, TooManyTensorsAtOnceAreAnError) {
  const Blocks blocks(8193, block(1, 0, 0));
  try {
    plan(blocks, kAnywhere);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("more than 8192 tensors are live at the same time"), std::string::npos);
  }
}

TEST(Planner, TwoHundredTensorsTakeMilliseconds) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    Random random(seed);
    Blocks blocks;
    for (std::uint32_t i = 0; i < 200; ++i) {
      const std::uint32_t first = random.below(150);
      blocks.push_back(block(random.between(1, 50000), first, first + random.below(12), 16));
    }
    const auto start = std::chrono::steady_clock::now();
    checked_plan(blocks);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    EXPECT_LT(time.count(), 3000);  // 50 in a release build; this is for sanitizers on a busy machine
  }
}

// ---- the order of branches ----------------------------------------------------------------------------------------

struct Dag {
  std::vector<Task> tasks;
  std::vector<Buffer> buffers;
};

// Every task reads what some earlier ones have written; one in a while has two results, or works in place.
Dag random_dag(unsigned seed, std::uint32_t most) {
  Random random(seed);
  Dag dag;
  dag.buffers.push_back({.size = random.between(1, 500), .is_input = true});
  const std::uint32_t count = random.between(1, most);
  for (std::uint32_t t = 0; t < count; ++t) {
    Task task;
    const auto known = static_cast<std::uint32_t>(dag.buffers.size());
    for (std::uint32_t i = random.between(1, 3); i > 0; --i) task.reads.push_back(random.below(known));
    task.scratch = random.below(3) == 0 ? random.below(300) : 0;
    for (std::uint32_t i = random.below(6) == 0 ? 2 : 1; i > 0; --i) {
      task.writes.push_back(static_cast<std::uint32_t>(dag.buffers.size()));
      dag.buffers.push_back({.size = random.between(1, 500), .is_output = random.below(10) == 0});
    }
    if (random.below(3) == 0) {
      const std::uint32_t over = task.reads.front();
      task.savings.push_back({over, std::min(dag.buffers[over].size, dag.buffers[task.writes.front()].size)});
    }
    dag.tasks.push_back(std::move(task));
  }
  return dag;
}

bool can_be_computed(const Dag& dag, const std::vector<std::uint32_t>& order) {
  std::vector<bool> is_there(dag.buffers.size());
  for (std::size_t b = 0; b < dag.buffers.size(); ++b) is_there[b] = dag.buffers[b].is_input;
  for (const std::uint32_t t : order) {
    for (const std::uint32_t b : dag.tasks[t].reads) {
      if (!is_there[b]) return false;
    }
    for (const std::uint32_t b : dag.tasks[t].writes) is_there[b] = true;
  }
  return order.size() == dag.tasks.size();
}

TEST(Schedule, IsTheBestOfAllOrders) {
  int improved = 0;
  const unsigned count = tests::seeds(300, 60);
  for (unsigned seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    const Dag dag = random_dag(seed, 6);
    std::vector<std::uint32_t> order(dag.tasks.size());
    std::iota(order.begin(), order.end(), 0U);
    const std::uint64_t given = peak_of(dag.tasks, dag.buffers, order);
    std::uint64_t best = given;
    do {
      if (can_be_computed(dag, order)) best = std::min(best, peak_of(dag.tasks, dag.buffers, order));
    } while (std::ranges::next_permutation(order).found);
    const std::vector<std::uint32_t> found = schedule(dag.tasks, dag.buffers);
    EXPECT_TRUE(can_be_computed(dag, found));
    EXPECT_EQ(peak_of(dag.tasks, dag.buffers, found), best);
    improved += best < given ? 1 : 0;
  }
  EXPECT_GT(improved * 300, 10 * static_cast<int>(count));
}

TEST(Schedule, AnOutputLivesUntilTheEnd) {
  const std::vector<Buffer> buffers = {
      {.size = 10, .is_input = true}, {.size = 100, .is_output = true}, {.size = 50}, {.size = 60}};
  std::vector<Task> chain(3);
  for (std::uint32_t t = 0; t < chain.size(); ++t) {
    chain[t].reads = {t};
    chain[t].writes = {t + 1};
  }
  EXPECT_EQ(peak_of(chain, buffers, std::vector<std::uint32_t>{0, 1, 2}), 210U);
}

TEST(Schedule, LargeProgramsAreNotMadeWorse) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Dag dag = random_dag(seed, 80);
    std::vector<std::uint32_t> given(dag.tasks.size());
    std::iota(given.begin(), given.end(), 0U);
    const std::vector<std::uint32_t> found = schedule(dag.tasks, dag.buffers, 32);
    EXPECT_TRUE(can_be_computed(dag, found));
    EXPECT_LE(peak_of(dag.tasks, dag.buffers, found), peak_of(dag.tasks, dag.buffers, given));
    EXPECT_EQ(found, schedule(dag.tasks, dag.buffers, 32));
  }
}

TEST(Schedule, TasksThatKeepTheirOrderDo) {
  for (unsigned seed = 0; seed < tests::seeds(100, 60); ++seed) {
    Dag dag = random_dag(seed, 20);
    Random random(seed);
    for (Task& task : dag.tasks) task.keeps_order = random.below(3);
    const std::vector<std::uint32_t> found = schedule(dag.tasks, dag.buffers);
    EXPECT_TRUE(can_be_computed(dag, found));
    for (const std::uint32_t group : {1U, 2U}) {
      std::uint32_t last = 0;
      for (const std::uint32_t t : found) {
        if (dag.tasks[t].keeps_order != group) continue;
        EXPECT_GE(t, last);
        last = t;
      }
    }
  }
}

// ---- regions ----------------------------------------------------------------------------------------------------

TEST(Regions, WhatFitsGoesToTheFirst) {
  const Region regions[] = {{"dtcm", 100}, {"sram", 1000}};
  const Plan result = checked_plan({block(50, 0, 1), block(50, 1, 2), block(50, 2, 3)}, regions);
  for (const Placement& placement : result.placements) EXPECT_EQ(placement.region, 0U);
  EXPECT_EQ(result.regions[0].peak, 100U);
  EXPECT_EQ(result.regions[1].peak, 0U);
}

TEST(Regions, TheMostUsedBytesStayAndOthersSpill) {
  const Region regions[] = {{"dtcm", 100}, {"sram", 1000}};
  Blocks blocks = {block(80, 0, 9), block(60, 0, 9), block(40, 0, 9), block(80, 10, 10)};
  blocks[1].accesses = 9;
  blocks[2].accesses = 5;
  const Plan result = checked_plan(blocks, regions);
  EXPECT_EQ(result.placements[0].region, 1U);
  EXPECT_EQ(result.placements[1].region, 0U);
  EXPECT_EQ(result.placements[2].region, 0U);
  EXPECT_EQ(result.placements[3].region, 0U);  // when the others are gone there is room again
}

TEST(Regions, BlocksThatBelongSomewhereGoThere) {
  const Region regions[] = {{"dtcm", 100}, {"sram", 1000}};
  Blocks blocks = {block(80, 0, 1), block(80, 0, 1), block(10, 0, 1)};
  blocks[0].accesses = 9;
  blocks[1].region = 0;
  blocks[2].region = 1;
  const Plan result = checked_plan(blocks, regions);
  EXPECT_EQ(result.placements[0].region, 1U);
  EXPECT_EQ(result.placements[1].region, 0U);
  EXPECT_EQ(result.placements[2].region, 1U);
}

TEST(Regions, WhatFitsNowhereIsNamedWithTheShortfall) {
  const Region regions[] = {{"dtcm", 64}, {"sram", 100}};
  Blocks blocks = {block(90, 0, 3), block(30, 2, 4), block(80, 3, 3), block(20, 7, 7)};
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].name = "tensor" + std::to_string(i);
  try {
    plan(blocks, regions);
    FAIL() << "planned what does not fit";
  } catch (const InputError& error) {
    // Small blocks went to dtcm; 90 + 80 bytes remain for 100.
    EXPECT_EQ(error.diagnostic().node, "tensor0");
    EXPECT_NE(error.diagnostic().problem.find("'sram' has 100 bytes"), std::string::npos) << error.what();
    EXPECT_NE(error.diagnostic().problem.find("70 bytes too few"), std::string::npos) << error.what();
    EXPECT_NE(error.diagnostic().advice.find("at least 170 bytes"), std::string::npos) << error.what();
  }
}

TEST(Regions, RandomProgramsGetSoundPlansOrAnError) {
  int planned = 0, refused = 0;
  const unsigned count = tests::seeds(600, 120);
  for (unsigned seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed + 10000);
    Blocks blocks = seed % 2 == 0 ? random_blocks(seed, 20) : random_covers(seed, 20);
    std::vector<Region> regions;
    for (std::uint32_t i = random.between(1, 3); i > 0; --i) {
      regions.push_back({"r" + std::to_string(i), random.between(1, 4000)});
    }
    if (random.below(2) == 0) regions.back().size = Region::kUnlimited;
    for (Block& b : blocks) {
      b.accesses = random.below(10);
      if (random.below(16) == 0) b.region = random.below(static_cast<std::uint32_t>(regions.size()));
    }
    try {
      checked_plan(blocks, regions, kLittle);
      ++planned;
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(planned * 600, 200 * static_cast<int>(count));
  EXPECT_GT(refused * 600, 50 * static_cast<int>(count));
}

TEST(Regions, AreSpelledNameEqualsSize) {
  EXPECT_EQ(parse_memory("sram=512"), (std::vector<Region>{{"sram", 512}}));
  EXPECT_EQ(parse_memory("dtcm=64K,sram=1M,ddr=2G"),
            (std::vector<Region>{{"dtcm", 65536}, {"sram", 1048576}, {"ddr", 2147483648}}));
  for (const char* wrong :
       {"", "sram", "sram=", "=64K", "sram=64k", "sram=64KB", "sram=-1", "sram=0", "sram=1,", ",sram=1",
        "sram=1,sram=2", "s ram=1", "sram=99999999999999999999", "sram=9999999G", "sram=1.5K"}) {
    EXPECT_THROW(parse_memory(wrong), UsageError) << wrong;
  }
}

// ---- the checker ------------------------------------------------------------------------------------------------

// The definition, pair by pair.
bool is_sound(const Blocks& blocks, std::span<const Region> regions, const std::vector<Placement>& placements) {
  for (std::size_t a = 0; a < blocks.size(); ++a) {
    const auto& [region, offset] = placements[a];
    if (region >= regions.size() || offset % blocks[a].alignment != 0) return false;
    if (offset + blocks[a].size > regions[region].size) return false;
    for (std::size_t b = 0; b < a; ++b) {
      const bool same_tick =
          blocks[a].ticks.first <= blocks[b].ticks.last && blocks[b].ticks.first <= blocks[a].ticks.last;
      const bool same_time = blocks[a].first <= blocks[b].last && blocks[b].first <= blocks[a].last && same_tick;
      const bool same_bytes = region == placements[b].region && offset < placements[b].offset + blocks[b].size &&
                              placements[b].offset < offset + blocks[a].size;
      const auto covers = [&](std::size_t cover, std::size_t covered) {
        return blocks[cover].over && blocks[cover].over->block == covered &&
               placements[cover].offset + blocks[cover].over->distance <= placements[covered].offset;
      };
      if (covers(a, b) || covers(b, a)) continue;
      if (same_time && same_bytes && blocks[a].size != 0 && blocks[b].size != 0) return false;
    }
  }
  return true;
}

TEST(Checker, AgreesWithTheDefinitionOnRandomPlacements) {
  const Region regions[] = {{"a", 3000}, {"b", 1500}};
  int sound = 0;
  const unsigned count = tests::seeds(6000, 1200);
  for (unsigned seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Blocks blocks = seed % 3 == 0   ? random_ticks(seed, 6)
                          : seed % 3 == 1 ? random_blocks(seed, 6)
                                          : random_covers(seed, 6);
    std::vector<Placement> placements;
    for (const Block& b : blocks) {
      const std::uint64_t unit = random.below(50) == 0 ? 1 : b.alignment;
      placements.push_back({random.below(2), random.below(2800) / unit * unit});
    }
    const bool expected = is_sound(blocks, regions, placements);
    EXPECT_EQ(!find_violation(blocks, regions, placements), expected);
    sound += expected ? 1 : 0;
  }
  EXPECT_GT(sound * 6000, 500 * static_cast<int>(count));
  EXPECT_LT(sound, 5500);
}

TEST(Checker, RejectsPlansThatAreBrokenOnPurpose) {
  const Region regions[] = {{"sram", 100}, {"dtcm", 50}};
  Blocks blocks = {block(40, 0, 2, 8), block(40, 2, 3, 8), block(20, 3, 5, 4), block(10, 0, 9, 2)};
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].name = std::string(1, static_cast<char>('a' + i));
  blocks[3].region = 1;
  const std::vector<Placement> good = {{0, 0}, {0, 40}, {0, 0}, {1, 0}};
  ASSERT_FALSE(find_violation(blocks, regions, good));
  struct Case {
    std::size_t block;
    Placement placement;
    const char* complaint;
  };
  const Case cases[] = {
      {1, {0, 32}, "overlap"},  // into a's last bytes, at step 2 only
      {1, {0, 0}, "overlap"},   // the same place
      {2, {0, 44}, "overlap"},  // inside b
      {2, {0, 36}, "overlap"},  // across b's beginning
      {0, {0, 4}, "'a'"},       // not a multiple of 8
      {1, {0, 64}, "leaves region 'sram'"},
      {3, {1, 42}, "leaves region 'dtcm'"},
      {3, {0, 90}, "wrong region"},
      {0, {2, 0}, "no region"},
      {0, {0, ~std::uint64_t{7}}, "leaves region"},  // offset and size together overflow
  };
  for (const Case& c : cases) {
    auto placements = good;
    placements[c.block] = c.placement;
    const auto violation = find_violation(blocks, regions, placements);
    ASSERT_TRUE(violation) << c.complaint;
    EXPECT_NE(violation->find(c.complaint), std::string::npos) << *violation;
  }
  EXPECT_TRUE(find_violation(blocks, regions, std::span(good).first(3)));
}

TEST(Checker, RejectsEveryPlanWithABlockMovedOntoANeighbour) {
  for (unsigned seed = 0; seed < tests::seeds(500, 100); ++seed) {
    const Blocks blocks = random_blocks(seed, 20);
    std::vector<Placement> placements = plan(blocks, kAnywhere, kLittle).placements;
    for (std::size_t a = 0; a < blocks.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (blocks[a].size == 0 || blocks[b].size == 0 || !blocks[a].lives_with(blocks[b])) continue;
        const Placement kept = placements[a];
        placements[a] = placements[b];
        EXPECT_TRUE(find_violation(blocks, kAnywhere, placements)) << seed;
        placements[a] = kept;
      }
    }
  }
}

}  // namespace
}  // namespace cormorant::planner
