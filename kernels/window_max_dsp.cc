// SPDX-License-Identifier: Apache-2.0
//
// Eight channels per turn, four to a word. Words may be unaligned here. A single channel whose taps are adjacent takes
// its taps four at a time.
#include "kernels/bytes_dsp.h"
#include "kernels/window.h"

namespace cormorant {
namespace {

// Four or eight channels. Never inlined: they need the caller's registers.
[[gnu::noinline]] void max_of_four(const Window& w, std::uint32_t channel, std::uint32_t low, std::uint32_t high) {
  std::uint32_t largest = low;
  const std::int8_t* row = w.input + channel;
  const std::int32_t step = w.column_step;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    for (std::uint32_t x = w.columns; x != 0; --x, tap += step) largest = max_bytes(largest, load_word(tap));
  }
  store_word(w.output + channel, min_bytes(largest, high));
}

[[gnu::noinline]] void max_of_eight(const Window& w, std::uint32_t channel, std::uint32_t low, std::uint32_t high) {
  std::uint32_t largest = low, later = low;
  const std::int8_t* row = w.input + channel;
  const std::int32_t step = w.column_step;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    for (std::uint32_t x = w.columns; x != 0; --x, tap += step) {
      largest = max_bytes(largest, load_word(tap));
      later = max_bytes(later, load_word(tap + 4));
    }
  }
  store_word(w.output + channel, min_bytes(largest, high));
  store_word(w.output + channel + 4, min_bytes(later, high));
}

// The most common window: two taps by two, read together in one walk over the channels.
void max_of_two_by_two(const Window& w, std::uint32_t low, std::uint32_t high) {
  const std::int8_t* a = w.input;
  const std::int8_t* b = a + w.column_step;
  const std::int8_t* c = a + w.row_step;
  const std::int8_t* d = b + w.row_step;
  std::int8_t* to = w.output;
  for (std::uint32_t left = w.channels / 4; left != 0; --left, a += 4, b += 4, c += 4, d += 4, to += 4) {
    const std::uint32_t above = max_bytes(load_word(a), load_word(b));
    const std::uint32_t below = max_bytes(load_word(c), load_word(d));
    store_word(to, min_bytes(max_bytes(max_bytes(above, below), low), high));
  }
}

inline std::int8_t max_of_bytes(const Window& w, std::uint32_t channel, std::int32_t low, std::int32_t high) {
  std::int32_t largest = low;
  const std::int8_t* row = w.input + channel;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    for (std::uint32_t x = w.columns; x != 0; --x, tap += w.column_step) largest = *tap > largest ? *tap : largest;
  }
  return static_cast<std::int8_t>(largest > high ? high : largest);
}

// Adjacent taps.
inline std::int8_t max_of_runs(const Window& w, std::int32_t low, std::int32_t high) {
  std::uint32_t largest = in_all_bytes(low);
  std::int32_t rest = low;
  const std::int8_t* row = w.input;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    std::uint32_t x = w.columns;
    for (; x >= 4; x -= 4, tap += 4) largest = max_bytes(largest, load_word(tap));
    for (; x != 0; --x, ++tap) rest = *tap > rest ? *tap : rest;
  }
  largest = max_bytes(largest, largest >> 16 | largest << 16);
  largest = max_bytes(largest, largest >> 8 | largest << 24);
  const auto of_words = static_cast<std::int8_t>(largest);
  rest = of_words > rest ? of_words : rest;
  return static_cast<std::int8_t>(rest > high ? high : rest);
}

}  // namespace

void window_max_dsp(const Window& window, std::int32_t low, std::int32_t high) {
  Window row = window;
  const bool is_two_by_two = row.rows == 2 && row.columns == 2;
  if (!is_two_by_two) join_rows(row);
  if (row.channels == 1 && row.column_step == 1) {
    return for_each_following(row, [&](const Window& w) { *w.output = max_of_runs(w, low, high); });
  }
  const std::uint32_t lows = in_all_bytes(low);
  const std::uint32_t highs = in_all_bytes(high);
  for_each_following(row, [&](const Window& w) {
    std::uint32_t channel = 0;
    if (is_two_by_two) {
      max_of_two_by_two(w, lows, highs);
      channel = w.channels & ~3U;
    }
    for (; channel + 8 <= w.channels; channel += 8) max_of_eight(w, channel, lows, highs);
    for (; channel + 4 <= w.channels; channel += 4) max_of_four(w, channel, lows, highs);
    for (; channel < w.channels; ++channel) w.output[channel] = max_of_bytes(w, channel, low, high);
  });
}

}  // namespace cormorant
