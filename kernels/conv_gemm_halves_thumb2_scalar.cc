// SPDX-License-Identifier: Apache-2.0
//
// Thumb-2 without DSP has MUL in one cycle and MLA in two, and either multiplies two pixels at once if these are the
// halves of a word: x + 2^16 · y, times w. The lower half of a sum of two such products is the sum for x, since two
// weights of at most 127 keep it within 16 bits; then the halves are separated and added to sums of 32 bits. 1 channel
// × 4 pixels: 18 instructions, 21 cycles for 8 products; LDRSB, LDM and MLA would take 24 cycles. With 4-bit weights
// eight products fit, and halves are separated only then: 10 instructions, 19 cycles for 8 products.
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB >= 2

#include <cstddef>

#include "kernels/conv_gemm.h"
#include "kernels/frame.h"

namespace cormorant::conv {

static_assert(offsetof(HalvesGemm, stream) == 0 && offsetof(HalvesGemm, patches) == 4 &&
              offsetof(HalvesGemm, out) == 8);
static_assert(offsetof(HalvesGemm, out_step) == 12 && offsetof(HalvesGemm, elements) == 16);
static_assert(offsetof(HalvesGemm, channels) == 20 && offsetof(HalvesGemm, output.offset) == 24);
static_assert(offsetof(HalvesGemm, output.rounding) == 36);

// Registers: r0 … r3 sums; r4 … r7 patches of two elements; r8 r9 weights; r10 a sum in halves; r11 patches' pointer;
// r12 stream; lr twice the rounds left, one less where rounding is general. Then: r4 r5 results, r6 multiplier, r7
// shift, r8 rounding and offset, r10 out_step, r11 record, lr out. Stack: 0 out, 4 out_step, 8 patches, 12 rounds, 16
// record, 20 channels left, 24 2 · offset + 1, 28 whether the number of fours is odd.

// clang-format off
#define TAKE_APART(both, half, low, high) \
  "sxth " half ", " both "\n"         \
  "add " low ", " low ", " half "\n"  \
  "sub " both ", " both ", " half "\n" \
  "add " high ", " high ", " both ", asr #16\n"

// Consecutive loads, each of which hides a cycle of the previous one.
#define TWO                           \
  "ldrsb r9, [r12, #1]\n"             \
  "ldrsb r8, [r12], #2\n"             \
  "ldr r5, [r11, #4]\n"               \
  "ldr r6, [r11, #8]\n"               \
  "ldr r7, [r11, #12]\n"              \
  "ldr r4, [r11], #16\n"              \
  "mul r10, r4, r8\n"                 \
  "mla r10, r6, r9, r10\n"            \
  "mul r5, r8, r5\n"                  \
  "mla r5, r7, r9, r5\n"              \
  TAKE_APART("r10", "r4", "r0", "r1") \
  TAKE_APART("r5", "r6", "r2", "r3")

// See conv_gemm_thumb2_scalar.cc.
#define RESULT_right(sum)             \
  "lsl r4, " sum ", #1\n"             \
  "smull r5, r4, r4, r6\n"            \
  "add r4, r4, r5, lsr #31\n"         \
  "add r4, r4, r4, asr #31\n"         \
  "add r4, r4, r8\n"                  \
  "asr r4, r4, r7\n"                  \
  "ssat r4, #8, r4\n"                 \
  "strb r4, [lr]\n"                   \
  "add lr, lr, r10\n"

// Any sum and any shift, see conv_gemm_dsp.cc: r8 offset, r9 the shift to the left.
#define SHIFTED                       \
  "adds r5, r5, r5\n"                 \
  "adc r4, r4, r4\n"                  \
  "add r4, r4, r5, lsr #31\n"         \
  "adds r4, r4, r4, asr #31\n"        \
  "asrs r4, r4, r7\n"                 \
  "adc r4, r4, r8\n"                  \
  "ssat r4, #8, r4\n"                 \
  "strb r4, [lr]\n"                   \
  "add lr, lr, r10\n"
#define RESULT_any(sum)               \
  "lsl r4, " sum ", r9\n"             \
  "smull r5, r4, r4, r6\n"            \
  SHIFTED
// With a multiplier for each sign: r11 is the one for sums below zero.
#define RESULT_prelu(sum)             \
  "lsls r4, " sum ", r9\n"            \
  "ite mi\n"                          \
  "smullmi r5, r4, r4, r11\n"         \
  "smullpl r5, r4, r4, r6\n"          \
  SHIFTED

// `HEAD`: bytes of a record before its weights.
#define GEMM(HEAD, RESULTS, REST)     \
  CORMORANT_PUSH_R4_R11_LR            \
  CORMORANT_RESERVE("36")             \
  "ldrd r12, r1, [r0]\n"              \
  "ldrd r2, r3, [r0, #8]\n"           \
  "ldrd r4, r5, [r0, #16]\n"          \
  "ldr r6, [r0, #24]\n"               \
  "ldrb r8, [r0, #36]\n"              \
  "strd r2, r3, [sp]\n"               \
  "sub r8, r8, #1\n" /* right: 0, positive: 1 */\
  "lsrs r8, r8, #1\n"                 \
  "it ne\n"                           \
  "movne r8, #1\n"                    \
  "add r7, r4, #7\n"                  \
  "lsr r7, r7, #3\n"                  \
  "rsb r7, r8, r7, lsl #1\n"          \
  "strd r1, r7, [sp, #8]\n"           \
  "lsl r6, r6, #1\n"                  \
  "add r6, r6, #1\n"                  \
  "strd r5, r6, [sp, #20]\n"          \
  "and r4, r4, #4\n"                  \
  "str r4, [sp, #28]\n"               \
  "1:\n"                              \
  "str r12, [sp, #16]\n"              \
  "ldr r4, [sp, #28]\n"               \
  "ldr r11, [sp, #8]\n"               \
  "ldr lr, [sp, #12]\n"               \
  "ldr r0, [r12], #" HEAD "\n"        \
  "cmp r4, #0\n"                      \
  "mov r1, r0\n"                      \
  "mov r2, r0\n"                      \
  "mov r3, r0\n"                      \
  "bne 3f\n"                          \
  "2:\n"                              \
  TWO TWO                             \
  "3:\n"                              \
  TWO TWO                             \
  "subs lr, lr, #2\n"                 \
  "bhi 2b\n"                          \
  "ldr r11, [sp, #16]\n"              \
  "ldr r10, [sp, #24]\n"              \
  "ldr lr, [sp]\n"                    \
  "ldrsb r7, [r11, #8]\n"             \
  "ldr r6, [r11, #4]\n"               \
  "mvn r9, r7\n"                      \
  "rsb r7, r7, #0\n"                  \
  "lsl r8, r10, r9\n"                 \
  "ldr r10, [sp, #4]\n"               \
  RESULTS                             \
  "ldr r9, [sp]\n"                    \
  "ldr r6, [sp, #20]\n"               \
  "add r9, r9, #1\n"                  \
  "str r9, [sp]\n"                    \
  "subs r6, r6, #1\n"                 \
  "str r6, [sp, #20]\n"               \
  "bne 1b\n"                          \
  CORMORANT_CFI_LEAVING               \
  CORMORANT_RELEASE("36")             \
  "pop {r4-r11, pc}\n"                \
  CORMORANT_CFI_LEFT                  \
  REST

#define RIGHT                         \
  "bmi 8f\n" /* the flags of SUBS */ \
  RESULT_right("r0") RESULT_right("r1") RESULT_right("r2") RESULT_right("r3") \
  "9:\n"
#define SHIFTS                        \
  "ldr r8, [sp, #24]\n"               \
  "ldrsb r9, [r11, #9]\n"             \
  "asr r8, r8, #1\n"
#define ANY                           \
  "8:\n"                              \
  SHIFTS                              \
  RESULT_any("r0") RESULT_any("r1") RESULT_any("r2") RESULT_any("r3") \
  "b 9b\n"
#define PRELU                         \
  SHIFTS                              \
  "ldr r11, [r11, #12]\n"             \
  RESULT_prelu("r0") RESULT_prelu("r1") RESULT_prelu("r2") RESULT_prelu("r3")

// Eight elements with weights of −8 … 7. Registers: r0 … r3 sums, r4 … r7 patches of two elements, r8 r9 weights, r10 lr
// sums in halves, r11 patches' pointer, r12 stream. Stack: as above, but 12 elements, 28 end of the weights, 32 whether
// rounding is general.
#define TWO_NIBBLES                   \
  "ldm r11!, {r4-r7}\n"               \
  "ldrsb r9, [r12, #1]\n"             \
  "ldrsb r8, [r12], #2\n"             \
  "mla r10, r4, r8, r10\n"            \
  "mla lr, r5, r8, lr\n"              \
  "mla r10, r6, r9, r10\n"            \
  "mla lr, r7, r9, lr\n"

#define GEMM_NIBBLES                  \
  CORMORANT_PUSH_R4_R11_LR            \
  CORMORANT_RESERVE("36")             \
  "ldrd r12, r1, [r0]\n"              \
  "ldrd r2, r3, [r0, #8]\n"           \
  "ldrd r4, r5, [r0, #16]\n"          \
  "ldr r6, [r0, #24]\n"               \
  "ldrb r8, [r0, #36]\n"              \
  "strd r2, r3, [sp]\n"               \
  "strd r1, r4, [sp, #8]\n"           \
  "lsl r6, r6, #1\n"                  \
  "add r6, r6, #1\n"                  \
  "strd r5, r6, [sp, #20]\n"          \
  "sub r8, r8, #1\n" /* right: 0, positive: 1 */\
  "lsr r8, r8, #1\n"                  \
  "str r8, [sp, #32]\n"               \
  "1:\n"                              \
  "str r12, [sp, #16]\n"              \
  "ldrd r11, r4, [sp, #8]\n"          \
  "ldr r0, [r12], #12\n"              \
  "mov r10, #0\n"                     \
  "add r5, r12, r4\n"                 \
  "str r5, [sp, #28]\n"               \
  "mov lr, #0\n"                      \
  "mov r1, r0\n"                      \
  "mov r2, r0\n"                      \
  "mov r3, r0\n"                      \
  "lsls r4, r4, #29\n" /* elements come in fours */\
  "bne 3f\n"                          \
  "2:\n"                              \
  TWO_NIBBLES TWO_NIBBLES             \
  "3:\n"                              \
  TWO_NIBBLES TWO_NIBBLES             \
  TAKE_APART("r10", "r4", "r0", "r1") \
  TAKE_APART("lr", "r5", "r2", "r3")  \
  "ldr r6, [sp, #28]\n"               \
  "mov r10, #0\n"                     \
  "mov lr, #0\n"                      \
  "cmp r12, r6\n"                     \
  "bne 2b\n"                          \
  "ldr r11, [sp, #16]\n"              \
  "ldr r10, [sp, #24]\n"              \
  "ldr lr, [sp]\n"                    \
  "ldrsb r7, [r11, #8]\n"             \
  "ldr r6, [r11, #4]\n"               \
  "mvn r9, r7\n"                      \
  "rsb r7, r7, #0\n"                  \
  "lsl r8, r10, r9\n"                 \
  "ldr r10, [sp, #4]\n"               \
  "ldr r9, [sp, #32]\n"               \
  "cmp r9, #0\n"                      \
  "bne 8f\n"                          \
  RESULT_right("r0") RESULT_right("r1") RESULT_right("r2") RESULT_right("r3") \
  "9:\n"                              \
  "ldr r9, [sp]\n"                    \
  "ldr r6, [sp, #20]\n"               \
  "add r9, r9, #1\n"                  \
  "str r9, [sp]\n"                    \
  "subs r6, r6, #1\n"                 \
  "str r6, [sp, #20]\n"               \
  "bne 1b\n"                          \
  CORMORANT_CFI_LEAVING               \
  CORMORANT_RELEASE("36")             \
  "pop {r4-r11, pc}\n"                \
  CORMORANT_CFI_LEFT                  \
  ANY

extern "C" __attribute__((naked)) void cormorant_conv_gemm_nibbles_scalar(const HalvesGemm* /*gemm*/) {
  asm volatile(GEMM_NIBBLES);
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_halves_scalar(const HalvesGemm* /*gemm*/) {
  asm volatile(GEMM("12", RIGHT, ANY));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_prelu_halves_scalar(const HalvesGemm* /*gemm*/) {
  asm volatile(GEMM("16", PRELU, ""));
}
// clang-format on

}  // namespace cormorant::conv

#endif
