// SPDX-License-Identifier: Apache-2.0
//
// The loop of conv_gemm_dsp.cc; patches are pairs of 16-bit elements as they are, and weights are arranged so that
// SXTB16 extracts the same pairs from them. One SMMULR and a saturation follow the sum.
#include <arm_acle.h>

#include <bit>
#include <cstddef>

#include "kernels/conv_gemm_words.h"
#include "kernels/frame.h"

namespace cormorant::conv {

static_assert(offsetof(DspGemm, stream) == 0 && offsetof(DspGemm, patches) == 4 && offsetof(DspGemm, out) == 8);
static_assert(offsetof(DspGemm, out_step) == 12 && offsetof(DspGemm, quads) == 16 && offsetof(DspGemm, channels) == 20);

// Registers: r0 r1 r2 sums of the first channel, r3 r4 r5 of the second; r6 r7 r8 patches; r9 r10 weights; r11 patches'
// pointer; r12 stream; lr rounds left. Stack: 0 out, 4 out_step, 8 patches, 12 rounds, 16 record, 20 channels left, 24
// quads.

// clang-format off
#define WORD                          \
  "ldr r9, [r12], #4\n"               \
  "ldm r11!, {r6, r7, r8}\n"          \
  "sxtb16 r10, r9\n"                  \
  "sxtb16 r9, r9, ror #8\n"           \
  "smlad r0, r6, r10, r0\n"           \
  "smlad r1, r7, r10, r1\n"           \
  "smlad r2, r8, r10, r2\n"           \
  "smlad r3, r6, r9, r3\n"            \
  "smlad r4, r7, r9, r4\n"            \
  "smlad r5, r8, r9, r5\n"

#define SIGNED(sum) "ssat " sum ", #16, " sum "\n"
#define POSITIVE(sum) "usat " sum ", #15, " sum "\n"

#define GEMM(SATURATE)                \
  CORMORANT_PUSH_R4_R11_LR            \
  CORMORANT_RESERVE("28")             \
  "ldrd r12, r1, [r0]\n"              \
  "ldrd r2, r3, [r0, #8]\n"           \
  "ldrd r4, r5, [r0, #16]\n"          \
  "strd r2, r3, [sp]\n"               \
  "add r7, r4, #1\n"                  \
  "lsr r7, r7, #1\n"                  \
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
  "lsls r6, r6, #31\n"                \
  "bne 3f\n"                          \
  "2:\n"                              \
  WORD WORD                           \
  "3:\n"                              \
  WORD WORD                           \
  "subs lr, lr, #1\n"                 \
  "bne 2b\n"                          \
  "ldr r11, [sp, #16]\n"              \
  "ldrd lr, r10, [sp]\n"              \
  "ldrd r6, r7, [r11, #8]\n"          \
  "ldr r8, [sp, #20]\n"               \
  "smmulr r0, r0, r6\n"               \
  "smmulr r1, r1, r6\n"               \
  "smmulr r2, r2, r6\n"               \
  "smmulr r3, r3, r7\n"               \
  "smmulr r4, r4, r7\n"               \
  "smmulr r5, r5, r7\n"               \
  SATURATE("r0") SATURATE("r1") SATURATE("r2") SATURATE("r3") SATURATE("r4") SATURATE("r5") \
  "add r9, lr, r10\n"                 \
  "add r10, r9, r10\n"                \
  "strh r3, [lr, #2]\n"               \
  "strh r0, [lr], #4\n"               \
  "strh r1, [r9]\n"                   \
  "strh r4, [r9, #2]\n"               \
  "strh r2, [r10]\n"                  \
  "strh r5, [r10, #2]\n"              \
  "str lr, [sp]\n"                    \
  "subs r8, r8, #2\n"                 \
  "str r8, [sp, #20]\n"               \
  "bne 1b\n"                          \
  CORMORANT_RELEASE("28")             \
  "pop {r4-r11, pc}\n"

extern "C" __attribute__((naked)) void cormorant_conv_gemm_words_dsp(const DspGemm* /*gemm*/) {
  asm volatile(GEMM(SIGNED));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_words_positive_dsp(const DspGemm* /*gemm*/) {
  asm volatile(GEMM(POSITIVE));
}
// clang-format on

void conv_gemm_words_dsp_plain(const DspGemm& gemm, bool positive) {
  const auto* stream = reinterpret_cast<const std::uint32_t*>(gemm.stream);
  for (std::uint32_t channel = 0; channel < gemm.channels; channel += 2) {
    const auto* record = reinterpret_cast<const std::int32_t*>(stream);
    stream += 4;
    std::int32_t sums[2][3] = {{record[0], record[0], record[0]}, {record[1], record[1], record[1]}};
    const std::uint32_t* x = gemm.patches;
    for (std::uint32_t i = 0; i < gemm.quads * 2; ++i) {
      const std::uint32_t both = *stream++;
      const int16x2_t a = __sxtb16(static_cast<int8x4_t>(both));
      const int16x2_t b = __sxtb16(static_cast<int8x4_t>(std::rotr(both, 8)));
      for (int pixel = 0; pixel < 3; ++pixel) {
        const auto pair = static_cast<int16x2_t>(*x++);
        sums[0][pixel] = __smlad(pair, a, sums[0][pixel]);
        sums[1][pixel] = __smlad(pair, b, sums[1][pixel]);
      }
    }
    for (std::uint32_t lane = 0; lane < 2 && channel + lane < gemm.channels; ++lane) {
      std::int8_t* out = gemm.out + 2 * (channel + lane);
      for (int pixel = 0; pixel < 3; ++pixel, out += gemm.out_step) {
        *reinterpret_cast<std::int16_t*>(out) =
            saturated_word(rounding_high_multiply(sums[lane][pixel], record[2 + lane]), positive);
      }
    }
  }
}

}  // namespace cormorant::conv
