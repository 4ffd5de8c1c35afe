// SPDX-License-Identifier: Apache-2.0
//
// Sixteen channels at a time in 16-bit lanes, which hold windows of up to 256 elements; the division is a 16-bit high
// multiplication whose quotient is too large by at most one, which is corrected. Larger windows take eight channels at
// a time in 32-bit lanes.
#include <arm_mve.h>

#include "ops/avg_pool2d/kernel.h"

namespace cormorant::ops {
namespace {

// sums / count, to nearest, ties away from zero; the multiplier is 2^16 / count, rounded up. count in [1, 256], so that
// |sum| + count / 2 < 2^16.
inline int16x8_t average_16(int16x8_t sums, WindowDivisor divisor) {
  if (divisor.count == 1) return sums;  // 2^16 / 1 is too long for a lane
  const auto count = static_cast<std::uint16_t>(divisor.count);
  const uint16x8_t magnitude =
      vaddq_n_u16(vreinterpretq_u16_s16(vabsq_s16(sums)), static_cast<std::uint16_t>(count / 2));
  const uint16x8_t quotient = vmulhq_u16(magnitude, vdupq_n_u16(static_cast<std::uint16_t>(divisor.multiplier)));
  const mve_pred16_t too_large = vcmphiq_u16(vmulq_n_u16(quotient, count), magnitude);
  const int16x8_t result = vreinterpretq_s16_u16(vsubq_m_n_u16(quotient, quotient, 1, too_large));
  return vnegq_m_s16(result, result, vcmpltq_n_s16(sums, 0));
}

// Adds 16 channels of `pixels` pixels that are `step` bytes apart. As C++:
//   for (; pixels != 0; --pixels, from += step) {
//     low = vaddq_s16(low, vldrbq_s16(from)), high = vaddq_s16(high, vldrbq_s16(from + 8));
//   }
inline const std::int8_t* add_pixels(const std::int8_t* from, std::uint32_t pixels, std::uint32_t step, int16x8_t& low,
                                     int16x8_t& high) {
  asm volatile(
      "dls lr, %[pixels]\n"
      "1: vldrb.s16 q0, [%[from]]\n"
      "vadd.i16 %q[low], %q[low], q0\n"
      "vldrb.s16 q1, [%[from], #8]\n"
      "add %[from], %[step]\n"
      "vadd.i16 %q[high], %q[high], q1\n"
      "le lr, 1b\n"
      : [from] "+&l"(from), [low] "+&w"(low), [high] "+&w"(high)
      : [pixels] "r"(pixels), [step] "r"(step)
      : "q0", "q1", "lr", "memory");
  return from;
}

// The remaining channels: fewer than 16.
void pool_tail(const PoolWindow& window, std::uint32_t channels, std::uint32_t first, WindowDivisor divisor) {
  for (std::uint32_t c = first; c < channels; c += 8) {
    const mve_pred16_t mask = vctp16q(channels - c);
    const std::int8_t* from = window.input + c;
    int16x8_t sums = vdupq_n_s16(0);
    for (std::uint32_t y = window.rows; y != 0; --y, from += window.row_gap) {
      for (std::uint32_t x = window.columns; x != 0; --x, from += channels) {
        sums = vaddq_s16(sums, vldrbq_z_s16(from, mask));
      }
    }
    vstrbq_p_s16(window.output + c, average_16(sums, divisor), mask);
  }
}

void pool_16(const AvgPoolPlan& p, const PoolWindow& window) {
  const std::uint32_t channels = p.channels;
  const std::uint32_t count = window.rows * window.columns;
  const WindowDivisor divisor = {count, (65535U + count) / count};
  // Whole rows follow each other without a gap: one row of all pixels.
  const bool joined = window.row_gap == 0;
  const std::uint32_t rows = joined ? 1 : window.rows;
  const std::uint32_t columns = joined ? count : window.columns;
  std::uint32_t c = 0;
  for (; c + 16 <= channels; c += 16) {
    const std::int8_t* from = window.input + c;
    int16x8_t low = vdupq_n_s16(0);
    int16x8_t high = vdupq_n_s16(0);
    for (std::uint32_t y = rows; y != 0; --y) {
      from = add_pixels(from, columns, channels, low, high) + window.row_gap;
    }
    vstrbq_s16(window.output + c, average_16(low, divisor));
    vstrbq_s16(window.output + c + 8, average_16(high, divisor));
  }
  pool_tail(window, channels, c, divisor);
}

void pool_32(const AvgPoolPlan& p, const PoolWindow& window) {
  const std::uint32_t channels = p.channels;
  const std::uint32_t count = window.rows * window.columns;
  const std::uint32_t multiplier = ((1U << 24) + count - 1) / count;
  for (std::uint32_t c = 0; c < channels; c += 4) {
    const mve_pred16_t mask = vctp32q(channels - c);
    const std::int8_t* from = window.input + c;
    int32x4_t sums = vdupq_n_s32(0);
    for (std::uint32_t y = window.rows; y != 0; --y, from += window.row_gap) {
      for (std::uint32_t x = window.columns; x != 0; --x, from += channels) {
        sums = vaddq_s32(sums, vldrbq_z_s32(from, mask));
      }
    }
    const uint32x4_t magnitude = vaddq_n_u32(vreinterpretq_u32_s32(vabsq_s32(sums)), count / 2);
    const uint32x4_t quotient = vshrq_n_u32(vmulq_n_u32(magnitude, multiplier), 24);
    const mve_pred16_t too_large = vcmphiq_u32(vmulq_n_u32(quotient, count), magnitude);
    const int32x4_t result = vreinterpretq_s32_u32(vsubq_m_n_u32(quotient, quotient, 1, too_large));
    vstrbq_p_s32(window.output + c, vnegq_m_s32(result, result, vcmpltq_n_s32(sums, 0)), mask);
  }
}

void execute(const void* plan) {
  const auto& p = *static_cast<const AvgPoolPlan*>(plan);
  for_each_window(p, [&](const PoolWindow& window) {
    if (window.rows * window.columns <= kTapsPerChunk) {
      pool_16(p, window);
    } else {
      pool_32(p, window);
    }
  });
}

void execute_mean(const void* plan) { execute_mean_pool2d(*static_cast<const MeanPoolPlan*>(plan), window_mean_mve); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_AVG_POOL2D_KERNELS, mve)

}  // namespace cormorant::ops
