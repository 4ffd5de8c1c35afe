// SPDX-License-Identifier: Apache-2.0
//
// Four channels per load: SXTAB16 widens and adds two of them at a time. Two loads per pixel share the loop. Words may
// be unaligned here; leftover channels go byte by byte.
#include "ops/avg_pool2d/kernel.h"

namespace cormorant::ops {
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

inline void store_averages(std::int8_t* output, const std::int32_t* sums, std::uint32_t count, WindowDivisor divisor) {
  for (std::uint32_t i = 0; i < count; ++i) output[i] = static_cast<std::int8_t>(average(sums[i], divisor));
}

// 4 · kWords channels.
template <std::uint32_t kWords>
void pool_words(const PoolWindow& window, std::uint32_t channels, std::uint32_t chunk_rows, WindowDivisor divisor,
                std::uint32_t channel) {
  const std::int8_t* from = window.input + channel;
  std::int32_t sums[4 * kWords] = {};
  for (std::uint32_t left = window.rows; left != 0;) {
    const std::uint32_t rows = left < chunk_rows ? left : chunk_rows;
    left -= rows;
    std::uint32_t even[kWords] = {};
    std::uint32_t odd[kWords] = {};
    for (std::uint32_t y = rows; y != 0; --y, from += window.row_gap) {
      for (std::uint32_t x = window.columns; x != 0; --x, from += channels) {
        for (std::uint32_t w = 0; w < kWords; ++w) {
          const std::uint32_t bytes = load_word(from + 4 * w);
          add_even(even[w], bytes);
          add_odd(odd[w], bytes);
        }
      }
    }
    for (std::uint32_t w = 0; w < kWords; ++w) {
      sums[4 * w] += static_cast<std::int16_t>(even[w]);
      sums[4 * w + 1] += static_cast<std::int16_t>(odd[w]);
      sums[4 * w + 2] += static_cast<std::int32_t>(even[w]) >> 16;
      sums[4 * w + 3] += static_cast<std::int32_t>(odd[w]) >> 16;
    }
  }
  store_averages(window.output + channel, sums, 4 * kWords, divisor);
}

void pool_byte(const PoolWindow& window, std::uint32_t channels, WindowDivisor divisor, std::uint32_t channel) {
  const std::int8_t* from = window.input + channel;
  std::int32_t sum = 0;
  for (std::uint32_t y = window.rows; y != 0; --y, from += window.row_gap) {
    for (std::uint32_t x = window.columns; x != 0; --x, from += channels) sum += *from;
  }
  store_averages(window.output + channel, &sum, 1, divisor);
}

void execute(const void* plan) {
  const auto& p = *static_cast<const AvgPoolPlan*>(plan);
  const std::uint32_t channels = p.channels;
  const std::uint32_t chunk_rows = p.chunk_rows;
  const std::uint32_t by_words = chunk_rows != 0 ? channels : 0;
  WindowDivisor divisor = {0, 0};
  for_each_window(p, [&](const PoolWindow& window) {
    const std::uint32_t count = window.rows * window.columns;
    if (count != divisor.count) divisor = {count, ((1U << 24) + count - 1) / count};
    std::uint32_t channel = 0;
    for (; channel + 8 <= by_words; channel += 8) pool_words<2>(window, channels, chunk_rows, divisor, channel);
    for (; channel + 4 <= by_words; channel += 4) pool_words<1>(window, channels, chunk_rows, divisor, channel);
    for (; channel < channels; ++channel) pool_byte(window, channels, divisor, channel);
  });
}

void execute_mean(const void* plan) { execute_mean_pool2d(*static_cast<const MeanPoolPlan*>(plan), window_mean_dsp); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_AVG_POOL2D_KERNELS, dsp)

}  // namespace cormorant::ops
