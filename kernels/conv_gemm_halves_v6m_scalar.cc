// SPDX-License-Identifier: Apache-2.0
//
// ARMv6-M: MULS of two pixels at once, as conv_gemm_halves_thumb2_scalar.cc explains. Three of the sums are in high
// registers, which ADD can reach. The carry of ASRS is the lower half's sign, which is what the upper half lacks: ADCS
// adds it, but only to a low register. 20 instructions, 26 cycles for 8 products; LDM, MULS and ADD would take 30.
#include <cstddef>

#include "kernels/conv_gemm.h"
#include "kernels/frame.h"
#include "kernels/requantize.h"
#include "kernels/requantize_v6m.h"

namespace cormorant::conv {

static_assert(offsetof(HalvesGemm, stream) == 0 && offsetof(HalvesGemm, patches) == 4 &&
              offsetof(HalvesGemm, out) == 8);
static_assert(offsetof(HalvesGemm, out_step) == 12 && offsetof(HalvesGemm, elements) == 16 &&
              offsetof(HalvesGemm, channels) == 20);
static_assert(offsetof(HalvesGemm, output.offset) == 24);

// Most channels' sums are small, as their records say; the others may have any sum and shift.
// Registers: r0 … r3 patches of two elements, r4 weight, r5 patches' pointer, r6 stream, r8 r9 r10 r7 sums, lr end of
// the patches. Then: r8 … r11 sums, r12 out, lr out_step. Stack: 0 patches, 4 end of patches, 8 channels left, 12 2 ·
// offset + 1, 16 out, 20 out_step, 28 record, 32 stream, 36 whether the number of fours is odd, 40 the shift
// to the left.

// clang-format off
#define TWO(first, second)            \
  "ldmia r5!, {r0-r3}\n"              \
  "ldrb r4, [r6, #" first "]\n"       \
  "sxtb r4, r4\n"                     \
  "muls r0, r4, r0\n"                 \
  "muls r1, r4, r1\n"                 \
  "ldrb r4, [r6, #" second "]\n"      \
  "sxtb r4, r4\n"                     \
  "muls r2, r4, r2\n"                 \
  "muls r3, r4, r3\n"                 \
  "adds r0, r0, r2\n"                 \
  "adds r1, r1, r3\n"                 \
  "sxth r2, r0\n"                     \
  "add r8, r8, r2\n"                  \
  "subs r0, r0, r2\n"                 \
  "asrs r0, r0, #16\n"                \
  "add r9, r9, r0\n"                  \
  "sxth r3, r1\n"                     \
  "add r10, r10, r3\n"                \
  "asrs r1, r1, #16\n"                \
  "adcs r7, r7, r1\n"

#define STORE                         \
  "mov r1, r12\n"                     \
  "strb r0, [r1]\n"                   \
  "add r12, r12, lr\n"
#define RESULT_small(sum) CORMORANT_REQUANTIZE_SMALL_V6M(sum) STORE
#define SHIFT                         \
  "ldr r1, [sp, #40]\n"               \
  "lsls r0, r0, r1\n"
#define RESULT_any(sum) CORMORANT_REQUANTIZE_ANY_V6M(sum, SHIFT) STORE

// With a multiplier for each sign.
#define SHIFT_AND_CHOOSE SHIFT CORMORANT_MULTIPLIER_V6M("28", "4", "12")
#define RESULT_prelu(sum) CORMORANT_REQUANTIZE_ANY_V6M(sum, SHIFT_AND_CHOOSE) STORE

// `HEAD`: bytes of a record before its weights.
#define GEMM(HEAD, RESULTS, REST)     \
  ".syntax unified\n"                 \
  CORMORANT_PUSH_R4_R11_LR_V6M        \
  CORMORANT_RESERVE("44")             \
  "ldmia r0!, {r1-r6}\n" /* stream, patches, out, out_step, elements, channels */\
  "str r2, [sp]\n"                    \
  "str r3, [sp, #16]\n"               \
  "str r4, [sp, #20]\n"               \
  "lsls r7, r5, #3\n"                 \
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
  "1:\n" /* a channel */              \
  "str r6, [sp, #28]\n"               \
  "ldr r4, [sp, #36]\n"               \
  "ldr r5, [sp, #4]\n"                \
  "mov lr, r5\n"                      \
  "ldr r5, [sp]\n"                    \
  "ldr r7, [r6]\n"                    \
  "mov r8, r7\n"                      \
  "mov r9, r7\n"                      \
  "mov r10, r7\n"                     \
  "adds r6, r6, #" HEAD "\n"          \
  "cmp r4, #0\n"                      \
  "beq 2f\n"                          \
  "subs r6, r6, #4\n" /* the first round has only four elements: enter it in the middle */\
  "b 3f\n"                            \
  "2:\n"                              \
  TWO("0", "1") TWO("2", "3")         \
  "3:\n"                              \
  TWO("4", "5") TWO("6", "7")         \
  "adds r6, r6, #8\n"                 \
  "cmp r5, lr\n"                      \
  "bne 2b\n"                          \
  "mov r11, r7\n"                     \
  "str r6, [sp, #32]\n"               \
  "ldr r6, [sp, #28]\n"               \
  "ldr r5, [r6, #4]\n"                \
  "movs r7, #8\n"                     \
  "ldrsb r7, [r6, r7]\n"              \
  "ldrb r2, [r6, #9]\n"               \
  "ldrb r3, [r6, #10]\n"              \
  "mvns r1, r7\n"                     \
  "rsbs r7, r7, #0\n"                 \
  "ldr r0, [sp, #16]\n"               \
  "mov r12, r0\n"                     \
  "adds r0, r0, #1\n"                 \
  "str r0, [sp, #16]\n"               \
  "ldr r0, [sp, #20]\n"               \
  "mov lr, r0\n"                      \
  "ldr r6, [sp, #12]\n"               \
  "lsls r6, r6, r1\n"                 \
  RESULTS                             \
  "ldr r6, [sp, #32]\n"               \
  "ldr r0, [sp, #8]\n"                \
  "subs r0, r0, #1\n"                 \
  "str r0, [sp, #8]\n"                \
  "beq 7f\n"                          \
  "b 1b\n"                            \
  "7:\n"                              \
  CORMORANT_CFI_LEAVING               \
  CORMORANT_RELEASE("44")             \
  CORMORANT_POP_R4_R11_PC_V6M         \
  CORMORANT_CFI_LEFT                  \
  REST

#define FOUR(RESULT) RESULT("r8") RESULT("r9") RESULT("r10") RESULT("r11")
#define SMALL                         \
  "cmp r3, #0\n"                      \
  "bne 9f\n"                          \
  "b 6f\n"                            \
  "9:\n"                              \
  CORMORANT_PIECES_V6M                \
  FOUR(RESULT_small)                  \
  "4:\n"
#define SHIFTS                        \
  "str r2, [sp, #40]\n"               \
  "ldr r6, [sp, #12]\n"               \
  "asrs r6, r6, #1\n"
#define OTHERS                        \
  "6:\n"                              \
  "lsrs r4, r5, #16\n"                \
  "uxth r5, r5\n"                     \
  SHIFTS                              \
  FOUR(RESULT_any)                    \
  "b 4b\n"

extern "C" __attribute__((naked)) void cormorant_conv_gemm_halves_v6m(const HalvesGemm* /*gemm*/) {
  asm volatile(GEMM("12", SMALL, OTHERS));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_prelu_halves_v6m(const HalvesGemm* /*gemm*/) {
  asm volatile(GEMM("16", SHIFTS FOUR(RESULT_prelu), ""));
}
// clang-format on

}  // namespace cormorant::conv
