// SPDX-License-Identifier: Apache-2.0
//
// SMLAD multiplies two pairs of 16-bit halves and adds both products. SXTB16 makes such pairs of a word's bytes 0 and
// 2, and behind a rotation of bytes 1 and 3; so a word of weights holds two elements of two channels, and the patches,
// which were widened by SXTB16 too, have their elements in the order 0 2 1 3: nothing is ever repacked. With 2 channels
// × 3 pixels the six sums, three patches and two weights fill the registers: 10 instructions for 12 products, or 8 with
// weights that are stored as such pairs.
#include <arm_acle.h>

#include <bit>
#include <cstddef>

#include "kernels/conv_gemm.h"
#include "kernels/requantize.h"

namespace cormorant::conv {

static_assert(offsetof(DspGemm, stream) == 0 && offsetof(DspGemm, patches) == 4 && offsetof(DspGemm, out) == 8);
static_assert(offsetof(DspGemm, out_step) == 12 && offsetof(DspGemm, quads) == 16);
static_assert(offsetof(DspGemm, channels) == 20 && offsetof(DspGemm, output.offset) == 24);

// Registers: r0 r1 r2 sums of the first channel, r3 r4 r5 of the second; r6 r7 r8 patches; r9 r10 weights; r11 patches'
// pointer; r12 stream; lr rounds left. Then: r6 multiplier, r7 shift, r8 rounding and offset, r9 result, r10 out_step,
// r11 record, lr out. Stack: 0 out, 4 out_step, 8 patches, 12 rounds, 16 record, 20 channels left, 24 2 · offset + 1,
// 28 quads.

// clang-format off
#define BYTES                         \
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

#define PAIRS                         \
  "ldrd r9, r10, [r12], #8\n"         \
  "ldm r11!, {r6, r7, r8}\n"          \
  "smlad r0, r6, r9, r0\n"            \
  "smlad r1, r7, r9, r1\n"            \
  "smlad r2, r8, r9, r2\n"            \
  "smlad r3, r6, r10, r3\n"           \
  "smlad r4, r7, r10, r4\n"           \
  "smlad r5, r8, r10, r5\n"

// Accumulators are below 2^30 and shifts at least 1: SMMULR is the doubling high multiply of twice the sum, and the
// rounding term (2^(e − 1)) with the output's offset (offset · 2^e) is one number, (2 · offset + 1) · 2^(e − 1).
#define CHANNEL(lane)                 \
  "ldrsb r7, [r11, #16+" lane "]\n"   \
  "ldr r6, [r11, #8+4*" lane "]\n"    \
  "mvn r9, r7\n"                      \
  "rsb r7, r7, #0\n"                  \
  "lsl r8, r10, r9\n"

#define RESULT_positive(sum)          \
  "lsl r9, " sum ", #1\n"             \
  "smmulr r9, r9, r6\n"               \
  "add r9, r9, r8\n"                  \
  "asr r9, r9, r7\n"                  \
  "ssat " sum ", #8, r9\n"
// Ties of negative numbers round down.
#define RESULT_right(sum)             \
  "lsl r9, " sum ", #1\n"             \
  "smmulr r9, r9, r6\n"               \
  "add r9, r9, r9, asr #31\n"         \
  "add r9, r9, r8\n"                  \
  "asr r9, r9, r7\n"                  \
  "ssat " sum ", #8, r9\n"

// A channel that shifts left has done so by one more than its factor says, which is the doubling, and shifts right by 1:
// its product is doubled for that, and so is none of the others'. Then: r10 whether to, lr the shift to the left.
#define CHANNEL_both(lane)            \
  "ldr r10, [sp, #24]\n"              \
  CHANNEL(lane)                       \
  "ldrsb lr, [r11, #18+" lane "]\n"   \
  "usat r10, #1, lr\n"                \
  "rsb r9, r10, #1\n"                 \
  "add lr, lr, r9\n"
#define RESULT_both(sum)              \
  "lsl r9, " sum ", lr\n"             \
  "smmulr r9, r9, r6\n"               \
  "lsl r9, r9, r10\n"                 \
  "add r9, r9, r9, asr #31\n"         \
  "add r9, r9, r8\n"                  \
  "asr r9, r9, r7\n"                  \
  "ssat " sum ", #8, r9\n"

// Wide weights and biases are doubled, and so are their sums: SMMLAR multiplies and adds.
#define RESULT_positive_wide(sum)     \
  "smmlar r9, " sum ", r6, r8\n"      \
  "asr r9, r9, r7\n"                  \
  "ssat " sum ", #8, r9\n"
#define RESULT_right_wide(sum)        \
  "smmulr r9, " sum ", r6\n"          \
  "add r9, r9, r9, asr #31\n"         \
  "add r9, r9, r8\n"                  \
  "asr r9, r9, r7\n"                  \
  "ssat " sum ", #8, r9\n"

#define GEMM(WORD, CHANNEL, RESULT)   \
  "push {r4-r11, lr}\n"               \
  "sub sp, sp, #36\n"                 \
  "ldrd r12, r1, [r0]\n"              \
  "ldrd r2, r3, [r0, #8]\n"           \
  "ldrd r4, r5, [r0, #16]\n"          \
  "ldr r6, [r0, #24]\n"               \
  "strd r2, r3, [sp]\n"               \
  "add r7, r4, #1\n"                  \
  "lsr r7, r7, #1\n"                  \
  "strd r1, r7, [sp, #8]\n"           \
  "lsl r6, r6, #1\n"                  \
  "add r6, r6, #1\n"                  \
  "strd r5, r6, [sp, #20]\n"          \
  "str r4, [sp, #28]\n"               \
  "1:\n"                              \
  "str r12, [sp, #16]\n"              \
  "ldrd r0, r3, [r12], #20\n"         \
  "ldrd r11, lr, [sp, #8]\n"          \
  "ldr r6, [sp, #28]\n"               \
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
  "ldr r10, [sp, #24]\n"              \
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
  "subs r6, r6, #2\n"                 \
  "str r6, [sp, #20]\n"               \
  "bne 1b\n"                          \
  "add sp, sp, #36\n"                 \
  "pop {r4-r11, pc}\n"

extern "C" __attribute__((naked)) void cormorant_conv_gemm_right_dsp(const DspGemm* /*gemm*/) {
  asm volatile(GEMM(BYTES, CHANNEL, RESULT_right));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_positive_dsp(const DspGemm* /*gemm*/) {
  asm volatile(GEMM(BYTES, CHANNEL, RESULT_positive));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_both_dsp(const DspGemm* /*gemm*/) {
  asm volatile(GEMM(BYTES, CHANNEL_both, RESULT_both));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_right_dsp_wide(const DspGemm* /*gemm*/) {
  asm volatile(GEMM(PAIRS, CHANNEL, RESULT_right_wide));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_positive_dsp_wide(const DspGemm* /*gemm*/) {
  asm volatile(GEMM(PAIRS, CHANNEL, RESULT_positive_wide));
}
// clang-format on

namespace {

// next(stream, a, b): the next pair of weights of both channels; `scale` is what sums are a multiple of.
template <class Next>
inline void gemm_plain(const DspGemm& gemm, std::int32_t scale, Next next) {
  const auto* stream = reinterpret_cast<const std::uint32_t*>(gemm.stream);
  for (std::uint32_t channel = 0; channel < gemm.channels; channel += 2) {
    const auto* record = reinterpret_cast<const std::int32_t*>(stream);
    const auto* shifts = reinterpret_cast<const std::int8_t*>(stream + 4);
    stream += 5;
    std::int32_t sums[2][3] = {{record[0], record[0], record[0]}, {record[1], record[1], record[1]}};
    const std::uint32_t* x = gemm.patches;
    for (std::uint32_t i = 0; i < gemm.quads * 2; ++i) {
      int16x2_t a;
      int16x2_t b;
      next(stream, a, b);
      for (int pixel = 0; pixel < 3; ++pixel) {
        const auto pair = static_cast<int16x2_t>(*x++);
        sums[0][pixel] = __smlad(pair, a, sums[0][pixel]);
        sums[1][pixel] = __smlad(pair, b, sums[1][pixel]);
      }
    }
    for (std::uint32_t lane = 0; lane < 2 && channel + lane < gemm.channels; ++lane) {
      const std::int32_t shift = shifts[lane] + shifts[2 + lane];
      std::int8_t* out = gemm.out + channel + lane;
      for (int pixel = 0; pixel < 3; ++pixel, out += gemm.out_step) {
        const std::int32_t value = requantize(sums[lane][pixel] / scale, record[2 + lane], shift) + gemm.output.offset;
        *out = static_cast<std::int8_t>(clamp(value, gemm.output.min, gemm.output.max));
      }
    }
  }
}

}  // namespace

void conv_gemm_dsp_plain(const DspGemm& gemm) {
  gemm_plain(gemm, 1, [](const std::uint32_t*& stream, int16x2_t& a, int16x2_t& b) {
    const std::uint32_t both = *stream++;
    a = __sxtb16(static_cast<int8x4_t>(both));
    b = __sxtb16(static_cast<int8x4_t>(std::rotr(both, 8)));
  });
}

void conv_gemm_dsp_wide_plain(const DspGemm& gemm) {
  gemm_plain(gemm, 2, [](const std::uint32_t*& stream, int16x2_t& a, int16x2_t& b) {
    a = static_cast<int16x2_t>(*stream++);
    b = static_cast<int16x2_t>(*stream++);
  });
}

}  // namespace cormorant::conv
