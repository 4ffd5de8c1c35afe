// SPDX-License-Identifier: Apache-2.0
//
// ARMv6-M: MULS and ADD for every product, and most instructions reach only r0 … r7. Only the loading can be made
// cheaper. The patches are words in scratch, and one LDM loads four of them; weights are stored + 128, because LDRB
// takes an immediate offset and LDRSB does not; the sums are in r8 … r11, which ADD can reach. 10 instructions for 4
// products. There is no long multiply: the high half of sum · multiplier is assembled from four 16 × 16 products
// (kernels/requantize.h).
#include <cstddef>

#include "kernels/conv_gemm.h"
#include "kernels/frame.h"
#include "kernels/requantize.h"
#include "kernels/requantize_v6m.h"

namespace cormorant::conv {

static_assert(offsetof(V6mGemm, stream) == 0 && offsetof(V6mGemm, patches) == 4 && offsetof(V6mGemm, out) == 8);
static_assert(offsetof(V6mGemm, out_step) == 12 && offsetof(V6mGemm, elements) == 16 &&
              offsetof(V6mGemm, channels) == 20);
static_assert(offsetof(V6mGemm, output.offset) == 24 && offsetof(V6mGemm, excess) == 40);

// Registers: r0 … r3 patches, r4 weight, r5 patches' pointer, r6 stream, r8 … r11 sums, r12 out, lr end of the patches.
// Stack: 0 patches, 4 end of patches, 8 channels left, 12 2 · offset + 1, 16 out, 20 out_step, 24 the arguments, 28
// record, 32 stream, 36 whether the number of fours is odd.

// clang-format off
#define ELEMENT(at)                   \
  "ldmia r5!, {r0-r3}\n"              \
  "ldrb r4, [r6, #" at "]\n"          \
  "muls r0, r4, r0\n"                 \
  "muls r1, r4, r1\n"                 \
  "muls r2, r4, r2\n"                 \
  "muls r3, r4, r3\n"                 \
  "add r8, r8, r0\n"                  \
  "add r9, r9, r1\n"                  \
  "add r10, r10, r2\n"                \
  "add r11, r11, r3\n"

#define STORE                         \
  "mov r1, r12\n"                     \
  "strb r0, [r1]\n"                   \
  "add r12, r12, lr\n"
#define CHANNEL_right ""
#define RESULT_right(sum) CORMORANT_REQUANTIZE_V6M(sum) STORE

// Any sum and any shift: r6 the offset. Stack: 40 the shift to the left.
#define CHANNEL_any                   \
  "ldr r2, [sp, #28]\n"               \
  "ldrb r1, [r2, #9]\n"               \
  "str r1, [sp, #40]\n"               \
  "ldr r6, [sp, #12]\n"               \
  "asrs r6, r6, #1\n"
#define SHIFT                         \
  "ldr r1, [sp, #40]\n"               \
  "lsls r0, r0, r1\n"
#define RESULT_any(sum) CORMORANT_REQUANTIZE_ANY_V6M(sum, SHIFT) STORE

// With a multiplier for each sign.
#define SHIFT_AND_CHOOSE SHIFT CORMORANT_MULTIPLIER_V6M("28", "4", "12")
#define RESULT_prelu(sum) CORMORANT_REQUANTIZE_ANY_V6M(sum, SHIFT_AND_CHOOSE) STORE

// `HEAD`: bytes of a record before its weights.
#define GEMM(HEAD, CHANNEL, RESULT)   \
  ".syntax unified\n"                 \
  CORMORANT_PUSH_R4_R11_LR_V6M        \
  CORMORANT_RESERVE("44")             \
  "str r0, [sp, #24]\n"               \
  "ldmia r0!, {r1-r6}\n" /* stream, patches, out, out_step, elements, channels */\
  "str r2, [sp]\n"                    \
  "str r3, [sp, #16]\n"               \
  "str r4, [sp, #20]\n"               \
  "lsls r7, r5, #4\n"                 \
  "adds r7, r7, r2\n"                 \
  "str r7, [sp, #4]\n"                \
  "movs r7, #4\n"                     \
  "ands r5, r5, r7\n"                 \
  "str r5, [sp, #36]\n"               \
  "str r6, [sp, #8]\n"                \
  "ldr r7, [r0]\n" /* offset */       \
  "lsls r7, r7, #1\n"                 \
  "adds r7, r7, #1\n"                 \
  "str r7, [sp, #12]\n"               \
  "movs r6, r1\n"                     \
  \
  "1:\n" /* a channel: bias − excess */\
  "str r6, [sp, #28]\n"               \
  "ldr r4, [r6]\n"                    \
  "ldr r5, [sp, #24]\n"               \
  "adds r5, r5, #40\n"                \
  "ldmia r5!, {r0-r3}\n"              \
  "subs r0, r4, r0\n"                 \
  "mov r8, r0\n"                      \
  "subs r1, r4, r1\n"                 \
  "mov r9, r1\n"                      \
  "subs r2, r4, r2\n"                 \
  "mov r10, r2\n"                     \
  "subs r3, r4, r3\n"                 \
  "mov r11, r3\n"                     \
  "ldr r5, [sp, #4]\n"                \
  "mov lr, r5\n"                      \
  "ldr r5, [sp]\n"                    \
  "adds r6, r6, #" HEAD "\n"          \
  "ldr r7, [sp, #36]\n"               \
  "subs r6, r6, r7\n" /* the first round may have only four elements: enter it in the middle */\
  "cmp r7, #0\n"                      \
  "bne 3f\n"                          \
  "2:\n"                              \
  ELEMENT("0") ELEMENT("1") ELEMENT("2") ELEMENT("3")\
  "3:\n"                              \
  ELEMENT("4") ELEMENT("5") ELEMENT("6") ELEMENT("7")\
  "adds r6, r6, #8\n"                 \
  "cmp r5, lr\n"                      \
  "bne 2b\n"                          \
  \
  "str r6, [sp, #32]\n"               \
  "ldr r6, [sp, #28]\n"               \
  "ldr r5, [r6, #4]\n"                \
  "lsrs r4, r5, #16\n"                \
  "uxth r5, r5\n"                     \
  "movs r7, #8\n"                     \
  "ldrsb r7, [r6, r7]\n"              \
  "mvns r1, r7\n"                     \
  "rsbs r7, r7, #0\n"                 \
  "ldr r6, [sp, #12]\n"               \
  "lsls r6, r6, r1\n"                 \
  "ldr r0, [sp, #16]\n"               \
  "mov r12, r0\n"                     \
  "adds r0, r0, #1\n"                 \
  "str r0, [sp, #16]\n"               \
  "ldr r0, [sp, #20]\n"               \
  "mov lr, r0\n"                      \
  CHANNEL RESULT("r8") RESULT("r9") RESULT("r10") RESULT("r11")\
  "ldr r6, [sp, #32]\n"               \
  "ldr r0, [sp, #8]\n"                \
  "subs r0, r0, #1\n"                 \
  "str r0, [sp, #8]\n"                \
  "beq 4f\n"                          \
  "b 1b\n"                            \
  "4:\n"                              \
  CORMORANT_RELEASE("44")             \
  CORMORANT_POP_R4_R11_PC_V6M

extern "C" __attribute__((naked)) void cormorant_conv_gemm_right_v6m(const V6mGemm* /*gemm*/) {
  asm volatile(GEMM("12", CHANNEL_right, RESULT_right));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_any_v6m(const V6mGemm* /*gemm*/) {
  asm volatile(GEMM("12", CHANNEL_any, RESULT_any));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_prelu_v6m(const V6mGemm* /*gemm*/) {
  asm volatile(GEMM("16", CHANNEL_any, RESULT_prelu));
}
// clang-format on

}  // namespace cormorant::conv
