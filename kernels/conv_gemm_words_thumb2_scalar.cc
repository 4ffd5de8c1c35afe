// SPDX-License-Identifier: Apache-2.0
//
// The loop of conv_gemm_thumb2_scalar.cc; a long multiplication, its rounding and a saturation follow the sum.
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB >= 2

#include <cstddef>

#include "kernels/conv_gemm_words.h"
#include "kernels/frame.h"

namespace cormorant::conv {

static_assert(offsetof(ScalarGemm, stream) == 0 && offsetof(ScalarGemm, patches) == 4 &&
              offsetof(ScalarGemm, out) == 8);
static_assert(offsetof(ScalarGemm, out_step) == 12 && offsetof(ScalarGemm, elements) == 16 &&
              offsetof(ScalarGemm, channels) == 20);

// Registers: r0 r1 r2 sums of the first channel, r3 r4 r5 of the second; r6 r7 r8 patches; r9 r10 weights; r11 patches'
// pointer; r12 stream; lr rounds left. Stack: 0 out, 4 out_step, 8 patches, 12 rounds, 16 record, 20 channels left, 24
// elements.

// clang-format off
#define ELEMENT                       \
  "ldm r11!, {r6, r7, r8}\n"          \
  "ldrsb r9, [r12], #1\n"             \
  "ldrsb r10, [r12], #1\n"            \
  "mla r0, r6, r9, r0\n"              \
  "mla r1, r7, r9, r1\n"              \
  "mla r2, r8, r9, r2\n"              \
  "mla r3, r6, r10, r3\n"             \
  "mla r4, r7, r10, r4\n"             \
  "mla r5, r8, r10, r5\n"

#define SIGNED(sum, factor)           \
  "smull r9, " sum ", " sum ", " factor "\n" \
  "add " sum ", " sum ", r9, lsr #31\n" \
  "ssat " sum ", #16, " sum "\n"
#define POSITIVE(sum, factor)         \
  "smull r9, " sum ", " sum ", " factor "\n" \
  "add " sum ", " sum ", r9, lsr #31\n" \
  "usat " sum ", #15, " sum "\n"

#define GEMM(RESULT)                  \
  CORMORANT_PUSH_R4_R11_LR            \
  CORMORANT_RESERVE("28")             \
  "ldrd r12, r1, [r0]\n"              \
  "ldrd r2, r3, [r0, #8]\n"           \
  "ldrd r4, r5, [r0, #16]\n"          \
  "strd r2, r3, [sp]\n"               \
  "add r7, r4, #3\n"                  \
  "lsr r7, r7, #2\n"                  \
  "strd r1, r7, [sp, #8]\n"           \
  "strd r5, r4, [sp, #20]\n"          \
  "1:\n"                              \
  "str r12, [sp, #16]\n"              \
  "ldrd r0, r3, [r12], #16\n"         \
  "ldrd r11, lr, [sp, #8]\n"          \
  "ldr r6, [sp, #24]\n"               \
  "mov r1, r0\n"                      \
  "mov r2, r0\n"                      \
  "mov r4, r3\n"                      \
  "mov r5, r3\n"                      \
  "lsls r6, r6, #30\n"                \
  "bne 3f\n"                          \
  "2:\n"                              \
  ELEMENT ELEMENT                     \
  "3:\n"                              \
  ELEMENT ELEMENT                     \
  "subs lr, lr, #1\n"                 \
  "bne 2b\n"                          \
  "ldr r11, [sp, #16]\n"              \
  "ldrd r6, r7, [r11, #8]\n"          \
  RESULT("r0", "r6") RESULT("r1", "r6") RESULT("r2", "r6") \
  RESULT("r3", "r7") RESULT("r4", "r7") RESULT("r5", "r7") \
  "ldrd lr, r10, [sp]\n"              \
  "ldr r6, [sp, #20]\n"               \
  "add r9, lr, r10\n"                 \
  "add r10, r9, r10\n"                \
  "strh r3, [lr, #2]\n"               \
  "strh r0, [lr], #4\n"               \
  "strh r1, [r9]\n"                   \
  "strh r4, [r9, #2]\n"               \
  "strh r2, [r10]\n"                  \
  "strh r5, [r10, #2]\n"              \
  "str lr, [sp]\n"                    \
  "subs r6, r6, #2\n"                 \
  "str r6, [sp, #20]\n"               \
  "bne 1b\n"                          \
  CORMORANT_RELEASE("28")             \
  "pop {r4-r11, pc}\n"

extern "C" __attribute__((naked)) void cormorant_conv_gemm_words_scalar(const ScalarGemm* /*gemm*/) {
  asm volatile(GEMM(SIGNED));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_words_positive_scalar(const ScalarGemm* /*gemm*/) {
  asm volatile(GEMM(POSITIVE));
}
// clang-format on

}  // namespace cormorant::conv

#endif
