// SPDX-License-Identifier: Apache-2.0
//
// Thumb-2 without DSP: four channels at a time share the pointers to a tap. 14 instructions for 4 products.
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB >= 2

#include "kernels/conv_depthwise_thumb2.h"

namespace cormorant::conv {

// r10 is also the low half of a product.

// clang-format off
#define TAP                           \
  "ldr r6, [r4], #4\n"                \
  "ldrsb r8, [r12], #1\n"             \
  "add r6, r6, r11\n"                 \
  "ldrsb r7, [r6]\n"                  \
  "ldrsb r9, [r6, #1]\n"              \
  "ldrsb r10, [r12], #1\n"            \
  "mla r0, r7, r8, r0\n"              \
  "ldrsb r7, [r6, #2]\n"              \
  "ldrsb r8, [r12], #1\n"             \
  "mla r1, r9, r10, r1\n"             \
  "ldrsb r9, [r6, #3]\n"              \
  "ldrsb r10, [r12], #1\n"            \
  "mla r2, r7, r8, r2\n"              \
  "mla r3, r9, r10, r3\n"

// See conv_gemm_thumb2_scalar.cc. Shifts by a register take its lowest byte: the next channel's comes by shifting all of them.
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

extern "C" __attribute__((naked)) void cormorant_depthwise_pixel_thumb2(const DepthwisePixel* /*pixel*/) {
  asm volatile(CORMORANT_DEPTHWISE_PIXEL);
}
// clang-format on

}  // namespace cormorant::conv

#endif
