// SPDX-License-Identifier: Apache-2.0
//
// PKHBT and PKHTB put the two channels of a group under two taps into a word, in the order in which weights are stored:
// 33 instructions for 16 products of two groups.
#include "kernels/conv_pairs_dsp.h"

#include <cstddef>

#include "kernels/frame.h"

namespace cormorant::conv {

static_assert(sizeof(void*) != 4 ||
              (offsetof(DspPairs, stream) == 0 && offsetof(DspPairs, taps) == 4 && offsetof(DspPairs, out) == 8 &&
               offsetof(DspPairs, tap_pairs) == 12 && offsetof(DspPairs, shift) == 16 &&
               offsetof(DspPairs, group_pairs) == 20 && offsetof(DspPairs, offset) == 24));

// Registers: r0 r1 sums of the first group's channels, r2 r3 of the second's; r4 taps; r10 shift and
// channel; r12 and r11 the groups' streams. Then: r4 record, r5 rounding and offset, r6 r7 multipliers, r8 shifts − 1,
// one per byte, r9 2 · offset + 1, lr out. Stack: 0 taps, 4 their end, 8 out, 12 pairs of groups left, 16 bytes of a
// record, 20 2 · offset + 1.

// clang-format off
// The words r8 and r9 of weights, for two products of each of a group's channels; `inputs` is two taps of both of them.
#define PRODUCTS(inputs, a, b)        \
  "sxtb16 r7, " inputs "\n"           \
  "sxtb16 lr, r8\n"                   \
  "sxtb16 r8, r8, ror #8\n"           \
  "smlad " a ", r7, lr, " a "\n"      \
  "sxtb16 lr, r9\n"                   \
  "smlad " b ", r7, r8, " b "\n"      \
  "sxtb16 " inputs ", " inputs ", ror #8\n" \
  "sxtb16 r9, r9, ror #8\n"           \
  "smlad " a ", " inputs ", lr, " a "\n" \
  "smlad " b ", " inputs ", r9, " b "\n"

// See conv_gemm_dsp.cc and, for the shifts, conv_depthwise_dsp.cc.
#define RESULT(sum, multiplier)       \
  "lsl r5, r9, r8\n"                  \
  "add r5, r5, " sum ", asr #31\n"    \
  "add " sum ", " sum ", " sum "\n"   \
  "smmlar " sum ", " sum ", " multiplier ", r5\n" \
  "asr " sum ", " sum ", r8\n"        \
  "lsr r8, r8, #8\n"                  \
  "ssat " sum ", #8, " sum ", asr #1\n"
#define GROUP(record, a, b)           \
  "ldrd r6, r7, [" record ", #8]\n"   \
  "ldr r8, [" record ", #16]\n"       \
  "mvn r8, r8\n"                      \
  RESULT(a, "r6") RESULT(b, "r7")

extern "C" __attribute__((naked)) void cormorant_conv_pairs_dsp(const DspPairs* /*pixel*/) {
  asm volatile(
      CORMORANT_PUSH_R4_R11_LR
      CORMORANT_RESERVE("28")
      "ldrd r12, r4, [r0]\n"
      "ldrd r6, r7, [r0, #8]\n"
      "ldrd r10, r8, [r0, #16]\n"
      "ldr r9, [r0, #24]\n"
      "add r5, r4, r7, lsl #3\n"
      "lsl r7, r7, #3\n"
      "add r7, r7, #20\n"
      "lsl r9, r9, #1\n"
      "add r9, r9, #1\n"
      "strd r4, r5, [sp]\n"
      "strd r6, r8, [sp, #8]\n"
      "strd r7, r9, [sp, #16]\n"
      "1:\n"
      "ldr r7, [sp, #16]\n"
      "ldr r4, [sp]\n"
      "add r11, r12, r7\n"
      "ldrd r0, r1, [r12], #20\n"
      "ldrd r2, r3, [r11], #20\n"
      // Two taps. Consecutive loads, none of which waits for the previous one; nothing else sets flags.
      "2:\n"
      "ldr r6, [r4, #4]\n"
      "ldr r5, [r4], #8\n"
      "ldr lr, [sp, #4]\n"
      "ldr r6, [r6, r10]\n"
      "ldr r7, [r5, r10]\n"
      "ldr r9, [r12, #4]\n"
      "ldr r8, [r12], #8\n"
      "cmp r4, lr\n"
      "pkhbt r5, r7, r6, lsl #16\n"
      "pkhtb r6, r6, r7, asr #16\n"
      PRODUCTS("r5", "r0", "r1")
      "ldr r9, [r11, #4]\n"
      "ldr r8, [r11], #8\n"
      PRODUCTS("r6", "r2", "r3")
      "bne 2b\n"
      "ldr r5, [sp, #16]\n"
      "ldr r9, [sp, #20]\n"
      "sub r4, r12, r5\n"
      GROUP("r4", "r0", "r1")
      GROUP("r12", "r2", "r3")
      "ldrd lr, r6, [sp, #8]\n"
      "mov r12, r11\n"
      "add r10, r10, #4\n"
      "strb r1, [lr, #1]\n"
      "strb r2, [lr, #2]\n"
      "strb r3, [lr, #3]\n"
      "strb r0, [lr], #4\n"
      "subs r6, r6, #1\n"
      "strd lr, r6, [sp, #8]\n"
      "bne 1b\n"
      CORMORANT_RELEASE("28")
      "pop {r4-r11, pc}\n");
}
// clang-format on

}  // namespace cormorant::conv
