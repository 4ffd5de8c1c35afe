// SPDX-License-Identifier: Apache-2.0
//
// Whether what a group collects can take the place of what it is fed with.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cormorant::ops::rows {

// The rows of an image, one per period, from a tick on.
struct Flow {
  std::int64_t start = 0, period = 1, rows = 0, row_bytes = 0;
};

// Rows are collected at the end of a tick. Whether each of them, from the beginning of the image that is fed on, is
// where all rows have been fed by then.
constexpr bool may_cover(const Flow& fed, const Flow& collected) {
  for (std::int64_t row = 0; row < collected.rows; ++row) {
    const std::int64_t tick = collected.start + collected.period * row;
    const std::int64_t gone = tick < fed.start ? 0 : std::min(fed.rows, (tick - fed.start) / fed.period + 1);
    if ((row + 1) * collected.row_bytes > gone * fed.row_bytes) return false;
  }
  return true;
}

}  // namespace cormorant::ops::rows
