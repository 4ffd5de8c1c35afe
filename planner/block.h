// SPDX-License-Identifier: Apache-2.0
//
// A tensor as the planner sees it: a block of bytes that is needed from one step to another. Nothing here knows about
// graphs; the caller decides what a step is and which tensors are blocks. Tensors that share all of their memory (a
// view and its base, an in-place result) are one block, alive as long as any of them; one that is contiguous inside
// another (a slice, a piece of a concatenation) is a part of its block; state is a block that is always alive.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace cormorant::planner {

// The next multiple of a power of two.
constexpr std::uint64_t align(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

struct Block {
  static constexpr std::uint32_t kForever = std::numeric_limits<std::uint32_t>::max();

  static constexpr std::uint32_t kAlignment = 16;

  std::uint64_t size = 0;             // bytes
  std::uint32_t first = 0, last = 0;  // the steps at which it holds something, both inclusive
  // Steps can be repeated, tick by tick (a chain of operators that is computed row by row): then the block may be
  // needed for some of the ticks only. Ticks of all such chains are counted one after another.
  struct Ticks {
    std::uint32_t first = 0, last = kForever;  // both inclusive
    friend bool operator==(const Ticks&, const Ticks&) = default;
  };
  Ticks ticks = {};
  std::uint32_t alignment = kAlignment;      // of its offset; a power of two
  std::string name = {};                     // for messages
  std::uint64_t accesses = 1;                // how often a byte of it is read or written
  std::optional<std::uint32_t> region = {};  // the only allowed region

  // This block may cover the beginning of another one, which is needed for the last time at this one's first step: if
  // it begins at least `distance` bytes before it. (An operator overwrites what it has read for the last time.)
  struct Over {
    std::uint32_t block = 0;  // index among the blocks that are planned together
    std::uint64_t distance = 0;
  };
  std::optional<Over> over = {};

  // This block is inside another one, the whole, at a fixed offset. Both may be parts and wholes of more.
  struct Part {
    enum class Kind : std::uint8_t {
      piece,     // written on its own before the whole begins: an operand of a concatenation
      view,      // what the whole holds there, from some step on: a slice
      rewritten  // written over what is there, all of which is needed at this step for the last time
    };
    std::uint32_t whole = 0;  // index among the blocks that are planned together
    std::uint64_t offset = 0;
    Kind kind = Kind::piece;
  };
  std::optional<Part> part = {};

  [[nodiscard]] bool lives_with(const Block& other) const {
    return first <= other.last && other.first <= last && ticks.first <= other.ticks.last &&
           other.ticks.first <= ticks.last;
  }
};

}  // namespace cormorant::planner
