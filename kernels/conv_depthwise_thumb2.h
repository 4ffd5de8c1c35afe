// SPDX-License-Identifier: Apache-2.0
//
// The loop over channels and taps of one depthwise pixel, for Thumb-2 with and without DSP, as the text of a function.
// Whoever includes it defines TAP, four products of the next tap, and RESULT(sum, multiplier), which requantizes and
// stores one sum. Taps are taken three at a time while there are three.
#pragma once

#include <cstddef>

#include "kernels/conv_depthwise.h"

namespace cormorant::conv {

static_assert(offsetof(DepthwisePixel, stream) == 0 && offsetof(DepthwisePixel, taps) == 4);
static_assert(offsetof(DepthwisePixel, tap_count) == 8 && offsetof(DepthwisePixel, channels) == 12);
static_assert(offsetof(DepthwisePixel, out) == 16 && offsetof(DepthwisePixel, output.offset) == 20 &&
              offsetof(DepthwisePixel, shift) == 36);

// Registers: r0 … r3 sums, r4 taps, r5 end of the taps, r6 … r10 inputs and weights, r11 shift and channel, r12 stream,
// lr out. Then: r4 2 · offset + 1, r5 … r8 multipliers, r9 shifts − 1, one per byte, r10 rounding and offset. Stack: 0
// taps, 4 end of taps, 8 the end of r11, 12 2 · offset + 1.
// clang-format off
#define CORMORANT_DEPTHWISE_PIXEL \
  "push {r4-r11, lr}\n" \
  "sub sp, sp, #20\n" \
  "ldrd r12, r4, [r0]\n" \
  "ldrd r5, r6, [r0, #8]\n" \
  "ldrd lr, r7, [r0, #16]\n" \
  "add r5, r4, r5, lsl #2\n" \
  "bic r6, r6, #3\n" \
  "ldr r11, [r0, #36]\n" \
  "add r6, r6, r11\n" \
  "lsl r7, r7, #1\n" \
  "add r7, r7, #1\n" \
  "strd r4, r5, [sp]\n" \
  "strd r6, r7, [sp, #8]\n" \
  "1:\n" \
  "ldm r12!, {r0-r3}\n" \
  "ldrd r4, r5, [sp]\n" \
  "b 3f\n" \
  "2:\n" \
  TAP TAP TAP \
  "3:\n" \
  "add r6, r4, #12\n" \
  "cmp r6, r5\n" \
  "bls 2b\n" \
  "b 5f\n" \
  "4:\n" \
  TAP \
  "5:\n" \
  "cmp r4, r5\n" \
  "bne 4b\n" \
  "ldm r12!, {r5-r8}\n" \
  "ldr r9, [r12], #8\n" \
  "ldr r4, [sp, #12]\n" \
  "mvn r9, r9\n" \
  RESULT("r0", "r5") RESULT("r1", "r6") RESULT("r2", "r7") RESULT("r3", "r8") \
  "ldr r4, [sp, #8]\n" \
  "add r11, r11, #4\n" \
  "cmp r11, r4\n" \
  "bne 1b\n" \
  "add sp, sp, #20\n" \
  "pop {r4-r11, pc}\n"
// clang-format on

}  // namespace cormorant::conv
