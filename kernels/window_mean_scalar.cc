// SPDX-License-Identifier: Apache-2.0
//
// Four channels at a time if taps start at whole words: bytes are made unsigned by flipping their sign bits, and even
// and odd ones are summed in the 16-bit halves of two registers. A single channel whose taps are adjacent is summed by
// words as well. Everything else goes byte by byte.
#include "kernels/window.h"

namespace cormorant {
namespace {

constexpr std::uint32_t kFlip = 0x80808080U;
constexpr std::uint32_t kEven = 0x00FF00FFU;

bool is_whole_words(std::int32_t step) { return (step & 3) == 0; }
bool is_whole_words(const std::int8_t* address) { return (reinterpret_cast<std::uintptr_t>(address) & 3) == 0; }

void mean_of_words(const Window& w, std::uint32_t channel, const MeanScale& scale) {
  const auto bias = static_cast<std::int32_t>(128 * w.rows * w.columns);
  const std::int32_t step = w.column_step / 4;
  std::int32_t sums[4] = {-bias, -bias, -bias, -bias};
  std::uint32_t even = 0;
  std::uint32_t odd = 0;
  add_in_lanes(
      w, channel,
      [&](const std::int8_t* tap, std::uint32_t count) {
        const auto* from = reinterpret_cast<const std::uint32_t*>(tap);
        std::uint32_t e = even;  // copies, which stay in registers
        std::uint32_t o = odd;
        for (; count != 0; --count, from += step) {
          const std::uint32_t bytes = *from ^ kFlip;
          e += bytes & kEven;
          o += (bytes >> 8) & kEven;
        }
        even = e;
        odd = o;
        return reinterpret_cast<const std::int8_t*>(from);
      },
      [&] {
        sums[0] += static_cast<std::int32_t>(even & 0xFFFF);
        sums[1] += static_cast<std::int32_t>(odd & 0xFFFF);
        sums[2] += static_cast<std::int32_t>(even >> 16);
        sums[3] += static_cast<std::int32_t>(odd >> 16);
        even = 0;
        odd = 0;
      });
  for (std::uint32_t i = 0; i < 4; ++i) w.output[channel + i] = static_cast<std::int8_t>(mean_of(sums[i], scale));
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
std::int32_t sum_of_run(const std::int8_t* tap, std::uint32_t count) {
  std::int32_t sum = 0;
  for (; count != 0 && !is_whole_words(tap); --count) sum += *tap++;
  while (count >= 4) {
    const std::uint32_t words = count / 4 < kTapsPerLane / 2 ? count / 4 : kTapsPerLane / 2;
    const auto* from = reinterpret_cast<const std::uint32_t*>(tap);
    std::uint32_t sums = 0;
    for (std::uint32_t i = words; i != 0; --i) {
      const std::uint32_t bytes = *from++ ^ kFlip;
      sums += bytes & kEven;
      sums += (bytes >> 8) & kEven;
    }
    sum += static_cast<std::int32_t>((sums & 0xFFFF) + (sums >> 16)) - static_cast<std::int32_t>(512 * words);
    tap += 4 * words;
    count -= 4 * words;
  }
  for (; count != 0; --count) sum += *tap++;
  return sum;
}

}  // namespace

void window_mean_scalar(const Window& window, const MeanScale& mean_scale) {
  Window w = window;
  const MeanScale scale = mean_scale;  // a copy, which stores cannot change
  join_rows(w);
  if (w.channels == 1 && w.column_step == 1) {
    std::int32_t sum = 0;
    for (std::uint32_t y = w.rows; y != 0; --y, w.input += w.row_step) sum += sum_of_run(w.input, w.columns);
    *w.output = static_cast<std::int8_t>(mean_of(sum, scale));
    return;
  }
  std::uint32_t channel = 0;
  if (is_whole_words(w.input) && is_whole_words(w.column_step) && (w.rows == 1 || is_whole_words(w.row_step))) {
    for (; channel + 4 <= w.channels; channel += 4) mean_of_words(w, channel, scale);
  }
  for (; channel < w.channels; ++channel) {
    w.output[channel] = static_cast<std::int8_t>(mean_of(sum_of_bytes(w, channel), scale));
  }
}

}  // namespace cormorant
