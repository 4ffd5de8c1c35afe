// SPDX-License-Identifier: Apache-2.0
//
// Four channels at a time if pixels start at whole words: bytes are made unsigned by flipping their sign bits, and even
// and odd ones are summed in the 16-bit halves of two registers. Other channel counts go byte by byte.
#include "ops/avg_pool2d/kernel.h"

namespace cormorant::ops {
namespace {

void pool_bytes(const AvgPoolPlan& p, const PoolWindow& window, const WindowDivisor& divisor) {
  const std::uint32_t channels = p.channels;
  for (std::uint32_t c = 0; c < channels; ++c) {
    const std::int8_t* from = window.input + c;
    std::int32_t sum = 0;
    for (std::uint32_t y = window.rows; y != 0; --y, from += window.row_gap) {
      for (std::uint32_t x = window.columns; x != 0; --x, from += channels) sum += *from;
    }
    window.output[c] = static_cast<std::int8_t>(average(sum, divisor));
  }
}

void pool_words(const AvgPoolPlan& p, const PoolWindow& window, const WindowDivisor& divisor) {
  const std::uint32_t words = p.channels / 4;
  const std::int32_t row_gap = window.row_gap / 4;
  const auto bias = static_cast<std::int32_t>(128 * divisor.count);
  for (std::uint32_t w = 0; w < words; ++w) {
    const std::uint32_t* from = reinterpret_cast<const std::uint32_t*>(window.input) + w;
    std::int32_t sums[4] = {-bias, -bias, -bias, -bias};
    for (std::uint32_t left = window.rows; left != 0;) {
      const std::uint32_t rows = left < p.chunk_rows ? left : p.chunk_rows;
      left -= rows;
      std::uint32_t even = 0;
      std::uint32_t odd = 0;
      for (std::uint32_t y = rows; y != 0; --y, from += row_gap) {
        for (std::uint32_t x = window.columns; x != 0; --x, from += words) {
          const std::uint32_t bytes = *from ^ 0x80808080U;
          even += bytes & 0x00FF00FFU;
          odd += (bytes >> 8) & 0x00FF00FFU;
        }
      }
      sums[0] += static_cast<std::int32_t>(even & 0xFFFF);
      sums[1] += static_cast<std::int32_t>(odd & 0xFFFF);
      sums[2] += static_cast<std::int32_t>(even >> 16);
      sums[3] += static_cast<std::int32_t>(odd >> 16);
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      window.output[4 * w + i] = static_cast<std::int8_t>(average(sums[i], divisor));
    }
  }
}

void execute(const void* plan) {
  const auto& p = *static_cast<const AvgPoolPlan*>(plan);
  const bool by_words = ((reinterpret_cast<std::uintptr_t>(p.input) | p.channels) & 3) == 0 && p.chunk_rows != 0;
  const auto pool = by_words ? pool_words : pool_bytes;
  WindowDivisor divisor = {0, 0};
  for_each_window(p, [&](const PoolWindow& window) {
    const std::uint32_t count = window.rows * window.columns;
    if (count != divisor.count) divisor = divisor_of(count);
    pool(p, window, divisor);
  });
}

void execute_mean(const void* plan) {
  execute_mean_pool2d(*static_cast<const MeanPoolPlan*>(plan), window_mean_scalar);
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_AVG_POOL2D_KERNELS, scalar)

}  // namespace cormorant::ops
