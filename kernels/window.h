// SPDX-License-Identifier: Apache-2.0
//
// One result of a pooling or reduction: taps on a grid of rows and columns, each tap `channels` consecutive bytes,
// combined channel by channel. A channels-last tensor pools like this, and so does a mean over any dimensions of any
// tensor: the dimensions inside the reduced ones are its channels.
#pragma once

#include <cstdint>

#include "kernels/linear_requantize.h"
#include "kernels/loops.h"

namespace cormorant {

struct Window {
  const std::int8_t* input;
  std::int8_t* output;  // `channels` bytes, at any address
  std::uint32_t rows;
  std::uint32_t columns;
  std::int32_t row_step;  // bytes from a tap to the same one in the next row
  std::int32_t column_step;
  std::uint32_t channels;
  // For maxima: `more` windows of the same kind follow, each one's input `next` bytes further, their outputs adjacent.
  std::uint32_t more = 0;
  std::int32_t next = 0;
};

// Calls pool(window) for this one and all that follow: a row of a pooling is one kernel call. Each is a copy, which the
// written bytes cannot change.
template <class Pool>
inline void for_each_following(const Window& first, Pool pool) {
  Window window = first;
  for (std::uint32_t left = first.more;; --left) {
    const Window one = window;
    pool(one);
    if (left == 0) return;
    window.input += window.next;
    window.output += window.channels;
  }
}

// Rows that follow each other like columns become one long row.
inline void join_rows(Window& window) {
  if (window.row_step != static_cast<std::int32_t>(window.columns) * window.column_step) return;
  window.columns *= window.rows;
  window.rows = 1;
}

// The largest tap, at least low and at most high; low if there are no taps.
void window_max_scalar(const Window& window, std::int32_t low, std::int32_t high);
void window_max_dsp(const Window& window, std::int32_t low, std::int32_t high);
void window_max_mve(const Window& window, std::int32_t low, std::int32_t high);
template <Loops kLoops>
inline constexpr auto* window_max = kLoops == Loops::mve   ? window_max_mve
                                    : kLoops == Loops::dsp ? window_max_dsp
                                                           : window_max_scalar;

// From a sum of taps to a mean in other quantization parameters. The sum's distance to `taps` times the input's zero
// point, multiplied by input scale / (output scale · divisor), is rounded to nearest: first shifted to the top of 31
// bits (left), so that the high half of the product keeps all but the last bits of the fraction, then shifted back
// (right). The compiler rounds multipliers up, so that exact halves, frequent when dividing by 6, round away from zero.
struct MeanScale {
  std::int32_t offset;  // −taps · input zero point
  std::int32_t multiplier;
  std::int32_t left;
  std::int32_t right;  // at least 1
  std::int32_t low;    // bounds of the result, less its zero point
  std::int32_t high;
  std::int32_t zero_point;
};

constexpr std::int32_t mean_of(std::int32_t sum, const MeanScale& scale) {
  const std::int32_t distance = shift_left(sum + scale.offset, scale.left);  // below 2^30
  return clamp(requantize_simply(distance, scale.multiplier, -scale.right), scale.low, scale.high) + scale.zero_point;
}

inline constexpr std::uint32_t kLargestMeanWindow = 1U << 22;  // taps, so that sums and offsets stay below 2^30

// Whether the distance of so many taps, at most kLargestMeanWindow, stays below 2^30 when it is shifted left.
constexpr bool fits_mean(std::uint32_t taps, std::int32_t left) {
  return left >= 0 && left < 31 && 255 * taps <= (std::uint32_t{1} << 30) >> left;
}

void window_mean_scalar(const Window& window, const MeanScale& scale);
void window_mean_dsp(const Window& window, const MeanScale& scale);
void window_mean_mve(const Window& window, const MeanScale& scale);
template <Loops kLoops>
inline constexpr auto* window_mean = kLoops == Loops::mve   ? window_mean_mve
                                     : kLoops == Loops::dsp ? window_mean_dsp
                                                            : window_mean_scalar;

// Sums of bytes fit 16-bit lanes up to this many taps. add(tap, count) is called for pieces of rows, flush() after as
// many taps as a lane holds, and at the end.
inline constexpr std::uint32_t kTapsPerLane = 256;

template <class Add, class Flush>
inline void add_in_lanes(const Window& w, std::uint32_t channel, Add add, Flush flush) {
  const std::int8_t* row = w.input + channel;
  std::uint32_t room = kTapsPerLane;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    for (std::uint32_t left = w.columns; left != 0;) {
      const std::uint32_t count = left < room ? left : room;
      tap = add(tap, count);
      left -= count;
      room -= count;
      if (room == 0) {
        flush();
        room = kTapsPerLane;
      }
    }
  }
  flush();
}

}  // namespace cormorant
