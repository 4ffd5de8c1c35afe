// SPDX-License-Identifier: Apache-2.0
//
// Depthwise windows of any size on MVE; see conv_depthwise_3x3_mve.cc. Here the pointers to the taps come from a table:
// 26 cycles for two taps of 16 channels.
#include <arm_mve.h>

#include "kernels/conv_depthwise.h"
#include "kernels/conv_depthwise_mve_asm.h"
#include "kernels/frame.h"
#include "kernels/requantize_mve.h"

namespace cormorant::conv {

static_assert(static_cast<int>(MveRequantize::general) == 0 && static_cast<int>(MveRequantize::positive) == 1);

// Registers: r0 stream; r1 blocks left; r2 shift and channel; r3 out; r4 taps; r5 r6 inputs; r11 offset; lr pairs or
// taps left. Stack: 0 taps, 4 pairs, 8 single taps, 12 min, 16 max, 20 `requantize`.

// clang-format off
// Products of odd channels wait in q6 and q7; they are widened during the next taps.
#define WIDEN_ODD(a, b, c, d)         \
  "vadd.i16 q6, q6, q7\n"             \
  a                                   \
  "vmovlb.s16 q7, q6\n"               \
  b                                   \
  "vadd.i32 q2, q2, q7\n"             \
  c                                   \
  "vmovlt.s16 q6, q6\n"               \
  d                                   \
  "vadd.i32 q3, q3, q6\n"

#define TAPS                          \
  "vmov.i32 q6, #0\n"                 \
  "vmov.i32 q7, #0\n"                 \
  "wls lr, lr, 3f\n"                  \
  "2:\n"                              \
  "ldrd r5, r6, [r4], #8\n"           \
  "add r5, r5, r2\n"                  \
  "add r6, r6, r2\n"                  \
  WIDEN_ODD("vldrb.u8 q4, [r5]\n", "vldrb.u8 q5, [r0]\n", "vmullb.s8 q4, q4, q5\n", "vldrb.u8 q5, [r6]\n") \
  "vldrb.u8 q7, [r0, #16]\n"          \
  "vmullb.s8 q5, q5, q7\n"            \
  "vldrb.u8 q6, [r5]\n"               \
  "vadd.i16 q4, q4, q5\n"             \
  "vldrb.u8 q7, [r0], #16\n"          \
  "vmovlb.s16 q5, q4\n"               \
  "vmullt.s8 q6, q6, q7\n"            \
  "vadd.i32 q0, q0, q5\n"             \
  "vldrb.u8 q7, [r6]\n"               \
  "vmovlt.s16 q4, q4\n"               \
  "vldrb.u8 q5, [r0], #16\n"          \
  "vadd.i32 q1, q1, q4\n"             \
  "vmullt.s8 q7, q7, q5\n"            \
  "le lr, 2b\n"                       \
  "3:\n"                              \
  "ldr lr, [sp, #8]\n"                \
  "wls lr, lr, 5f\n"                  \
  "4:\n"                              \
  "ldr r5, [r4], #4\n"                \
  "add r5, r5, r2\n"                  \
  WIDEN_ODD("vldrb.u8 q4, [r5]\n", "vldrb.u8 q5, [r0], #16\n", "", "vmullb.s8 q7, q4, q5\n") \
  "vmullt.s8 q6, q4, q5\n"            \
  "vmovlb.s16 q5, q7\n"               \
  "vmovlt.s16 q4, q7\n"               \
  "vadd.i32 q0, q0, q5\n"             \
  "vmov.i32 q7, #0\n"                 \
  "vadd.i32 q1, q1, q4\n"             \
  "le lr, 4b\n"                       \
  "5:\n"                              \
  WIDEN_ODD("", "", "", "")

// MULTIPLIED: all sums times their multipliers. `last` bytes follow the shifts to the right.
// Nothing changes the flags from the comparison with 1 until the block is stored.
#define DEPTHWISE(MULTIPLIED, last)   \
  CORMORANT_PUSH_R4_R11_LR            \
  CORMORANT_PUSH_D8_D15               \
  CORMORANT_RESERVE("28")             \
  "str r1, [sp, #20]\n"               \
  "ldrd r7, r8, [r0]\n"               \
  "ldrd r9, r1, [r0, #8]\n"           \
  "ldrd r3, r11, [r0, #16]\n"         \
  "ldrd r5, r6, [r0, #24]\n"          \
  "ldrd r2, r10, [r0, #36]\n"         \
  "sub r9, r9, r10, lsl #1\n"         \
  "strd r8, r10, [sp]\n"              \
  "str r9, [sp, #8]\n"                \
  "strd r5, r6, [sp, #12]\n"          \
  "add r1, r1, #15\n"                 \
  "lsr r1, r1, #4\n"                  \
  "mov r0, r7\n"                      \
  "1:\n"                              \
  "vldrw.u32 q0, [r0], #16\n"         \
  "ldrd r4, lr, [sp]\n"               \
  "vldrw.u32 q1, [r0], #16\n"         \
  "vldrw.u32 q2, [r0], #16\n"         \
  "vldrw.u32 q3, [r0], #16\n"         \
  TAPS                                \
  "ldr r12, [sp, #20]\n"              \
  "cmp r12, #1\n"                     \
  "bmi 6f\n"                          \
  MULTIPLIED                          \
  "beq 7f\n"                          \
  LOWER("q0", "q4") LOWER("q1", "q5") LOWER("q2", "q6") LOWER("q3", "q7") \
  "7:\n"                              \
  SHIFT("q0", "q4") SHIFT("q1", "q5") SHIFT("q2", "q6") SHIFT("q3", "q7") \
  "add r0, r0, #" last "\n"           \
  "8:\n"                              \
  NARROW                              \
  "beq 9f\n"                          \
  CLAMP("12", "16")                   \
  "9:\n"                              \
  "vstrb.8 q6, [r3], #16\n"           \
  "add r2, r2, #16\n"                 \
  "subs r1, r1, #1\n"                 \
  "bne.w 1b\n"                        \
  CORMORANT_CFI_LEAVING               \
  CORMORANT_RELEASE("28")             \
  CORMORANT_POP_D8_D15                \
  "pop {r4-r11, pc}\n"                \
  CORMORANT_CFI_LEFT                  \
  "6:\n"                              \
  REQUANTIZE_GENERAL_BY(MULTIPLIED, last) \
  "b 8b\n"

extern "C" __attribute__((naked)) void cormorant_depthwise_mve(const DepthwisePixel* /*pixel*/,
                                                               MveRequantize /*requantize*/) {
  asm volatile(DEPTHWISE(MULTIPLY_ALL, "16"));
}

extern "C" __attribute__((naked)) void cormorant_depthwise_prelu_mve(const DepthwisePixel* /*pixel*/,
                                                                     MveRequantize /*requantize*/) {
  asm volatile(DEPTHWISE(MULTIPLY_ALL_BY_SIGN, "80"));
}
// clang-format on

namespace {

// Sixteen sums; even channels first, as VMULLB/T and VMOVLB/T split them.
struct Sums {
  int32x4_t part[4];

