// SPDX-License-Identifier: Apache-2.0
//
// Blocks that are inside others: random programs of slices, concatenations and operators that work in place are
// planned, and then executed on bytes that each say which tensor they belong to.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "planner/check.h"
#include "planner/plan.h"
#include "tests/check.h"

namespace cormorant::planner {
namespace {

using Kind = Block::Part::Kind;
using Blocks = std::vector<Block>;

struct Value {
  std::vector<int> bytes;  // what it holds; no two values hold the same unless one is a part of the other
  std::uint32_t made_at = 0;
  bool is_piece = false, is_closed = false;  // it has been overwritten
};

// A program of as many steps as there are writes. Blocks and values have the same indices.
struct Program {
  Blocks blocks;
  std::vector<Value> values;
  std::vector<std::vector<std::uint32_t>> reads;  // per step
  std::vector<std::uint32_t> writes;              // per step

  explicit Program(unsigned seed) : random_(seed) {
    const std::uint32_t steps = 3 + below(20);
    for (std::uint32_t step = 0; step < steps; ++step) {
      reads.emplace_back();
      for (std::uint32_t i = below(3); i-- > 0 && !values.empty();) read(below(count()));
      if (below(5) == 0 && rewrite()) continue;
      write(add(4 * (1 + below(60)), step));
      if (below(3) == 0) slice(below(count()));
      if (below(3) == 0) join();
    }
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(values.size()); }
  [[nodiscard]] std::uint32_t now() const { return static_cast<std::uint32_t>(reads.size() - 1); }

  std::uint32_t add(std::uint64_t size, std::uint32_t first) {
    blocks.push_back({.size = size, .first = first, .last = first, .alignment = 16, .name = std::to_string(count())});
    values.push_back({std::vector<int>(size), first});
    return count() - 1;
  }
  void make_part(std::uint32_t part, std::uint32_t whole, std::uint64_t offset, Kind kind) {
    blocks[part].part = {whole, offset, kind};
    blocks[part].alignment = 4;
  }
  void write(std::uint32_t value) {
    for (int& byte : values[value].bytes) byte = ++made_;
    writes.push_back(value);
  }
  void read(std::uint32_t value) {
    if (values[value].is_closed) return;
    reads.back().push_back(value);
    blocks[value].last = now();
  }
  void slice(std::uint32_t whole) {
    if (values[whole].is_closed) return;
    const auto words = static_cast<std::uint32_t>(blocks[whole].size / 4);
    const std::uint32_t offset = 4 * below(words), size = 4 * (1 + below(words - offset / 4));
    const std::uint32_t part = add(size, values[whole].made_at);
    make_part(part, whole, offset, Kind::view);
    std::copy_n(values[whole].bytes.begin() + offset, size, values[part].bytes.begin());
  }
  void join() {
    std::vector<std::uint32_t> pieces;
    for (std::uint32_t i = 0; i < 2 + below(2); ++i) {
      const std::uint32_t piece = below(count());
      const bool is_free = !blocks[piece].part && !values[piece].is_closed;
      if (is_free && std::ranges::count(pieces, piece) == 0) pieces.push_back(piece);
    }
    if (pieces.empty()) return;
    std::uint32_t first = 0;
    std::uint64_t size = 0;
    for (const std::uint32_t piece : pieces) {
      first = std::max(first, values[piece].made_at);
      size += blocks[piece].size;
    }
    const std::uint32_t whole = add(size, first);
    std::uint64_t offset = 0;
    for (const std::uint32_t piece : pieces) {
      make_part(piece, whole, offset, Kind::piece);
      blocks[piece].last = std::max(blocks[piece].last, first);
      std::ranges::copy(values[piece].bytes, values[whole].bytes.begin() + static_cast<std::ptrdiff_t>(offset));
      offset += blocks[piece].size;
    }
    blocks[whole].alignment = 16;
  }
  // Over something that this step reads, with all that is there.
  bool rewrite() {
    if (reads.back().empty()) return false;
    const std::uint32_t over = reads.back().front();
    const std::vector<Anchor> anchors = anchors_of(blocks);
    const auto begin = [&](std::uint32_t i) { return anchors[i].offset; };
    for (std::uint32_t i = 0; i < count(); ++i) {
      const bool meets = anchors[i].block == anchors[over].block && begin(i) < begin(over) + blocks[over].size &&
                         begin(over) < begin(i) + blocks[i].size;
      if (meets) values[i].is_closed = true;
    }
    const std::uint32_t part = add(blocks[over].size, now());
    make_part(part, over, 0, Kind::rewritten);
    write(part);
    return true;
  }

