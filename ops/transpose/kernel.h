// SPDX-License-Identifier: Apache-2.0
//
// Any transposition is a nest of loops over the output. Loading sorts it out: dimensions that stay together are one,
// those of size 1 vanish, an element of several bytes is one more dimension. What is left inside is a *tile* of rows
// and columns, byte by byte: either rows are runs of contiguous bytes (columns step by 1 in the input), or the tile is
// a real transposition (rows step by 1 in the input). NCHW <-> NHWC is a single tile per image.
#pragma once

#include "ops/transpose/transpose.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct TransposeTile {
  std::int32_t rows;
  std::int32_t columns;      // contiguous in the output
  std::int32_t row_step_in;  // 1 unless column_step_in is
  std::int32_t row_step_out;
  std::int32_t column_step_in;
};

struct TransposeLoop {
  std::int32_t count;
  std::int32_t step_in;
  std::int32_t step_out;
};

struct TransposePlan {
  const std::int8_t* input;
  std::int8_t* output;
  TransposeTile tile;
  std::int32_t loop_count;
  // followed by loop_count TransposeLoops, outermost first
  [[nodiscard]] const TransposeLoop* loops() const { return reinterpret_cast<const TransposeLoop*>(this + 1); }
};

Error load_transpose(Call& call);

// Calls tile(output, input) for every position of the outer loops.
template <class Tile>
inline void for_each_tile(const TransposePlan& p, Tile tile) {
  const TransposeLoop* loops = p.loops();
  std::int32_t at[kMaxRank] = {};
  const std::int8_t* input = p.input;
  std::int8_t* output = p.output;
  for (;;) {
    tile(output, input);
    std::int32_t level = p.loop_count - 1;
    for (; level >= 0; --level) {
      const TransposeLoop& loop = loops[level];
      input += loop.step_in;
      output += loop.step_out;
      if (++at[level] < loop.count) break;
      input -= loop.step_in * loop.count;
      output -= loop.step_out * loop.count;
      at[level] = 0;
    }
    if (level < 0) return;
  }
}

}  // namespace cormorant::ops
