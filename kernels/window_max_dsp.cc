// SPDX-License-Identifier: Apache-2.0
//
// Eight channels per turn: SSUB8 leaves in the GE flags which bytes are not less, SEL takes one or the other by them.
// Words may be unaligned here. A single channel whose taps lie side by side takes its taps four at a time.
#include "kernels/window.h"

namespace cormorant {
namespace {

inline std::uint32_t load_word(const std::int8_t* address) {
  std::uint32_t word;
  __builtin_memcpy(&word, address, sizeof word);
  return word;
}

inline std::uint32_t max_bytes(std::uint32_t a, std::uint32_t b) {
  std::uint32_t unused;
  asm("ssub8 %[unused], %[a], %[b]\n"
      "sel %[a], %[a], %[b]\n"
      : [a] "+r"(a), [unused] "=&r"(unused)
      : [b] "r"(b)
      : "cc");
  return a;
}

inline std::uint32_t min_bytes(std::uint32_t a, std::uint32_t b) {
  std::uint32_t unused;
  asm("ssub8 %[unused], %[a], %[b]\n"
      "sel %[a], %[b], %[a]\n"
      : [a] "+r"(a), [unused] "=&r"(unused)
      : [b] "r"(b)
      : "cc");
  return a;
}

inline std::uint32_t in_all_bytes(std::int32_t value) { return static_cast<std::uint8_t>(value) * 0x01010101U; }

// 4 · kWords channels.
template <std::uint32_t kWords>
inline void max_of_words(const Window& w, std::uint32_t channel, std::uint32_t low, std::uint32_t high) {
  std::uint32_t largest[kWords];
  for (std::uint32_t& word : largest) word = low;
  const std::int8_t* row = w.input + channel;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    for (std::uint32_t x = w.columns; x != 0; --x, tap += w.column_step) {
      for (std::uint32_t i = 0; i < kWords; ++i) largest[i] = max_bytes(largest[i], load_word(tap + 4 * i));
    }
  }
  for (std::uint32_t i = 0; i < kWords; ++i) {
    const std::uint32_t result = min_bytes(largest[i], high);
    __builtin_memcpy(w.output + channel + 4 * i, &result, sizeof result);
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

// Taps side by side.
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
  Window w = window;
  join_rows(w);
  if (w.channels == 1 && w.column_step == 1) {
    *w.output = max_of_runs(w, low, high);
    return;
  }
  const std::uint32_t lows = in_all_bytes(low);
  const std::uint32_t highs = in_all_bytes(high);
  std::uint32_t channel = 0;
  for (; channel + 8 <= w.channels; channel += 8) max_of_words<2>(w, channel, lows, highs);
  for (; channel + 4 <= w.channels; channel += 4) max_of_words<1>(w, channel, lows, highs);
  for (; channel < w.channels; ++channel) w.output[channel] = max_of_bytes(w, channel, low, high);
}

}  // namespace cormorant