  std::mt19937 random_;
  int made_ = 0;
};

TEST(Parts, RandomProgramsFindTheirBytesWhereTheyPutThem) {
  int parts = 0, tight = 0;
  const unsigned count = tests::seeds(800, 160);
  for (unsigned seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    const Program program(seed);
    const Region regions[] = {{"fast", 600}, {"slow"}};
    const std::span<const Region> used = std::span(regions).subspan(seed % 2);
    const Plan result = plan(program.blocks, used, {2'000, 0});
    const auto violation = find_violation(program.blocks, used, result.placements);
    ASSERT_FALSE(violation) << *violation;
    for (std::size_t r = 0; r < used.size(); ++r) EXPECT_GE(result.regions[r].peak, result.regions[r].lower_bound);
    tight += result.regions.back().peak == result.regions.back().lower_bound ? 1 : 0;

    std::map<std::pair<std::uint32_t, std::uint64_t>, int> memory;
    for (std::size_t step = 0; step < program.reads.size(); ++step) {
      for (const std::uint32_t read : program.reads[step]) {
        const auto& [region, offset] = result.placements[read];
        const std::vector<int>& bytes = program.values[read].bytes;
        for (std::size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ((memory[{region, offset + i}]), bytes[i]) << read;
      }
      const std::uint32_t written = program.writes[step];
      const auto& [region, offset] = result.placements[written];
      const std::vector<int>& bytes = program.values[written].bytes;
      for (std::size_t i = 0; i < bytes.size(); ++i) memory[{region, offset + i}] = bytes[i];
    }
    parts += static_cast<int>(std::ranges::count_if(program.blocks, [](const Block& b) { return b.part.has_value(); }));
  }
  EXPECT_GT(parts * 800, 2500 * static_cast<int>(count));
  EXPECT_GT(tight * 800, 250 * static_cast<int>(count));
}

Block block(std::uint64_t size, std::uint32_t first, std::uint32_t last) {
  return {.size = size, .first = first, .last = last, .alignment = 4, .name = "b"};
}
Block part(Block b, std::uint32_t whole, std::uint64_t offset, Kind kind) {
  b.part = {whole, offset, kind};
  return b;
}

TEST(Parts, WaitForTheirWholeOutsideOfWhichThereIsRoom) {
  // Two pieces; while the first is there alone, something else may be where the second will be.
  const Blocks blocks = {block(80, 2, 3), part(block(40, 0, 2), 0, 0, Kind::piece),
                         part(block(40, 2, 2), 0, 40, Kind::piece), block(40, 0, 1)};
  const Plan result = plan(blocks);
  EXPECT_EQ(result.regions[0].peak, 80U);
  EXPECT_TRUE(result.regions[0].optimal);
}

TEST(Parts, TheCheckerKnowsWhoMayShare) {
  const Region anywhere[] = {Region{}};
  const struct {
    const char* what;
    bool sound;
    Blocks blocks;
    std::vector<std::uint64_t> offsets;
  } table[] = {
      {"pieces side by side",
       true,
       {block(16, 1, 2), part(block(8, 0, 1), 0, 0, Kind::piece), part(block(8, 1, 1), 0, 8, Kind::piece)},
       {0, 0, 8}},
      {"a piece elsewhere",
       false,
       {block(16, 1, 2), part(block(8, 0, 1), 0, 0, Kind::piece), part(block(8, 1, 1), 0, 8, Kind::piece)},
       {0, 0, 4}},
      {"pieces on each other",
       false,
       {block(16, 1, 2), part(block(8, 0, 1), 0, 0, Kind::piece), part(block(8, 1, 1), 0, 4, Kind::piece)},
       {0, 0, 4}},
      {"a piece that is given up before the whole begins",
       false,
       {block(16, 2, 3), part(block(8, 0, 1), 0, 0, Kind::piece), part(block(8, 2, 2), 0, 8, Kind::piece)},
       {0, 0, 8}},
      {"views on each other",
       true,
       {block(16, 0, 0), part(block(8, 0, 3), 0, 0, Kind::view), part(block(8, 0, 2), 0, 4, Kind::view)},
       {0, 0, 4}},
      {"a view on a piece",
       true,
       {block(16, 1, 1), part(block(16, 0, 4), 0, 0, Kind::piece), part(block(8, 1, 3), 0, 4, Kind::view)},
       {0, 0, 4}},
      {"a view that leaves the whole", false, {block(16, 0, 0), part(block(8, 0, 3), 0, 12, Kind::view)}, {0, 12}},
      {"a view of what is gone", false, {block(16, 0, 1), part(block(8, 2, 3), 0, 0, Kind::view)}, {0, 0}},
      {"rewritten at the end",
       true,
       {block(16, 0, 2), part(block(8, 0, 2), 0, 0, Kind::view), part(block(8, 2, 3), 1, 0, Kind::rewritten)},
       {0, 0, 0}},
      {"rewritten while the whole is needed",
       false,
       {block(16, 0, 3), part(block(8, 0, 2), 0, 0, Kind::view), part(block(8, 2, 3), 1, 0, Kind::rewritten)},
       {0, 0, 0}},
      {"rewritten while another view is needed",
       false,
       {block(16, 0, 0), part(block(8, 0, 2), 0, 0, Kind::view), part(block(8, 2, 3), 1, 0, Kind::rewritten),
        part(block(8, 0, 3), 0, 4, Kind::view)},
       {0, 0, 0, 4}},
      {"rewritten beside another view",
       true,
       {block(16, 0, 0), part(block(8, 0, 2), 0, 0, Kind::view), part(block(8, 2, 3), 1, 0, Kind::rewritten),
        part(block(8, 0, 3), 0, 8, Kind::view)},
       {0, 0, 0, 8}},
      {"a stranger in a part whose whole is gone",
       false,
       {block(16, 0, 0), part(block(8, 0, 3), 0, 8, Kind::view), block(8, 2, 2)},
       {0, 8, 12}},
      {"a stranger where no part is left",
       true,
       {block(16, 0, 0), part(block(8, 0, 3), 0, 8, Kind::view), block(8, 2, 2)},
       {0, 8, 0}},
      {"a part of itself", false, {part(block(16, 0, 1), 0, 0, Kind::view)}, {0}},
  };
  for (const auto& [what, sound, blocks, offsets] : table) {
    std::vector<Placement> placements;
    for (const std::uint64_t offset : offsets) placements.push_back({0, offset});
    EXPECT_EQ(!find_violation(blocks, anywhere, placements), sound) << what;
  }
}

}  // namespace
}  // namespace cormorant::planner
