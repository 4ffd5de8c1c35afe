// SPDX-License-Identifier: Apache-2.0
//
// One result of a pooling or reduction: taps that lie on a grid of rows and columns, each tap `channels` consecutive
// bytes, combined channel by channel. A tensor in channels-last order pools like this, and so does a mean over any
// dimensions of any tensor: what is inside the reduced dimensions are its channels.
#pragma once

#include <cstdint>

#include "base/fixed_point.h"

namespace cormorant {

struct Window {
  const std::int8_t* input;
  std::int8_t* output;  // `channels` bytes, at any address
  std::uint32_t rows;
  std::uint32_t columns;
  std::int32_t row_step;  // bytes from a tap to the same one a row further
  std::int32_t column_step;
  std::uint32_t channels;
};

// Rows that follow each other like columns are one long row.
inline void join_rows(Window& window) {
  if (window.row_step != static_cast<std::int32_t>(window.columns) * window.column_step) return;
  window.columns *= window.rows;
  window.rows = 1;
}

// The largest tap, at least low and at most high; low where there are no taps.
void window_max_scalar(const Window& window, std::int32_t low, std::int32_t high);
void window_max_dsp(const Window& window, std::int32_t low, std::int32_t high);
void window_max_mve(const Window& window, std::int32_t low, std::int32_t high);

}  // namespace cormorant
