// SPDX-License-Identifier: Apache-2.0
//
// Sixteen channels at a time in 16-bit lanes, the last ones eight at a time. A single channel whose taps lie side by
// side is summed sixteen taps at a time by VADDVA.
#include <arm_mve.h>

#include "kernels/window.h"

namespace cormorant {
namespace {

// Adds 16 channels of `count` taps. As C++:
//   for (; count != 0; --count, tap += step) {
//     low = vaddq_s16(low, vldrbq_s16(tap)), high = vaddq_s16(high, vldrbq_s16(tap + 8));
//   }
inline const std::int8_t* add_taps(const std::int8_t* tap, std::uint32_t count, std::int32_t step, int16x8_t& low,
                                   int16x8_t& high) {
  asm volatile(
      "dls lr, %[count]\n"
      "1: vldrb.s16 q0, [%[tap]]\n"
      "vadd.i16 %q[low], %q[low], q0\n"
      "vldrb.s16 q1, [%[tap], #8]\n"
      "add %[tap], %[step]\n"
      "vadd.i16 %q[high], %q[high], q1\n"
      "le lr, 1b\n"
      : [tap] "+r"(tap), [low] "+w"(low), [high] "+w"(high)
      : [count] "r"(count), [step] "r"(step)
      : "q0", "q1", "lr", "memory");
  return tap;
}

inline std::int32_t sum_of_run(std::int32_t sum, const std::int8_t* tap, std::uint32_t count) {
  asm volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1: vldrb.u8 q0, [%[tap]], #16\n"
      "vaddva.s8 %[sum], q0\n"
      "letp lr, 1b\n"
      "2:\n"
      : [tap] "+r"(tap), [sum] "+Te"(sum)
      : [count] "r"(count)
      : "q0", "lr", "memory");
  return sum;
}

// mean_of() without its clamp. VRSHL rounds halves up; one less for negative numbers makes that away from zero.
inline int32x4_t scaled(int32x4_t sums, const MeanScale& scale) {
  const int32x4_t distance = vshlq_r_s32(vaddq_n_s32(sums, scale.offset), scale.left);
  int32x4_t product = vqrdmulhq_n_s32(distance, scale.multiplier);
  if (scale.right == 0) return product;
  product = vaddq_s32(product, vshrq_n_s32(product, 31));
  return vrshlq_n_s32(product, -scale.right);
}

// Eight sums, those of even and odd channels apart, to eight results in 16-bit lanes.
inline int16x8_t means(int32x4_t even, int32x4_t odd, const MeanScale& scale) {
  int16x8_t result = vqmovnbq_s32(vdupq_n_s16(0), scaled(even, scale));
  result = vqmovntq_s32(result, scaled(odd, scale));
  result = vmaxq_s16(result, vdupq_n_s16(static_cast<std::int16_t>(scale.low)));
  result = vminq_s16(result, vdupq_n_s16(static_cast<std::int16_t>(scale.high)));
  return vaddq_n_s16(result, static_cast<std::int16_t>(scale.zero_point));
}

// Sums of eight channels: 16-bit lanes, and wider ones that take them over before they overflow.
struct Sums {
  int16x8_t lanes = vdupq_n_s16(0);
  int32x4_t even = vdupq_n_s32(0);
  int32x4_t odd = vdupq_n_s32(0);

  void flush() {
    even = vaddq_s32(even, vmovlbq_s16(lanes));
    odd = vaddq_s32(odd, vmovltq_s16(lanes));
    lanes = vdupq_n_s16(0);
  }
};

void mean_of_16(const Window& w, std::uint32_t channel, const MeanScale& scale) {
  Sums low;
  Sums high;
  const std::int32_t step = w.column_step;
  add_in_lanes(
      w, channel,
      [&](const std::int8_t* tap, std::uint32_t count) { return add_taps(tap, count, step, low.lanes, high.lanes); },
      [&] {
        low.flush();
        high.flush();
      });
  vstrbq_s16(w.output + channel, means(low.even, low.odd, scale));
  vstrbq_s16(w.output + channel + 8, means(high.even, high.odd, scale));
}

void mean_of_up_to_8(const Window& w, std::uint32_t channel, const MeanScale& scale) {
  Sums sums;
  const std::int32_t step = w.column_step;
  const mve_pred16_t mask = vctp16q(w.channels - channel);
  add_in_lanes(
      w, channel,
      [&](const std::int8_t* tap, std::uint32_t count) {
        for (; count != 0; --count, tap += step) sums.lanes = vaddq_s16(sums.lanes, vldrbq_z_s16(tap, mask));
        return tap;
      },
      [&] { sums.flush(); });
  vstrbq_p_s16(w.output + channel, means(sums.even, sums.odd, scale), mask);
}

}  // namespace

void window_mean_mve(const Window& window, const MeanScale& scale) {
  Window w = window;
  join_rows(w);
  if (w.channels == 1 && w.column_step == 1) {
    std::int32_t sum = 0;
    for (std::uint32_t y = w.rows; y != 0; --y, w.input += w.row_step) sum = sum_of_run(sum, w.input, w.columns);
    *w.output = static_cast<std::int8_t>(mean_of(sum, scale));
    return;
  }
  std::uint32_t channel = 0;
  for (; channel + 16 <= w.channels; channel += 16) mean_of_16(w, channel, scale);
  for (; channel < w.channels; channel += 8) mean_of_up_to_8(w, channel, scale);
}

}  // namespace cormorant
