// SPDX-License-Identifier: Apache-2.0
//
// Channels share the walk over the taps, four to a word: one word, or two where there are registers for them. The rest
// goes byte by byte. If words must be aligned, that can be everything, so two bytes at a time.
#include "kernels/bytes_scalar.h"
#include "kernels/window_max_words.h"

namespace cormorant {
namespace {

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB < 2
constexpr bool kHasManyRegisters = false;
#else
constexpr bool kHasManyRegisters = true;
#endif

struct Bytes {
  static std::uint32_t load(const std::int8_t* address) { return load_four(address); }
  static void store(std::int8_t* address, std::uint32_t word) { store_four(address, word); }
  static std::uint32_t max(std::uint32_t a, std::uint32_t b) { return max_of_bytes(a, b); }
  // Comparing costs more than asking whether it is necessary.
  static std::uint32_t at_least(std::uint32_t word, std::uint32_t low) {
    return low == 0x80808080U ? word : max_of_bytes(word, low);
  }
  static std::uint32_t at_most(std::uint32_t word, std::uint32_t high) {
    return high == 0x7f7f7f7fU ? word : min_of_bytes(word, high);
  }
};

inline void max_of_four(const Window& w, std::uint32_t channel, std::uint32_t low, std::uint32_t high) {
  std::uint32_t largest = low;
  const std::int8_t* row = w.input + channel;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    for (std::uint32_t x = w.columns; x != 0; --x, tap += w.column_step) {
      largest = max_of_bytes(largest, load_four(tap));
    }
  }
  store_four(w.output + channel, Bytes::at_most(largest, high));
}

// Not inlined: comparing bytes takes more registers than with DSP instructions.
[[gnu::noinline]] void max_of_four_taps(const Window& w, std::uint32_t low, std::uint32_t high) {
  max_of_two_by_two<Bytes>(w, low, high);
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
  const bool is_two_by_two = kHasManyRegisters && row.rows == 2 && row.columns == 2;
  if (!is_two_by_two) join_rows(row);
  const auto steps = static_cast<std::uintptr_t>(row.column_step | (row.rows == 1 ? 0 : row.row_step));
  const std::uint32_t lows = in_all_bytes(low);
  const std::uint32_t highs = in_all_bytes(high);
  for_each_following(row, [&](const Window& w) {
    std::uint32_t channel = 0;
    if (w.channels >= 4 && can_access_words(reinterpret_cast<std::uintptr_t>(w.input) |
                                            reinterpret_cast<std::uintptr_t>(w.output) | steps)) {
      if (is_two_by_two) {
        max_of_four_taps(w, lows, highs);
        channel = w.channels & ~3U;
      }
      if constexpr (kHasManyRegisters) {
        for (; channel + 8 <= w.channels; channel += 8) max_of_eight<Bytes>(w, channel, lows, highs);
      }
      for (; channel + 4 <= w.channels; channel += 4) max_of_four(w, channel, lows, highs);
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
