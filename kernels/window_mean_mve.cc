// SPDX-License-Identifier: Apache-2.0
//
// Sixteen channels at a time in 16-bit lanes, the last ones eight at a time; windows too large for such lanes move
// their sums to wider ones now and then. A single channel whose taps are adjacent is summed sixteen taps at a time by
// VADDVA.
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
      : [tap] "+&l"(tap), [low] "+&w"(low), [high] "+&w"(high)
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
      : [tap] "+&r"(tap), [sum] "+&Te"(sum)
      : [count] "r"(count)
      : "q0", "lr", "memory");
  return sum;
}

// What mean_of() needs, in the form that vector instructions take.
struct Scale {
  explicit Scale(const MeanScale& scale)
      : offset(scale.offset),
        multiplier(scale.multiplier),
        left(scale.left),
        right(-scale.right),
        zero_point(scale.zero_point),
        low(vdupq_n_s16(static_cast<std::int16_t>(scale.low))),
        high(vdupq_n_s16(static_cast<std::int16_t>(scale.high))) {}

  std::int32_t offset, multiplier, left, right, zero_point;
  int16x8_t low, high;
};

// mean_of() of eight sums, even and odd channels separately, as 16-bit lanes. VRSHL rounds halves up; subtracting one
// from negative numbers turns that into away from zero.
inline int16x8_t means(int32x4_t even, int32x4_t odd, const Scale& scale) {
  int16x8_t result;
  asm("vadd.i32 %q[even], %q[even], %[offset]\n"
      "vadd.i32 %q[odd], %q[odd], %[offset]\n"
      "vshl.s32 %q[even], %[left]\n"
      "vshl.s32 %q[odd], %[left]\n"
      "vqrdmulh.s32 %q[even], %q[even], %[multiplier]\n"
      "vqrdmulh.s32 %q[odd], %q[odd], %[multiplier]\n"
      "vshr.s32 q0, %q[even], #31\n"
      "vshr.s32 q1, %q[odd], #31\n"
      "vadd.i32 %q[even], %q[even], q0\n"
      "vadd.i32 %q[odd], %q[odd], q1\n"
      "vrshl.s32 %q[even], %[right]\n"
      "vrshl.s32 %q[odd], %[right]\n"
      "vqmovnb.s32 %q[result], %q[even]\n"
      "vqmovnt.s32 %q[result], %q[odd]\n"
      "vmax.s16 %q[result], %q[result], %q[low]\n"
      "vmin.s16 %q[result], %q[result], %q[high]\n"
      "vadd.i16 %q[result], %q[result], %[zero_point]\n"
      : [even] "+&w"(even), [odd] "+&w"(odd), [result] "=&w"(result)
      : [offset] "r"(scale.offset), [left] "r"(scale.left), [multiplier] "r"(scale.multiplier),
        [right] "r"(scale.right), [low] "w"(scale.low), [high] "w"(scale.high), [zero_point] "r"(scale.zero_point)
      : "q0", "q1");
  return result;
}

inline int16x8_t means(int16x8_t sums, const Scale& scale) {
  return means(vmovlbq_s16(sums), vmovltq_s16(sums), scale);
}

// Windows whose sums fit 16 bits, offset included. As C++:
//   vstrbq_s16(out, means(low, scale)), vstrbq_s16(out + 8, means(high, scale));
// in an order in which few instructions wait for the previous one.
inline void put_means(int16x8_t low, int16x8_t high, const Scale& scale, std::int8_t* out) {
  int32x4_t a, b;
  asm volatile(
      "vmovlb.s16 %q[a], %q[low]\n"
      "vmovlt.s16 %q[low], %q[low]\n"
      "vshl.s32 %q[a], %[left]\n"
      "vshl.s32 %q[low], %[left]\n"
      "vqrdmulh.s32 %q[a], %q[a], %[multiplier]\n"
      "vmovlb.s16 %q[b], %q[high]\n"
      "vqrdmulh.s32 %q[low], %q[low], %[multiplier]\n"
      "vmovlt.s16 %q[high], %q[high]\n"
      "vshl.s32 %q[b], %[left]\n"
      "vshl.s32 %q[high], %[left]\n"
      "vqrdmulh.s32 %q[b], %q[b], %[multiplier]\n"
      "vshr.s32 q0, %q[a], #31\n"
      "vqrdmulh.s32 %q[high], %q[high], %[multiplier]\n"
      "vshr.s32 q1, %q[low], #31\n"
      "vadd.i32 %q[a], %q[a], q0\n"
      "vadd.i32 %q[low], %q[low], q1\n"
      "vrshl.s32 %q[a], %[right]\n"
      "vrshl.s32 %q[low], %[right]\n"
      "vshr.s32 q0, %q[b], #31\n"
      "vshr.s32 q1, %q[high], #31\n"
      "vadd.i32 %q[b], %q[b], q0\n"
      "vadd.i32 %q[high], %q[high], q1\n"
      "vrshl.s32 %q[b], %[right]\n"
      "vrshl.s32 %q[high], %[right]\n"
      "vqmovnb.s32 %q[a], %q[a]\n"
      "vqmovnb.s32 %q[b], %q[b]\n"
      "vqmovnt.s32 %q[a], %q[low]\n"
      "vqmovnt.s32 %q[b], %q[high]\n"
      "vmax.s16 %q[a], %q[a], %q[lowest]\n"
      "vmax.s16 %q[b], %q[b], %q[lowest]\n"
      "vmin.s16 %q[a], %q[a], %q[highest]\n"
      "vmin.s16 %q[b], %q[b], %q[highest]\n"
      "vadd.i16 %q[a], %q[a], %[zero_point]\n"
      "vadd.i16 %q[b], %q[b], %[zero_point]\n"
      "vstrb.16 %q[a], [%[out]]\n"
      "vstrb.16 %q[b], [%[out], #8]\n"
      : [low] "+&w"(low), [high] "+&w"(high), [a] "=&w"(a), [b] "=&w"(b)
      : [left] "r"(scale.left), [multiplier] "r"(scale.multiplier), [right] "r"(scale.right), [lowest] "w"(scale.low),
        [highest] "w"(scale.high), [zero_point] "r"(scale.zero_point), [out] "l"(out)
      : "q0", "q1", "memory");
}

