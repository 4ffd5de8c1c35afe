// SPDX-License-Identifier: Apache-2.0
//
// The loop of conv_gemm_v6m_scalar.cc; then the sum is multiplied by 15 bits, in two 16 × 15 products
// (rescale_in_pieces).
#include <cstddef>

#include "kernels/conv_gemm_words.h"
#include "kernels/frame.h"

namespace cormorant::conv {

static_assert(offsetof(V6mGemm, stream) == 0 && offsetof(V6mGemm, patches) == 4 && offsetof(V6mGemm, out) == 8);
static_assert(offsetof(V6mGemm, out_step) == 12 && offsetof(V6mGemm, elements) == 16 &&
              offsetof(V6mGemm, channels) == 20 && offsetof(V6mGemm, excess) == 40);

// Registers: r0 … r3 patches, r4 weight, r5 patches' pointer, r6 stream, r8 … r11 sums, r12 out, lr end of the patches.
// Then: r4 multiplier, r5 32767, r6 rounding, r7 shift − 16, lr out_step. Stack: 0 patches, 4 end of patches, 8
// channels left, 16 out, 20 out_step, 24 the arguments, 28 record, 32 stream, 36 whether the number of fours is odd.

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

#define SIGNED                        \
  "sxth r1, r0\n"                     \
  "cmp r1, r0\n"                      \
  "beq 5f\n"                          \
  "asrs r0, r0, #31\n"                \
  "eors r0, r0, r5\n"                 \
  "5:\n"
#define POSITIVE                      \
  "asrs r1, r0, #31\n"                \
  "bics r0, r0, r1\n"                 \
  "cmp r0, r5\n"                      \
  "ble 5f\n"                          \
  "movs r0, r5\n"                     \
  "5:\n"

#define RESULT(sum, SATURATE)         \
  "mov r0, " sum "\n"                 \
  "uxth r1, r0\n"                     \
  "asrs r0, r0, #16\n"                \
  "muls r1, r4, r1\n"                 \
  "muls r0, r4, r0\n"                 \
  "adds r1, r1, r6\n"                 \
  "lsrs r1, r1, #16\n"                \
  "adds r0, r0, r1\n"                 \
  "asrs r0, r0, r7\n"                 \
  SATURATE                            \
  "mov r1, r12\n"                     \
  "strh r0, [r1]\n"                   \
  "add r12, r12, lr\n"

#define GEMM(SATURATE)                \
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
  "adds r6, r6, #12\n"                \
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
  "ldr r4, [r6, #4]\n"                \
  "ldr r7, [r6, #8]\n"                \
  "movs r6, #1\n"                     \
  "subs r0, r7, #1\n"                 \
  "lsls r6, r6, r0\n"                 \
  "subs r7, r7, #16\n"                \
  "movs r5, #255\n"                   \
  "lsls r5, r5, #7\n"                 \
  "adds r5, r5, #127\n"               \
  "ldr r0, [sp, #16]\n"               \
  "mov r12, r0\n"                     \
  "adds r0, r0, #2\n"                 \
  "str r0, [sp, #16]\n"               \
  "ldr r0, [sp, #20]\n"               \
  "mov lr, r0\n"                      \
  RESULT("r8", SATURATE) RESULT("r9", SATURATE) RESULT("r10", SATURATE) RESULT("r11", SATURATE)\
  "ldr r6, [sp, #32]\n"               \
  "ldr r0, [sp, #8]\n"                \
  "subs r0, r0, #1\n"                 \
  "str r0, [sp, #8]\n"                \
  "beq 4f\n"                          \
  "b 1b\n"                            \
  "4:\n"                              \
  CORMORANT_RELEASE("44")             \
  CORMORANT_POP_R4_R11_PC_V6M

extern "C" __attribute__((naked)) void cormorant_conv_gemm_words_v6m(const V6mGemm* /*gemm*/) {
  asm volatile(GEMM(SIGNED));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_words_positive_v6m(const V6mGemm* /*gemm*/) {
  asm volatile(GEMM(POSITIVE));
}
// clang-format on

void conv_gemm_words_v6m_plain(const V6mGemm& gemm, bool positive) {
  const std::uint8_t* stream = gemm.stream;
  for (std::uint32_t channel = 0; channel < gemm.channels; ++channel) {
    const auto* record = reinterpret_cast<const std::int32_t*>(stream);
    const std::uint8_t* weights = stream + 12;
    std::uint32_t sums[4];  // may wrap on the way; the final sums are right
    for (int pixel = 0; pixel < 4; ++pixel) {
      sums[pixel] = static_cast<std::uint32_t>(record[0]) - static_cast<std::uint32_t>(gemm.excess[pixel]);
    }
    const std::int32_t* x = gemm.patches;
    for (std::uint32_t k = 0; k < gemm.elements; ++k) {
      const std::int32_t w = *weights++;
      for (std::uint32_t& sum : sums) sum += static_cast<std::uint32_t>(*x++ * w);
    }
    stream = weights;
    std::int8_t* out = gemm.out + 2 * channel;
    for (int pixel = 0; pixel < 4; ++pixel, out += gemm.out_step) {
      const std::int32_t value = rescale_in_pieces(static_cast<std::int32_t>(sums[pixel]), record[1], record[2]);
      *reinterpret_cast<std::int16_t*>(out) = saturated_word(value, positive);
    }
  }
}

}  // namespace cormorant::conv
