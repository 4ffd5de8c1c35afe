// SPDX-License-Identifier: Apache-2.0
//
// Eight channels per turn, four to a word. Words may be unaligned here. A single channel whose taps are adjacent takes
// its taps four at a time.
#include "kernels/bytes_dsp.h"
#include "kernels/window_max_words.h"

namespace cormorant {
namespace {

struct Bytes {
  static std::uint32_t load(const std::int8_t* address) { return load_word(address); }
  static void store(std::int8_t* address, std::uint32_t word) { store_word(address, word); }
  static std::uint32_t max(std::uint32_t a, std::uint32_t b) { return max_bytes(a, b); }
  static std::uint32_t at_least(std::uint32_t word, std::uint32_t low) { return max_bytes(word, low); }
  static std::uint32_t at_most(std::uint32_t word, std::uint32_t high) { return min_bytes(word, high); }
};

// Never inlined: it needs the caller's registers.
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
      max_of_two_by_two<Bytes>(w, lows, highs);
      channel = w.channels & ~3U;
    }
    for (; channel + 8 <= w.channels; channel += 8) max_of_eight<Bytes>(w, channel, lows, highs);
    for (; channel + 4 <= w.channels; channel += 4) max_of_four(w, channel, lows, highs);
    for (; channel < w.channels; ++channel) w.output[channel] = max_of_bytes(w, channel, low, high);
  });
}

}  // namespace cormorant
