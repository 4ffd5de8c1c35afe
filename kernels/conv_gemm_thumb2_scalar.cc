// SPDX-License-Identifier: Apache-2.0
//
// Thumb-2 has MLA, one product per instruction, and nothing that unpacks bytes more cheaply than LDRSB. So the patches,
// which all channels read again, are widened to words once, and one LDM loads three of them; the weights are loaded
// byte by byte and used three times. 2 channels × 3 pixels fill the registers: 9 instructions for 6 products.
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB >= 2

#include <cstddef>

#include "kernels/conv_gemm.h"
#include "kernels/frame.h"

namespace cormorant::conv {

static_assert(offsetof(ScalarGemm, stream) == 0 && offsetof(ScalarGemm, patches) == 4 &&
              offsetof(ScalarGemm, out) == 8);
static_assert(offsetof(ScalarGemm, out_step) == 12 && offsetof(ScalarGemm, elements) == 16);
static_assert(offsetof(ScalarGemm, channels) == 20 && offsetof(ScalarGemm, output.offset) == 24);

// Registers: r0 r1 r2 sums of the first channel, r3 r4 r5 of the second; r6 r7 r8 patches; r9 r10 weights; r11 patches'
// pointer; r12 stream; lr rounds left. Then: r6 multiplier, r7 shift, r8 rounding and offset, r9 result, r10 2 · offset
// + 1, r11 record, r12 low half of the product. Stack: 0 out, 4 out_step, 8 patches, 12 rounds, 16 record, 20 channels
// left, 24 2 · offset + 1, 28 elements, 32 stream.

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

// Accumulators are below 2^30 and shifts at least 1: the high half of twice the sum times the multiplier, rounded by
// the low half's top bit, is the doubling high multiply; the rounding term of the shift (2^(e − 1)) and the output's
// offset (offset · 2^e) are one number, (2 · offset + 1) · 2^(e − 1).
#define CHANNEL(lane)                 \
  "ldrsb r7, [r11, #16+" lane "]\n"   \
  "ldr r6, [r11, #8+4*" lane "]\n"    \
  "mvn r9, r7\n"                      \
  "rsb r7, r7, #0\n"                  \
  "lsl r8, r10, r9\n"

#define RESULT_positive(sum)          \
  "lsl r9, " sum ", #1\n"             \
  "smull r12, r9, r9, r6\n"           \
  "add r9, r9, r12, lsr #31\n"        \
  "add r9, r9, r8\n"                  \
  "asr r9, r9, r7\n"                  \
  "ssat " sum ", #8, r9\n"
// Ties of negative numbers round down.
#define RESULT_right(sum)             \
  "lsl r9, " sum ", #1\n"             \
  "smull r12, r9, r9, r6\n"           \
  "add r9, r9, r12, lsr #31\n"        \
  "add r9, r9, r9, asr #31\n"         \
  "add r9, r9, r8\n"                  \
  "asr r9, r9, r7\n"                  \
  "ssat " sum ", #8, r9\n"

// Any sum and any shift, see conv_gemm_dsp.cc. Then: r8 offset, lr the shift to the left.
#define CHANNEL_any(lane)             \
  "ldrsb r7, [r11, #16+" lane "]\n"   \
  "ldrsb lr, [r11, #18+" lane "]\n"   \
  "ldr r6, [r11, #8+4*" lane "]\n"    \
  "rsb r7, r7, #0\n"                  \
  "asr r8, r10, #1\n"
#define SHIFTED(sum)                  \
  "adds r12, r12, r12\n"              \
  "adc r9, r9, r9\n"                  \
  "add r9, r9, r12, lsr #31\n"        \
  "adds r9, r9, r9, asr #31\n"        \
  "asrs r9, r9, r7\n"                 \
  "adc r9, r9, r8\n"                  \
  "ssat " sum ", #8, r9\n"
#define RESULT_any(sum)               \
  "lsl r9, " sum ", lr\n"             \
  "smull r12, r9, r9, r6\n"           \
  SHIFTED(sum)

// With a multiplier for each sign: r10 is the one for sums below zero.
#define CHANNEL_prelu(lane)           \
  "ldr r10, [sp, #24]\n"              \
  CHANNEL_any(lane)                   \
  "ldr r10, [r11, #20+4*" lane "]\n"
#define RESULT_prelu(sum)             \
  "lsls r9, " sum ", lr\n"            \
  "ite mi\n"                          \
  "smullmi r12, r9, r9, r10\n"        \
  "smullpl r12, r9, r9, r6\n"         \
  SHIFTED(sum)

// `HEAD`: bytes of a record before its weights.
#define GEMM(HEAD, CHANNEL, RESULT)   \
  CORMORANT_PUSH_R4_R11_LR            \
  CORMORANT_RESERVE("36")             \
  "ldrd r12, r1, [r0]\n"              \
  "ldrd r2, r3, [r0, #8]\n"           \
  "ldrd r4, r5, [r0, #16]\n"          \
  "ldr r6, [r0, #24]\n"               \
  "strd r2, r3, [sp]\n"               \
  "add r7, r4, #3\n"                  \
  "lsr r7, r7, #2\n"                  \
  "strd r1, r7, [sp, #8]\n"           \
  "lsl r6, r6, #1\n"                  \
  "add r6, r6, #1\n"                  \
  "strd r5, r6, [sp, #20]\n"          \
  "str r4, [sp, #28]\n"               \
  "1:\n"                              \
  "str r12, [sp, #16]\n"              \
  "ldrd r0, r3, [r12], #" HEAD "\n"   \
  "ldrd r11, lr, [sp, #8]\n"          \
  "ldr r6, [sp, #28]\n"               \
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
  "ldr r10, [sp, #24]\n"              \
  "str r12, [sp, #32]\n"              \
  CHANNEL("0")                        \
  RESULT("r0") RESULT("r1") RESULT("r2") \
  CHANNEL("1")                        \
  RESULT("r3") RESULT("r4") RESULT("r5") \
  "ldrd lr, r10, [sp]\n"              \
  "ldr r6, [sp, #20]\n"               \
  "add r9, lr, r10\n"                 \
  "add r10, r9, r10\n"                \
  "strb r3, [lr, #1]\n"               \
  "strb r0, [lr], #2\n"               \
  "strb r1, [r9]\n"                   \
  "strb r4, [r9, #1]\n"               \
  "strb r2, [r10]\n"                  \
  "strb r5, [r10, #1]\n"              \
  "str lr, [sp]\n"                    \
  "ldr r12, [sp, #32]\n"              \
  "subs r6, r6, #2\n"                 \
  "str r6, [sp, #20]\n"               \
  "bne 1b\n"                          \
  CORMORANT_RELEASE("36")             \
  "pop {r4-r11, pc}\n"

extern "C" __attribute__((naked)) void cormorant_conv_gemm_right_scalar(const ScalarGemm* /*gemm*/) {
  asm volatile(GEMM("20", CHANNEL, RESULT_right));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_positive_scalar(const ScalarGemm* /*gemm*/) {
  asm volatile(GEMM("20", CHANNEL, RESULT_positive));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_any_scalar(const ScalarGemm* /*gemm*/) {
  asm volatile(GEMM("20", CHANNEL_any, RESULT_any));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_prelu_scalar(const ScalarGemm* /*gemm*/) {
  asm volatile(GEMM("28", CHANNEL_prelu, RESULT_prelu));
}
// clang-format on

}  // namespace cormorant::conv

#endif
