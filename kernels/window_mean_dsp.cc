// SPDX-License-Identifier: Apache-2.0
//
// Eight channels per turn: SXTAB16 widens and adds two bytes at a time. Words may be unaligned here. A single channel
// whose taps lie side by side is summed four taps at a time: with the sign bits flipped, USADA8 adds the distances of
// four bytes to zero.
#include "kernels/window.h"

namespace cormorant {
namespace {

inline std::uint32_t load_word(const std::int8_t* address) {
  std::uint32_t word;
  __builtin_memcpy(&word, address, sizeof word);
  return word;
}

inline void add_even(std::uint32_t& sums, std::uint32_t bytes) { asm("sxtab16 %0, %0, %1" : "+r"(sums) : "r"(bytes)); }

inline void add_odd(std::uint32_t& sums, std::uint32_t bytes) {
  asm("sxtab16 %0, %0, %1, ror #8" : "+r"(sums) : "r"(bytes));
}

// 4 · kWords channels.
template <std::uint32_t kWords>
void mean_of_words(const Window& w, std::uint32_t channel, const MeanScale& scale) {
  std::int32_t sums[4 * kWords] = {};
  std::uint32_t even[kWords] = {};
  std::uint32_t odd[kWords] = {};
  const std::int32_t step = w.column_step;
  add_in_lanes(
      w, channel,
      [&](const std::int8_t* tap, std::uint32_t count) {
        for (; count != 0; --count, tap += step) {
          for (std::uint32_t i = 0; i < kWords; ++i) {
            const std::uint32_t bytes = load_word(tap + 4 * i);
            add_even(even[i], bytes);
            add_odd(odd[i], bytes);
          }
        }
        return tap;
      },
      [&] {
        for (std::uint32_t i = 0; i < kWords; ++i) {
          sums[4 * i] += static_cast<std::int16_t>(even[i]);
          sums[4 * i + 1] += static_cast<std::int16_t>(odd[i]);
          sums[4 * i + 2] += static_cast<std::int32_t>(even[i]) >> 16;
          sums[4 * i + 3] += static_cast<std::int32_t>(odd[i]) >> 16;
          even[i] = 0;
          odd[i] = 0;
        }
      });
  for (std::uint32_t i = 0; i < 4 * kWords; ++i) {
    w.output[channel + i] = static_cast<std::int8_t>(mean_of(sums[i], scale));
  }
}

std::int32_t sum_of_bytes(const Window& w, std::uint32_t channel) {
  std::int32_t sum = 0;
  const std::int8_t* row = w.input + channel;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    for (std::uint32_t x = w.columns; x != 0; --x, tap += w.column_step) sum += *tap;
  }
  return sum;
}

// Taps side by side.
inline std::int32_t sum_of_run(const std::int8_t* tap, std::uint32_t count) {
  const std::uint32_t words = count / 4;
  std::uint32_t sum = 0U - 512 * words;
  for (std::uint32_t i = words; i != 0; --i, tap += 4) {
    const std::uint32_t bytes = load_word(tap) ^ 0x80808080U;
    asm("usada8 %0, %1, %2, %0" : "+r"(sum) : "r"(bytes), "r"(0));
  }
  auto result = static_cast<std::int32_t>(sum);
  for (count &= 3; count != 0; --count) result += *tap++;
  return result;
}

}  // namespace

void window_mean_dsp(const Window& window, const MeanScale& scale) {
  Window w = window;
  join_rows(w);
  if (w.channels == 1 && w.column_step == 1) {
    std::int32_t sum = 0;
    for (std::uint32_t y = w.rows; y != 0; --y, w.input += w.row_step) sum += sum_of_run(w.input, w.columns);
    *w.output = static_cast<std::int8_t>(mean_of(sum, scale));
    return;
  }
  std::uint32_t channel = 0;
  for (; channel + 8 <= w.channels; channel += 8) mean_of_words<2>(w, channel, scale);
  for (; channel + 4 <= w.channels; channel += 4) mean_of_words<1>(w, channel, scale);
  for (; channel < w.channels; ++channel) {
    w.output[channel] = static_cast<std::int8_t>(mean_of(sum_of_bytes(w, channel), scale));
  }
}

}  // namespace cormorant