// Two by two, the most common window.
inline void mean_of_four_taps(const Window& w, std::uint32_t channel, const Scale& scale) {
  const std::int8_t* const a = w.input + channel;
  const std::int8_t* const b = a + w.column_step;
  const std::int8_t* const c = a + w.row_step;
  const std::int8_t* const d = b + w.row_step;
  const auto sum = [&](std::uint32_t at) {
    const int16x8_t upper = vaddq_s16(vldrbq_s16(a + at), vldrbq_s16(b + at));
    const int16x8_t lower = vaddq_s16(vldrbq_s16(c + at), vldrbq_s16(d + at));
    return vaddq_n_s16(vaddq_s16(upper, lower), static_cast<std::int16_t>(scale.offset));
  };
  put_means(sum(0), sum(8), scale, w.output + channel);
}

inline void mean_of_16(const Window& w, std::uint32_t channel, const Scale& scale) {
  if (w.rows == 2 && w.columns == 2) return mean_of_four_taps(w, channel, scale);
  const std::int8_t* row = w.input + channel;
  int16x8_t low = vdupq_n_s16(static_cast<std::int16_t>(scale.offset));
  int16x8_t high = low;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) add_taps(row, w.columns, w.column_step, low, high);
  put_means(low, high, scale, w.output + channel);
}

inline void mean_of_up_to_8(const Window& w, std::uint32_t channel, const Scale& scale) {
  const mve_pred16_t mask = vctp16q(w.channels - channel);
  const std::int8_t* row = w.input + channel;
  int16x8_t sums = vdupq_n_s16(0);
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    for (std::uint32_t x = w.columns; x != 0; --x, tap += w.column_step) {
      sums = vaddq_s16(sums, vldrbq_z_s16(tap, mask));
    }
  }
  vstrbq_p_s16(w.output + channel, means(sums, scale), mask);
}

// Larger windows, eight channels at a time.
[[gnu::noinline]] void mean_of_many(const Window& w, const Scale& scale) {
  const std::int32_t step = w.column_step;
  for (std::uint32_t channel = 0; channel < w.channels; channel += 8) {
    const mve_pred16_t mask = vctp16q(w.channels - channel);
    int16x8_t lanes = vdupq_n_s16(0);
    int32x4_t even = vdupq_n_s32(0);
    int32x4_t odd = vdupq_n_s32(0);
    add_in_lanes(
        w, channel,
        [&](const std::int8_t* tap, std::uint32_t count) {
          int16x8_t sums = lanes;
          for (; count != 0; --count, tap += step) sums = vaddq_s16(sums, vldrbq_z_s16(tap, mask));
          lanes = sums;
          return tap;
        },
        [&] {
          even = vaddq_s32(even, vmovlbq_s16(lanes));
          odd = vaddq_s32(odd, vmovltq_s16(lanes));
          lanes = vdupq_n_s16(0);
        });
    vstrbq_p_s16(w.output + channel, means(even, odd, scale), mask);
  }
}

}  // namespace

void window_mean_mve(const Window& window, const MeanScale& mean_scale) {
  Window w = window;
  join_rows(w);
  if (w.channels == 1 && w.column_step == 1) {
    std::int32_t sum = 0;
    for (std::uint32_t y = w.rows; y != 0; --y, w.input += w.row_step) sum = sum_of_run(sum, w.input, w.columns);
    *w.output = static_cast<std::int8_t>(mean_of(sum, mean_scale));
    return;
  }
  const Scale scale(mean_scale);
  const std::uint32_t taps = w.rows * w.columns;
  if (taps == 0 || taps > kTapsPerLane) return mean_of_many(w, scale);
  std::uint32_t channel = 0;
  // With the offset, sums are up to twice as large.
  if (taps <= kTapsPerLane / 2) {
    for (; channel + 16 <= w.channels; channel += 16) mean_of_16(w, channel, scale);
  }
  for (; channel < w.channels; channel += 8) mean_of_up_to_8(w, channel, scale);
}

}  // namespace cormorant
