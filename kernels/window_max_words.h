// SPDX-License-Identifier: Apache-2.0
//
// Maxima of windows by words of four channels, for instruction sets without vectors. Bytes says how words are loaded,
// stored, compared and bounded there.
#pragma once

#include "kernels/window.h"

namespace cormorant {

// Never inlined: it needs the caller's registers. An array of two words would be kept in memory (gcc 12).
template <class Bytes>
[[gnu::noinline]] void max_of_eight(const Window& w, std::uint32_t channel, std::uint32_t low, std::uint32_t high) {
  std::uint32_t largest = low, later = low;
  const std::int8_t* row = w.input + channel;
  const std::int32_t step = w.column_step;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    for (std::uint32_t x = w.columns; x != 0; --x, tap += step) {
      largest = Bytes::max(largest, Bytes::load(tap));
      later = Bytes::max(later, Bytes::load(tap + 4));
    }
  }
  Bytes::store(w.output + channel, Bytes::at_most(largest, high));
  Bytes::store(w.output + channel + 4, Bytes::at_most(later, high));
}

// The most common window: two taps by two, read together in one walk over the channels.
template <class Bytes>
inline void max_of_two_by_two(const Window& w, std::uint32_t low, std::uint32_t high) {
  const std::int8_t* a = w.input;
  const std::int8_t* b = a + w.column_step;
  const std::int8_t* c = a + w.row_step;
  const std::int8_t* d = b + w.row_step;
  std::int8_t* to = w.output;
  for (std::uint32_t left = w.channels / 4; left != 0; --left, a += 4, b += 4, c += 4, d += 4, to += 4) {
    const std::uint32_t above = Bytes::max(Bytes::load(a), Bytes::load(b));
    const std::uint32_t below = Bytes::max(Bytes::load(c), Bytes::load(d));
    Bytes::store(to, Bytes::at_most(Bytes::at_least(Bytes::max(above, below), low), high));
  }
}

}  // namespace cormorant
