// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/window.h"
#include "ops/reduce/reduce.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

// Windows on a grid of two kept groups of dimensions; a third, inside all reduced ones, is the windows' channels.
struct ReducePlan {
  static constexpr std::uint32_t kStateBytes = 52;
  Window first;
  std::uint32_t outer, inner;           // windows
  std::int32_t outer_step, inner_step;  // bytes of input
};

struct MeanPlan {
  static constexpr std::uint32_t kStateBytes = 80;
  ReducePlan windows;
  MeanScale scale;
};

// The same for a window that moves on.
struct MovingMeanPlan {
  static constexpr std::uint32_t kStateBytes = 116;
  ReducePlan windows;   // of the first part that is new
  std::uint32_t fresh;  // parts that are
  std::int32_t step;    // bytes of input from one to the next
  MeanScale scale;
  const void* past;
  const std::int32_t* sums;
  void* next_past;
  std::int32_t* next_sums;
  std::int32_t largest;  // sum, whatever memory holds
  std::uint32_t parts;
  DType dtype;  // of past
};

Error load_mean(Call& call);
Error load_moving_mean(Call& call);
Error load_amax(Call& call);
Error plan_amax(Call& call, DType dtype);  // of elements of this type
// The parts of a moving mean whose arguments fit, with `dtype` as its input's and the windows of the first part; else
// an error, and 0.
std::uint32_t moving_parts(Call& call, const MovingMean<TargetWorld>& args, DType dtype, ReducePlan& windows);
// Elements from one entry along an axis to the next.
std::int32_t step_along(const Tensor& tensor, std::int32_t axis);
Error load_words_mean(Call& call);
Error load_words_moving_mean(Call& call);
Error load_words_amax(Call& call);

// Only the first entries of one dimension instead of all; of no dimension: all.
struct Part {
  std::int32_t axis = -1;
  std::int32_t entries = 0;
};

// Steps and channels count elements of this type.
void plan_windows(Call& call, const Tensor& input, const IntList& dims, const Tensor& out, DType dtype,
                  ReducePlan& plan, Part part = {});

template <class Reduce>
inline void for_each_reduced(const ReducePlan& p, Reduce reduce) {
  Window window = p.first;
  for (std::uint32_t i = 0; i < p.outer; ++i) {
    window.input = p.first.input + static_cast<std::int32_t>(i) * p.outer_step;
    for (std::uint32_t j = 0; j < p.inner; ++j, window.input += p.inner_step, window.output += window.channels) {
      reduce(window);
    }
  }
}

template <Loops kLoops>
void execute_mean(const void* plan) {
  const auto& p = *static_cast<const MeanPlan*>(plan);
  for_each_reduced(p.windows, [&](const Window& window) { window_mean<kLoops>(window, p.scale); });
}

// The sum of every window's taps, channel by channel; each window's sums follow the previous one's.
template <class Sum>
inline void sum_windows(const ReducePlan& windows, Sum* sums) {
  for_each_reduced(windows, [&](const Window& w) {
    for (std::uint32_t c = 0; c < w.channels; ++c) sums[c] = 0;
    const std::int8_t* row = w.input;
    for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
      const std::int8_t* tap = row;
      for (std::uint32_t x = w.columns; x != 0; --x, tap += w.column_step) {
        for (std::uint32_t c = 0; c < w.channels; ++c) sums[c] = static_cast<Sum>(sums[c] + tap[c]);
      }
    }
    sums += w.channels;
  });
}

template <class Sum>
inline void move_mean(const MovingMeanPlan& p) {
  const std::uint32_t results = p.windows.outer * p.windows.inner * p.windows.first.channels;
  if (p.next_past != p.past) __builtin_memcpy(p.next_past, p.past, sizeof(Sum) * p.parts * results);
  if (p.next_sums != p.sums) __builtin_memcpy(p.next_sums, p.sums, sizeof(std::int32_t) * (results + 1));
  std::int32_t* const sums = p.next_sums;
  const auto add = [&](std::uint32_t k, std::uint32_t what) {
    sums[k] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[k]) + what);
  };
  // Writable memory may hold anything: the index is forced inside, and sums that wrap are bounded afterwards.
  const auto stored = static_cast<std::uint32_t>(sums[results]);
  std::uint32_t oldest = stored < p.parts ? stored : 0;
  ReducePlan windows = p.windows;
  for (std::uint32_t left = p.fresh; left != 0; --left, windows.first.input += p.step) {
    Sum* const part = static_cast<Sum*>(p.next_past) + oldest * results;
    for (std::uint32_t k = 0; k < results; ++k) add(k, 0U - static_cast<std::uint32_t>(std::int32_t{part[k]}));
    sum_windows(windows, part);
    for (std::uint32_t k = 0; k < results; ++k) add(k, static_cast<std::uint32_t>(std::int32_t{part[k]}));
    oldest = oldest + 1 == p.parts ? 0 : oldest + 1;
  }
  std::int8_t* const out = p.windows.first.output;
  for (std::uint32_t k = 0; k < results; ++k) {
    out[k] = static_cast<std::int8_t>(mean_of(clamp(sums[k], -p.largest, p.largest), p.scale));
  }
  sums[results] = static_cast<std::int32_t>(oldest);
}

inline void execute_moving_mean(const void* plan) {
  const auto& p = *static_cast<const MovingMeanPlan*>(plan);
  if (p.dtype == DType::i8) return move_mean<std::int8_t>(p);
  if (p.dtype == DType::i16) return move_mean<std::int16_t>(p);
  move_mean<std::int32_t>(p);
}

template <Loops kLoops>
void execute_amax(const void* plan) {
  for_each_reduced(*static_cast<const ReducePlan*>(plan),
                   [](const Window& window) { window_max<kLoops>(window, -128, 127); });
}

}  // namespace cormorant::ops
