// SPDX-License-Identifier: Apache-2.0
//
// Whether a group's results can overwrite the image that it is fed with.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cormorant::ops::rows {

// The rows of an image, one batch per period. At the tick `start` they are the batch whose first `above` rows are above
// the image.
struct Flow {
  std::int64_t start = 0, period = 1, rows = 0, row_bytes = 0, batch = 1, above = 0;

  [[nodiscard]] constexpr std::int64_t tick_of(std::int64_t row) const {
    return start + period * ((row + above) / batch);
  }
  // How many have been computed by the end of a tick.
  [[nodiscard]] constexpr std::int64_t rows_by(std::int64_t tick) const {
    if (tick < start) return 0;
    return std::min(rows, ((tick - start) / period + 1) * batch - above);
  }
};

// Rows are collected at the end of a tick. Whether each of them, counted from the beginning of the fed image, covers
// only rows that have been fed by then.
constexpr bool may_cover(const Flow& fed, const Flow& collected) {
  for (std::int64_t row = 0; row < collected.rows; ++row) {
    const std::int64_t gone = fed.rows_by(collected.tick_of(row));
    if ((row + 1) * collected.row_bytes > gone * fed.row_bytes) return false;
  }
  return true;
}

}  // namespace cormorant::ops::rows
