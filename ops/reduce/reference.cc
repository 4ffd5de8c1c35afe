// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/host/references.h"
#include "ops/reduce/float.h"
#include "ops/reduce/kernel.h"

namespace cormorant {
namespace {

// reduce(value of the input) for all taps of one channel.
template <class Reduce>
void for_each_tap(const Window& w, std::uint32_t channel, Reduce reduce) {
  for (std::int32_t y = 0; y < static_cast<std::int32_t>(w.rows); ++y) {
    for (std::int32_t x = 0; x < static_cast<std::int32_t>(w.columns); ++x) {
      reduce((w.input + channel)[y * w.row_step + x * w.column_step]);
    }
  }
}

void mean_of_taps(const Window& w, const MeanScale& scale) {
  for (std::uint32_t c = 0; c < w.channels; ++c) {
    std::int32_t sum = 0;
    for_each_tap(w, c, [&](std::int8_t value) { sum += value; });
    w.output[c] = static_cast<std::int8_t>(mean_of(sum, scale));
  }
}

void largest_tap(const Window& w, std::int32_t low, std::int32_t high) {
  for (std::uint32_t c = 0; c < w.channels; ++c) {
    std::int32_t largest = low;
    for_each_tap(w, c, [&](std::int8_t value) { largest = std::max<std::int32_t>(largest, value); });
    w.output[c] = static_cast<std::int8_t>(std::min(largest, high));
  }
}

}  // namespace

template <>
inline constexpr auto* window_mean<Loops::reference> = mean_of_taps;
template <>
inline constexpr auto* window_max<Loops::reference> = largest_tap;

namespace ops {

CORMORANT_REFERENCES(reduce, CORMORANT_REDUCE_KERNELS)

}  // namespace ops
}  // namespace cormorant
