// SPDX-License-Identifier: Apache-2.0
//
// Thumb-2 without DSP: four channels at a time share the pointers to a tap. 14 instructions for 4 products. Taps are
// taken three at a time as long as there are three.
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB >= 2

#include "kernels/conv_depthwise.h"
#include "kernels/frame.h"

namespace cormorant::conv {

// Registers: r0 … r3 sums, r4 taps, r5 end of the taps, r6 … r10 inputs and weights, r11 shift and channel, r12 stream,
// lr out. Then: r4 2 · offset + 1, r5 … r8 multipliers, r9 shifts − 1, one per byte, r10 the low half of a product,
// then rounding and offset. Stack: 0 taps, 4 end of taps, 8 the end of r11, 12 2 · offset + 1.

// clang-format off
// Four products of the next tap: consecutive loads, each of which hides a cycle of the previous one.
#define TAP                           \
  "ldr r6, [r4], #4\n"                \
  "ldrsb r8, [r12], #4\n"             \
  "ldrsb r10, [r12, #-3]\n"           \
  "add r6, r6, r11\n"                 \
  "ldrsb r7, [r6]\n"                  \
  "ldrsb r9, [r6, #1]\n"              \
  "mla r0, r7, r8, r0\n"              \
  "mla r1, r9, r10, r1\n"             \
  "ldrsb r7, [r6, #2]\n"              \
  "ldrsb r8, [r12, #-2]\n"            \
  "ldrsb r9, [r6, #3]\n"              \
  "ldrsb r10, [r12, #-1]\n"           \
  "mla r2, r7, r8, r2\n"              \
  "mla r3, r9, r10, r3\n"

// Requantizes and stores one sum; see conv_gemm_thumb2_scalar.cc. Shifts by a register use its lowest byte: shifting
// all of them brings up the next channel's.
#define RESULT(sum, multiplier)       \
  "lsl " sum ", " sum ", #1\n"        \
  "smull r10, " sum ", " sum ", " multiplier "\n" \
  "add " sum ", " sum ", r10, lsr #31\n" \
  "lsl r10, r4, r9\n"                 \
  "add " sum ", " sum ", " sum ", asr #31\n" \
  "add " sum ", " sum ", r10\n"       \
  "asr " sum ", " sum ", r9\n"        \
  "lsr r9, r9, #8\n"                  \
  "ssat " sum ", #8, " sum ", asr #1\n" \
  "strb " sum ", [lr], #1\n"

// Any sum and any shift, for blocks that are marked; see conv_depthwise_dsp.cc.
#define SHIFTS_any                    \
  "and r9, r9, #0x1f1f1f1f\n"         \
  "asr r4, r4, #1\n"                  \
  "add r9, r9, #0x01010101\n"         \
  "and r9, r9, #0x1f1f1f1f\n"
#define STORED_any(sum)               \
  "adds r10, r10, r10\n"              \
  "adc " sum ", " sum ", " sum "\n"   \
  "add " sum ", " sum ", r10, lsr #31\n" \
  "adds " sum ", " sum ", " sum ", asr #31\n" \
  "asrs " sum ", " sum ", r9\n"       \
  "adc " sum ", " sum ", r4\n"        \
  "lsr r9, r9, #8\n"                  \
  "ssat " sum ", #8, " sum "\n"       \
  "strb " sum ", [lr], #1\n"
#define RESULT_any(sum, multiplier, lane) \
  "ldrb r10, [r12, #-4+" lane "]\n"   \
  "and r10, r10, #31\n"               \
  "lsl " sum ", " sum ", r10\n"       \
  "smull r10, " sum ", " sum ", " multiplier "\n" \
  STORED_any(sum)

#define FOUR                          \
  RESULT("r0", "r5") RESULT("r1", "r6") RESULT("r2", "r7") RESULT("r3", "r8")
#define FOUR_OF_ANY(RESULT)           \
  "ldr r10, [r12, #-4]\n"             \
  "cmp r10, #0\n"                     \
  "bne 6f\n"                          \
  FOUR                                \
  "b 7f\n"                            \
  "6:\n"                              \
  SHIFTS_any                          \
  RESULT("r0", "r5", "0") RESULT("r1", "r6", "1") RESULT("r2", "r7", "2") RESULT("r3", "r8", "3") \
  "7:\n"

// With slopes: sums below zero have other multipliers, which follow the shifts.
#define BY_SIGN(sum, multiplier, at)  \
  "cmp " sum ", #0\n"                 \
  "it lt\n"                           \
  "ldrlt " multiplier ", [r12, #" at "]\n"
// What decides is the sign of what is multiplied.
#define RESULT_any_prelu(sum, multiplier, lane) \
  "ldrb r10, [r12, #-4+" lane "]\n"   \
  "and r10, r10, #31\n"               \
  "lsls " sum ", " sum ", r10\n"      \
  "ite mi\n"                          \
  "ldrmi r10, [r12, #4*" lane "]\n"   \
  "ldrpl r10, [r12, #-24+4*" lane "]\n" \
  "smull r10, " sum ", " sum ", r10\n" \
  STORED_any(sum)
#define FOUR_prelu                    \
  BY_SIGN("r0", "r5", "0") BY_SIGN("r1", "r6", "4") BY_SIGN("r2", "r7", "8") BY_SIGN("r3", "r8", "12") \
  FOUR_OF_ANY(RESULT_any_prelu)       \
  "add r12, r12, #16\n"

#define DEPTHWISE(RESULTS)            \
  CORMORANT_PUSH_R4_R11_LR            \
  CORMORANT_RESERVE("20")             \
  "ldrd r12, r4, [r0]\n"              \
  "ldrd r5, r6, [r0, #8]\n"           \
  "ldrd lr, r7, [r0, #16]\n"          \
  "add r5, r4, r5, lsl #2\n"          \
  "bic r6, r6, #3\n"                  \
  "ldr r11, [r0, #36]\n"              \
  "add r6, r6, r11\n"                 \
  "lsl r7, r7, #1\n"                  \
  "add r7, r7, #1\n"                  \
  "strd r4, r5, [sp]\n"               \
  "strd r6, r7, [sp, #8]\n"           \
  "1:\n"                              \
  "ldm r12!, {r0-r3}\n"               \
  "ldrd r4, r5, [sp]\n"               \
  "b 3f\n"                            \
  "2:\n"                              \
  TAP TAP TAP                         \
  "3:\n"                              \
  "add r6, r4, #12\n"                 \
  "cmp r6, r5\n"                      \
  "bls 2b\n"                          \
  "b 5f\n"                            \
  "4:\n"                              \
  TAP                                 \
  "5:\n"                              \
  "cmp r4, r5\n"                      \
  "bne 4b\n"                          \
  "ldm r12!, {r5-r8}\n"               \
  "ldr r9, [r12], #8\n"               \
  "ldr r4, [sp, #12]\n"               \
  "mvn r9, r9\n"                      \
  RESULTS                             \
  "ldr r4, [sp, #8]\n"                \
  "add r11, r11, #4\n"                \
  "cmp r11, r4\n"                     \
  "bne 1b\n"                          \
  CORMORANT_RELEASE("20")             \
  "pop {r4-r11, pc}\n"

extern "C" __attribute__((naked)) void cormorant_depthwise_pixel_thumb2(const DepthwisePixel* /*pixel*/) {
  asm volatile(DEPTHWISE(FOUR));
}

extern "C" __attribute__((naked)) void cormorant_depthwise_pixel_any_thumb2(const DepthwisePixel* /*pixel*/) {
  asm volatile(DEPTHWISE(FOUR_OF_ANY(RESULT_any)));
}

extern "C" __attribute__((naked)) void cormorant_depthwise_pixel_prelu_thumb2(const DepthwisePixel* /*pixel*/) {
  asm volatile(DEPTHWISE(FOUR_prelu));
}
// clang-format on

}  // namespace cormorant::conv

#endif
