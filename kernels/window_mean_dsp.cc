// SPDX-License-Identifier: Apache-2.0
//
// Eight channels per turn: SXTAB16 widens and adds two bytes at a time. Words may be unaligned here. Results are
// clamped four at a time by SSUB8 and SEL. A single channel whose taps are adjacent is summed four taps at a time: with
// the sign bits flipped, USADA8 adds the distances of four bytes to zero.
#include "kernels/bytes_dsp.h"
#include "kernels/window.h"

namespace cormorant {
namespace {

inline void add_even(std::uint32_t& sums, std::uint32_t bytes) { asm("sxtab16 %0, %0, %1" : "+r"(sums) : "r"(bytes)); }

inline void add_odd(std::uint32_t& sums, std::uint32_t bytes) {
  asm("sxtab16 %0, %0, %1, ror #8" : "+r"(sums) : "r"(bytes));
}

// mean_of() in the form that instructions take: SMMULR's product of the doubled distance is the doubling high multiply,
// and saturating to int8 before clamping does not change the result.
struct Scale {
  explicit Scale(const MeanScale& scale)
      : offset(scale.offset),
        multiplier(scale.multiplier),
        left(scale.left + 1),
        right(scale.right - 1),
        half_step(2 * scale.zero_point + 1),
        low(in_all_bytes(scale.low + scale.zero_point)),
        high(in_all_bytes(scale.high + scale.zero_point)) {}

  // Inlined even where code is compiled for size: a call costs as much.
  [[nodiscard, gnu::always_inline]] std::int32_t mean(std::int32_t sum) const {
    const auto distance = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum + offset) << left);
    std::int32_t product, byte;
    asm("smmulr %0, %1, %2" : "=r"(product) : "r"(distance), "r"(multiplier));
    product += product >> 31;
    // The last halving rounds and adds the zero point.
    asm("ssat %0, #8, %1, asr #1" : "=r"(byte) : "r"((product >> right) + half_step));
    return byte;
  }
  // The lowest bytes of two numbers, as the lowest bytes of halves.
  static std::uint32_t in_halves(std::int32_t lower, std::int32_t upper) {
    std::uint32_t both;
    asm("pkhbt %0, %1, %2, lsl #16\n"
        "uxtb16 %0, %0"
        : "=r"(both)
        : "r"(lower), "r"(upper));
    return both;
  }
  [[nodiscard]] std::uint32_t bounded(std::uint32_t bytes) const { return min_bytes(max_bytes(bytes, low), high); }
  // For four channels, whose sums are the halves of two words.
  [[nodiscard]] std::uint32_t means(std::uint32_t even, std::uint32_t odd) const {
    const std::int32_t first = mean(static_cast<std::int16_t>(even));
    const std::int32_t second = mean(static_cast<std::int16_t>(odd));
    const std::int32_t third = mean(static_cast<std::int32_t>(even) >> 16);
    const std::int32_t fourth = mean(static_cast<std::int32_t>(odd) >> 16);
    return bounded(in_halves(first, third) | in_halves(second, fourth) << 8);
  }

  std::int32_t offset, multiplier, left, right, half_step;
  std::uint32_t low, high;
};

// Eight channels of a window whose sums fit 16 bits. Never inlined: it needs the caller's registers.
[[gnu::noinline]] void mean_of_eight(const Window& w, std::uint32_t channel, const Scale& scale) {
  std::uint32_t even = 0, odd = 0, later_even = 0, later_odd = 0;
  const std::int8_t* row = w.input + channel;
  const std::int32_t step = w.column_step;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    for (std::uint32_t x = w.columns; x != 0; --x, tap += step) {
      const std::uint32_t bytes = load_word(tap);
      const std::uint32_t later = load_word(tap + 4);
      add_even(even, bytes);
      add_odd(odd, bytes);
      add_even(later_even, later);
      add_odd(later_odd, later);
    }
  }
  std::int8_t* const output = w.output + channel;
  store_word(output, scale.means(even, odd));
  store_word(output + 4, scale.means(later_even, later_odd));
}

// Four channels of any window.
void mean_of_four(const Window& w, std::uint32_t channel, const Scale& scale) {
  std::int32_t sums[4] = {};
  std::uint32_t even = 0;
  std::uint32_t odd = 0;
  const std::int32_t step = w.column_step;
  add_in_lanes(
      w, channel,
      [&](const std::int8_t* tap, std::uint32_t count) {
        std::uint32_t e = even;  // copies, which stay in registers
        std::uint32_t o = odd;
        for (; count != 0; --count, tap += step) {
          const std::uint32_t bytes = load_word(tap);
          add_even(e, bytes);
          add_odd(o, bytes);
        }
        even = e;
        odd = o;
        return tap;
      },
      [&] {
        sums[0] += static_cast<std::int16_t>(even);
        sums[1] += static_cast<std::int16_t>(odd);
        sums[2] += static_cast<std::int32_t>(even) >> 16;
        sums[3] += static_cast<std::int32_t>(odd) >> 16;
        even = 0;
        odd = 0;
      });
  std::uint32_t bytes = 0;
  for (std::uint32_t i = 0; i < 4; ++i)
    bytes |= std::uint32_t{static_cast<std::uint8_t>(scale.mean(sums[i]))} << (8 * i);
  store_word(w.output + channel, scale.bounded(bytes));
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

// Adjacent taps.
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

void window_mean_dsp(const Window& window, const MeanScale& mean_scale) {
  Window w = window;
  const Scale scale(mean_scale);
  join_rows(w);
  if (w.channels == 1 && w.column_step == 1) {
    std::int32_t sum = 0;
    for (std::uint32_t y = w.rows; y != 0; --y, w.input += w.row_step) sum += sum_of_run(w.input, w.columns);
    *w.output = static_cast<std::int8_t>(scale.bounded(static_cast<std::uint32_t>(scale.mean(sum))));
    return;
  }
  std::uint32_t channel = 0;
  if (w.rows * w.columns <= kTapsPerLane) {
    for (; channel + 8 <= w.channels; channel += 8) mean_of_eight(w, channel, scale);
  }
  for (; channel + 4 <= w.channels; channel += 4) mean_of_four(w, channel, scale);
  for (; channel < w.channels; ++channel) {
    const auto mean = static_cast<std::uint32_t>(scale.mean(sum_of_bytes(w, channel)));
    w.output[channel] = static_cast<std::int8_t>(scale.bounded(mean));
  }
}

}  // namespace cormorant
