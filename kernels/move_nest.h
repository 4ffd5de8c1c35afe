// SPDX-License-Identifier: Apache-2.0
//
// Moving a tensor's elements is a nest of loops over the output's memory, with any steps through the input: a
// permutation has the input's strides in another order, a slice multiples of them, an expansion zero, a flip negative
// ones. Loading simplifies the nest (ops/load/move_plan.h). What is left inside is a *tile* of rows and columns, byte
// by byte: rows are runs of contiguous bytes (columns step by 1 in the input), or of one byte (columns step by 0), or
// the tile is a real transposition (rows step by 1 in the input), or bytes are gathered with a step.
#pragma once

#include <cstdint>

#include "kernels/loops.h"

namespace cormorant {

struct MoveTile {
  std::int32_t rows;
  std::int32_t columns;  // contiguous in the output
  std::int32_t row_step_in;
  std::int32_t row_step_out;
  std::int32_t column_step_in;
};

struct MoveLoop {
  static constexpr std::uint32_t kStateBytes = 12;
  std::int32_t count;
  std::int32_t step_in;
  std::int32_t step_out;
};

inline constexpr int kMaxMoveLoops = 7;  // six dimensions and the bytes of an element

struct MovePlan {
  static constexpr std::uint32_t kStateBytes = 32;
  const std::int8_t* input;
  std::int8_t* output;
  MoveTile tile;
  std::int32_t loop_count;
  // followed by loop_count MoveLoops, outermost first
  [[nodiscard]] const MoveLoop* loops() const { return reinterpret_cast<const MoveLoop*>(this + 1); }
};

void move_nest_scalar(const MovePlan& plan);
void move_nest_dsp(const MovePlan& plan);
void move_nest_mve(const MovePlan& plan);

// The kernel of every operator whose load leaves a MovePlan; the host's is in ops/host/move_reference.h.
template <Loops kLoops>
void execute_move(const void* plan) {
  constexpr auto* move = kLoops == Loops::mve ? move_nest_mve : kLoops == Loops::dsp ? move_nest_dsp : move_nest_scalar;
  move(*static_cast<const MovePlan*>(plan));
}

using MoveOneTile = void (*)(const MoveTile& tile, std::int8_t* output, const std::int8_t* input);

// Calls move for every position of the outer loops. Never inlined: it is the same for all callers, and compilers'
// inlined code is three times as large.
[[gnu::noinline]] inline void for_each_tile(const MovePlan& p, MoveOneTile move) {
  const MoveLoop* loops = p.loops();
  std::int32_t counters[kMaxMoveLoops];
  std::int32_t* at = counters;
  asm("" : "+r"(at));  // knowing that there are at most seven, compilers would unroll the loops below
  for (std::int32_t i = 0; i < p.loop_count; ++i) at[i] = loops[i].count;
  const std::int8_t* input = p.input;
  std::int8_t* output = p.output;
  for (;;) {
    move(p.tile, output, input);
    std::int32_t level = p.loop_count - 1;
    for (; level >= 0; --level) {
      const MoveLoop& loop = loops[level];
      input += loop.step_in;
      output += loop.step_out;
      if (--at[level] != 0) break;
      at[level] = loop.count;
      input -= loop.step_in * loop.count;
      output -= loop.step_out * loop.count;
    }
    if (level < 0) return;
  }
}

}  // namespace cormorant
