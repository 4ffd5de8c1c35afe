// SPDX-License-Identifier: Apache-2.0
//
// Four channels at a time: two words of a tap are four 16-bit elements, and so are two words of weights; SMLABB and
// SMLATT multiply their halves. 8 instructions for 4 products, and a pointer.
#include "kernels/conv_depthwise_words.h"
#include "kernels/frame.h"

namespace cormorant::conv {

// Registers: r0 … r3 sums, r4 taps, r5 end of the taps that come in pairs, r6 lr taps, r7 r8 inputs, r9 r10 weights,
// r11 offset into the taps, r12 stream. Then: r6 … r9 factors, lr out. Stack: 0 taps, 4 end of the pairs, 8 end of the
// offsets, 12 whether a tap is left over, 16 out, 20 factors.

// clang-format off
#define TAP(tap)                      \
  "add " tap ", " tap ", r11\n"       \
  "ldr r7, [" tap "]\n"               \
  "ldr r8, [" tap ", #4]\n"           \
  "ldrd r9, r10, [r12], #8\n"         \
  "smlabb r0, r7, r9, r0\n"           \
  "smlatt r1, r7, r9, r1\n"           \
  "smlabb r2, r8, r10, r2\n"          \
  "smlatt r3, r8, r10, r3\n"
#define SIGNED(sum) "ssat " sum ", #16, " sum "\n"
#define POSITIVE(sum) "usat " sum ", #15, " sum "\n"

#define DEPTHWISE(SATURATE)           \
  CORMORANT_PUSH_R4_R11_LR            \
  CORMORANT_RESERVE("28")             \
  "ldrd r12, r4, [r0]\n"              \
  "ldrd r5, r6, [r0, #8]\n"           \
  "ldr r7, [r0, #16]\n"               \
  "ldr r11, [r0, #36]\n"              \
  "and r8, r5, #1\n"                  \
  "bic r5, r5, #1\n"                  \
  "strd r8, r7, [sp, #12]\n"          \
  "add r5, r4, r5, lsl #2\n"          \
  "strd r4, r5, [sp]\n"               \
  "bic r6, r6, #7\n"                  \
  "add r6, r6, r11\n"                 \
  "str r6, [sp, #8]\n"                \
  "1:\n"                              \
  "ldm r12!, {r0-r3}\n"               \
  "ldrd r4, r5, [sp]\n"               \
  "str r12, [sp, #20]\n"              \
  "add r12, r12, #16\n"               \
  "cmp r4, r5\n"                      \
  "beq 3f\n"                          \
  "2:\n"                              \
  "ldrd r6, lr, [r4], #8\n"           \
  TAP("r6") TAP("lr")                 \
  "cmp r4, r5\n"                      \
  "bne 2b\n"                          \
  "3:\n"                              \
  "ldr r6, [sp, #12]\n"               \
  "cbz r6, 4f\n"                      \
  "ldr r6, [r4]\n"                    \
  TAP("r6")                           \
  "4:\n"                              \
  "ldrd lr, r10, [sp, #16]\n"         \
  "ldm r10, {r6-r9}\n"                \
  "smmulr r0, r0, r6\n"               \
  "smmulr r1, r1, r7\n"               \
  "smmulr r2, r2, r8\n"               \
  "smmulr r3, r3, r9\n"               \
  SATURATE("r0") SATURATE("r1") SATURATE("r2") SATURATE("r3") \
  "ldr r5, [sp, #8]\n"                \
  "strh r0, [lr], #2\n"               \
  "strh r1, [lr], #2\n"               \
  "strh r2, [lr], #2\n"               \
  "strh r3, [lr], #2\n"               \
  "str lr, [sp, #16]\n"               \
  "add r11, r11, #8\n"                \
  "cmp r11, r5\n"                     \
  "bne 1b\n"                          \
  CORMORANT_RELEASE("28")             \
  "pop {r4-r11, pc}\n"

extern "C" __attribute__((naked)) void cormorant_depthwise_words_dsp(const DepthwisePixel* /*pixel*/) {
  asm volatile(DEPTHWISE(SIGNED));
}

extern "C" __attribute__((naked)) void cormorant_depthwise_words_positive_dsp(const DepthwisePixel* /*pixel*/) {
  asm volatile(DEPTHWISE(POSITIVE));
}
// clang-format on

}  // namespace cormorant::conv