  void add(int16x8_t even, int16x8_t odd) {
    part[0] = vaddq_s32(part[0], vmovlbq_s16(even));
    part[1] = vaddq_s32(part[1], vmovltq_s16(even));
    part[2] = vaddq_s32(part[2], vmovlbq_s16(odd));
    part[3] = vaddq_s32(part[3], vmovltq_s16(odd));
  }
};

}  // namespace

void depthwise_pixel_plain_mve(const DepthwisePixel& p) {
  const auto* stream = reinterpret_cast<const std::int8_t*>(p.stream);
  for (std::uint32_t channel = 0; channel < p.channels; channel += 16) {
    const mve_pred16_t lanes = vctp8q(p.channels - channel);
    Sums sums;
    for (int i = 0; i < 4; ++i) sums.part[i] = vldrwq_s32(reinterpret_cast<const std::int32_t*>(stream) + 4 * i);
    stream += 64;
    std::uint32_t tap = 0;
    for (; tap < 2 * p.pairs; tap += 2, stream += 32) {
      const int8x16_t x0 = vldrbq_z_s8(p.taps[tap] + p.shift + channel, lanes);
      const int8x16_t x1 = vldrbq_z_s8(p.taps[tap + 1] + p.shift + channel, lanes);
      const int8x16_t w0 = vldrbq_s8(stream);
      const int8x16_t w1 = vldrbq_s8(stream + 16);
      sums.add(vaddq_s16(vmullbq_int_s8(x0, w0), vmullbq_int_s8(x1, w1)),
               vaddq_s16(vmulltq_int_s8(x0, w0), vmulltq_int_s8(x1, w1)));
    }
    for (; tap < p.tap_count; ++tap, stream += 16) {
      const int8x16_t x = vldrbq_z_s8(p.taps[tap] + p.shift + channel, lanes);
      const int8x16_t w = vldrbq_s8(stream);
      sums.add(vmullbq_int_s8(x, w), vmulltq_int_s8(x, w));
    }
    for (int i = 0; i < 4; ++i) {
      const int32x4_t multiplier = vldrwq_s32(reinterpret_cast<const std::int32_t*>(stream) + 4 * i);
      const int32x4_t right = vldrbq_s32(stream + 64 + 4 * i);
      const int32x4_t left = vldrbq_s32(stream + 80 + 4 * i);
      sums.part[i] = vaddq_n_s32(requantize_mve(sums.part[i], multiplier, left, right), p.output.offset);
      sums.part[i] = vmaxq_s32(vminq_s32(sums.part[i], vdupq_n_s32(p.output.max)), vdupq_n_s32(p.output.min));
    }
    stream += 96;
    int16x8_t even = vdupq_n_s16(0);
    int16x8_t odd = vdupq_n_s16(0);
    even = vmovntq_s32(vmovnbq_s32(even, sums.part[0]), sums.part[1]);
    odd = vmovntq_s32(vmovnbq_s32(odd, sums.part[2]), sums.part[3]);
    const int8x16_t bytes = vmovntq_s16(vmovnbq_s16(vdupq_n_s8(0), even), odd);
    vstrbq_p_s8(p.out + channel, bytes, lanes);
  }
}

}  // namespace cormorant::conv
