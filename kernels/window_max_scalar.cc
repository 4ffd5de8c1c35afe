// SPDX-License-Identifier: Apache-2.0
//
// Eight channels, or four if registers are few, share the walk over the taps, as words; the rest goes byte by byte. If
// words must be aligned, that can be everything, so two bytes at a time.
#include "kernels/bytes_scalar.h"
#include "kernels/window.h"

namespace cormorant {
namespace {

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB < 2
constexpr std::uint32_t kWordsPerTurn = 1;
#else
constexpr std::uint32_t kWordsPerTurn = 2;
#endif

template <std::uint32_t kWords>
inline void max_of_words(const Window& w, std::uint32_t channel, std::uint32_t low, std::uint32_t high) {
  std::uint32_t largest[kWords];
  for (std::uint32_t& word : largest) word = low;
  const std::int8_t* row = w.input + channel;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    for (std::uint32_t x = w.columns; x != 0; --x, tap += w.column_step) {
      for (std::uint32_t i = 0; i < kWords; ++i) largest[i] = max_of_bytes(largest[i], load_four(tap + 4 * i));
    }
  }
  for (std::uint32_t i = 0; i < kWords; ++i) {
    store_four(w.output + channel + 4 * i, high == 0x7f7f7f7fU ? largest[i] : min_of_bytes(largest[i], high));
  }
}

template <std::uint32_t kCount>
inline void max_of_channels(const Window& w, std::uint32_t channel, std::int32_t low, std::int32_t high) {
  std::int32_t largest[kCount];
  for (std::int32_t& value : largest) value = low;
  const std::int8_t* row = w.input + channel;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    for (std::uint32_t x = w.columns; x != 0; --x, tap += w.column_step) {
      for (std::uint32_t c = 0; c < kCount; ++c) largest[c] = tap[c] > largest[c] ? tap[c] : largest[c];
    }
  }
  for (std::uint32_t c = 0; c < kCount; ++c) {
    w.output[channel + c] = static_cast<std::int8_t>(largest[c] > high ? high : largest[c]);
  }
}

}  // namespace

void window_max_scalar(const Window& window, std::int32_t low, std::int32_t high) {
  Window row = window;
  join_rows(row);
  const auto steps = static_cast<std::uintptr_t>(row.column_step | (row.rows == 1 ? 0 : row.row_step));
  const std::uint32_t lows = in_all_bytes(low);
  const std::uint32_t highs = in_all_bytes(high);
  for_each_following(row, [&](const Window& w) {
    std::uint32_t channel = 0;
    if (w.channels >= 4 && can_access_words(reinterpret_cast<std::uintptr_t>(w.input) |
                                            reinterpret_cast<std::uintptr_t>(w.output) | steps)) {
      constexpr std::uint32_t kTurn = 4 * kWordsPerTurn;
      for (; channel + kTurn <= w.channels; channel += kTurn) max_of_words<kWordsPerTurn>(w, channel, lows, highs);
      if constexpr (kWordsPerTurn != 1) {
        for (; channel + 4 <= w.channels; channel += 4) max_of_words<1>(w, channel, lows, highs);
      }
    }
    if constexpr (kWordsAnywhere) {
      for (; channel < w.channels; ++channel) max_of_channels<1>(w, channel, low, high);
    } else {
      for (; channel + 2 <= w.channels; channel += 2) max_of_channels<2>(w, channel, low, high);
      if (channel < w.channels) max_of_channels<1>(w, channel, low, high);
    }
  });
}

}  // namespace cormorant
