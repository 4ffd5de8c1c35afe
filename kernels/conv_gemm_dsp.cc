// SPDX-License-Identifier: Apache-2.0
//
// SMLAD multiplies two pairs of 16-bit halves and adds both products. SXTB16 extracts such a pair from a word's bytes 0
// and 2 or, after a rotation, 1 and 3; so a word of weights holds two elements of two channels, and the patches, which
// SXTB16 widened too, have their elements in the order 0 2 1 3: nothing is ever repacked. With 2 channels × 3 pixels,
// the six sums, three patches and two weights fill the registers.
//
// Two schedules, each 12 instructions for 12 products. On M4 a load takes 2 cycles, one of which a neighbouring single
// load hides (a list hides none): four loads in a row, then the rest, take 13 cycles, or 12 with weights stored as
// pairs. M7 issues a load or an unpacking alongside each product: 6 cycles.
#include <arm_acle.h>

#include <bit>
#include <cstddef>

#include "kernels/conv_gemm.h"
#include "kernels/frame.h"
#include "kernels/requantize.h"

namespace cormorant::conv {

static_assert(offsetof(DspGemm, stream) == 0 && offsetof(DspGemm, patches) == 4 && offsetof(DspGemm, out) == 8);
static_assert(offsetof(DspGemm, out_step) == 12 && offsetof(DspGemm, quads) == 16);
static_assert(offsetof(DspGemm, channels) == 20 && offsetof(DspGemm, output.offset) == 24);
static_assert(offsetof(DspGemm, output.rounding) == 36);
static_assert(static_cast<int>(Rounding::right) == 1 && static_cast<int>(Rounding::positive) == 2);

// Registers: r0 r1 r2 sums of the first channel, r3 r4 r5 of the second; r6 r7 r8 patches; r9 r10 weights; r11 patches'
// pointer; r12 stream; lr rounds left. Then: r6 multiplier, r7 shift, r8 rounding and offset, r9 r10 lr others, r11
// record. Stack: 0 out, 4 out_step, 8 patches, 12 rounds, 16 record, 20 channels left, 24 2 · offset + 1, 28 quads, 32
// whether rounding is general, 36 from a record to the pointer to its weights.

// clang-format off

// ---- One load after another: eight words per round; the first round may skip two, four or six. Pointers point to the
// round's last word and advance once, with the loads of that word.

#define LOAD(at)                      \
  "ldr r6, [r11, #-" at "-8]\n"       \
  "ldr r7, [r11, #-" at "-4]\n"       \
  "ldr r8, [r11, #-" at "]\n"
#define LOAD_LAST                     \
  "ldr r6, [r11, #-8]\n"              \
  "ldr r7, [r11, #-4]\n"              \
  "ldr r8, [r11], #96\n"
#define PRODUCTS(a, b)                \
  "smlad r0, r6, " a ", r0\n"         \
  "smlad r1, r7, " a ", r1\n"         \
  "smlad r2, r8, " a ", r2\n"         \
  "smlad r3, r6, " b ", r3\n"         \
  "smlad r4, r7, " b ", r4\n"         \
  "smlad r5, r8, " b ", r5\n"
#define UNPACK                        \
  "sxtb16 r10, r9\n"                  \
  "sxtb16 r9, r9, ror #8\n"

#define BYTES(word) "ldr r9, [r12, #-4*" word "]\n" LOAD("12*" word) UNPACK PRODUCTS("r10", "r9")
#define BYTES_LAST  "ldr r9, [r12], #32\n" LOAD_LAST UNPACK PRODUCTS("r10", "r9")
#define PAIRS(word)                   \
  "ldr r9, [r12, #-8*" word "-4]\n"   \
  "ldr r10, [r12, #-8*" word "]\n"    \
  LOAD("12*" word) PRODUCTS("r9", "r10")
#define PAIRS_LAST                    \
  "ldr r9, [r12, #-4]\n"              \
  "ldr r10, [r12], #64\n"             \
  LOAD_LAST PRODUCTS("r9", "r10")

// In: r1 patches, r4 quads, r8 whether rounding is general. Out: r6 twice the rounds, one less in that case, r7
// from a record to the pointer to its weights.
#define BEGIN_EIGHT(quad_shift, LAST, HEAD) \
  "add r6, r4, #3\n"                  \
  "bic r6, r6, #3\n"                  \
  "sub r7, r6, r4\n" /* quads to skip */ \
  "rsb r6, r8, r6, lsr #1\n"          \
  "add r9, r7, r7, lsl #1\n"          \
  "sub r1, r1, r9, lsl #3\n"          \
  "add r1, r1, #92\n"                 \
  "lsl r7, r7, #" quad_shift "\n"     \
  "rsb r7, r7, #" HEAD "\n"           \
  "add r12, r12, #" LAST "\n"
#define BEGIN_BYTES(LAST, HEAD) BEGIN_EIGHT("3", LAST, HEAD)
#define BEGIN_PAIRS(LAST, HEAD) BEGIN_EIGHT("4", LAST, HEAD)
#define BYTES_LAST_AT "28"
#define PAIRS_LAST_AT "60"

#define EIGHT(WORD, LAST)             \
  "lsls r6, r6, #31\n"                \
  "bcs 7f\n"                          \
  "bmi 5f\n"                          \
  "2:\n"                              \
  WORD("7") WORD("6")                 \
  "3:\n"                              \
  WORD("5") WORD("4")                 \
  "4:\n"                              \
  WORD("3") WORD("2")                 \
  "5:\n"                              \
  WORD("1") LAST                      \
  "subs lr, lr, #2\n"                 \
  "bhi 2b\n"
// The flags of the last SUBS tell.
#define ASK_AFTER_EIGHT "bmi 8f\n"
#define ENTRIES                       \
  "7:\n"                              \
  "bmi 3b\n"                          \
  "b 4b\n"

#ifdef CORMORANT_DUAL_ISSUE

// ---- Two at a time: a line is a cycle. Each word finds its bytes in r8, their first pair already in r10, and its
// first patch in `x`, and leaves the same for the next. Four words per round, of which the first round may skip two,
// then the last two, after which nothing may be read.

#define WORD(x, y, second, third, NEXT_WORD, NEXT_FIRST, NEXT_PAIR) \
  "sxtb16 r9, r8, ror #8\n"    "smlad r0, " x ", r10, r0\n" \
  "smlad r3, " x ", r9, r3\n"  "ldr " y ", [r11, #" second "]\n" \
  "smlad r1, " y ", r10, r1\n" NEXT_WORD \
  "smlad r4, " y ", r9, r4\n"  "ldr " x ", [r11, #" third "]\n" \
  "smlad r2, " x ", r10, r2\n" NEXT_FIRST \
  NEXT_PAIR                    "smlad r5, " x ", r9, r5\n"
#define FOLLOWED(x, y, at, next) \
  WORD(x, y, at "+4", at "+8", "ldr r8, [r12], #4\n", "ldr " y ", [r11, #" at "+12" next "\n", "sxtb16 r10, r8\n")
#define EVEN(at) FOLLOWED("r6", "r7", at, "]")
#define ODD(at, next) FOLLOWED("r7", "r6", at, next)

#undef BEGIN_BYTES
#undef BYTES_LAST_AT
#define BYTES_LAST_AT "0"
#define BEGIN_BYTES(LAST, HEAD)       \
  "lsr r6, r4, #1\n"                  \
  "mov r7, #" HEAD "\n"

#define BYTES_LOOP                    \
  "ldr r8, [r12], #4\n"               \
  "mov r7, r6\n"                      \
  "ldr r6, [r11]\n"                   \
  "cmp lr, #0\n"                      \
  "sxtb16 r10, r8\n"                  \
  "beq 4f\n"                          \
  "lsls r7, r7, #31\n"                \
  "bne 2f\n"                          \
  "sub r11, r11, #24\n"               \
  "b 3f\n"                            \
  "2:\n"                              \
  EVEN("0") ODD("12", "]")            \
  "3:\n"                              \
  EVEN("24") ODD("36", "]!")          \
  "subs lr, lr, #1\n"                 \
  "bne 2b\n"                          \
  "4:\n"                              \
  EVEN("0") WORD("r7", "r6", "16", "20", "", "", "")
#define BYTES_ENTRIES ""
#define ASK                           \
  "ldr r6, [sp, #32]\n"               \
  "cmp r6, #0\n"                      \
  "bne 8f\n"

#else

#define BYTES_LOOP EIGHT(BYTES, BYTES_LAST)
#define BYTES_ENTRIES ENTRIES
#define ASK ASK_AFTER_EIGHT

#endif

// ---- Requantization, stage by stage for three pixels: M7 computes two things at a time. Accumulators are below 2^30
// and shifts at least 1: SMMULR is the doubling high multiply of twice the sum, and the rounding term (2^(e − 1)) and
// the output's offset (offset · 2^e) are one number, (2 · offset + 1) · 2^(e − 1).

#define CHANNEL(lane, LAST)           \
  "ldrsb r7, [r11, #16+" lane "-" LAST "]\n" \
  "ldr r6, [r11, #8+4*" lane "-" LAST "]\n" \
  "mvn r9, r7\n"                      \
  "rsbs r7, r7, #0\n"                 \
  "lsl r8, r10, r9\n"
// SMMLAR adds the rounding and offset, which leaves shifts and saturation.
#define STORABLE(a, b, c)             \
  "asr " a ", " a ", r7\n"            \
  "asr " b ", " b ", r7\n"            \
  "asr " c ", " c ", r7\n"            \
  "ssat " a ", #8, " a "\n"           \
  "ssat " b ", #8, " b "\n"           \
  "ssat " c ", #8, " c "\n"

#define RESULTS_positive(a, b, c)     \
  "add " a ", " a ", " a "\n"         \
  "add " b ", " b ", " b "\n"         \
  "smmlar " a ", " a ", r6, r8\n"     \
  "add " c ", " c ", " c "\n"         \
  "smmlar " b ", " b ", r6, r8\n"     \
  "smmlar " c ", " c ", r6, r8\n"     \
  STORABLE(a, b, c)
// Ties of negative numbers round down: one less is added to their product. If that is zero after all, one less than the
// rounding does no harm.
#define RESULTS_right(a, b, c)        \
  "add r9, r8, " a ", asr #31\n"      \
  "add " a ", " a ", " a "\n"         \
  "add lr, r8, " b ", asr #31\n"      \
  "smmlar " a ", " a ", r6, r9\n"     \
  "add " b ", " b ", " b "\n"         \
  "add r9, r8, " c ", asr #31\n"      \
  "smmlar " b ", " b ", r6, lr\n"     \
  "add " c ", " c ", " c "\n"         \
  "smmlar " c ", " c ", r6, r9\n"     \
  STORABLE(a, b, c)

// The same of products: in steps.
#define LOWERED(a, b, c)              \
  "add " a ", " a ", " a ", asr #31\n" \
  "add " b ", " b ", " b ", asr #31\n" \
  "add " c ", " c ", " c ", asr #31\n" \
  "add " a ", " a ", r8\n"            \
  "add " b ", " b ", r8\n"            \
  "add " c ", " c ", r8\n"            \
  STORABLE(a, b, c)

// Any sum and any shift: the product is doubled instead of the sum, in 64 bits, then rounded. ASRS leaves the last bit
// that it shifted out in the carry, which rounds the shifted number; if the shift is zero, it leaves the carry of the
// addition before, which undoes the lowering. Then: r8 offset, lr the shift to the left.
#define CHANNEL_any(lane, LAST)       \
  "ldrsb r7, [r11, #16+" lane "-" LAST "]\n" \
  "ldrsb lr, [r11, #18+" lane "-" LAST "]\n" \
  "ldr r6, [r11, #8+4*" lane "-" LAST "]\n" \
  "rsb r7, r7, #0\n"
#define DOUBLED(sum, low)             \
  "adds " low ", " low ", " low "\n"  \
  "adc " sum ", " sum ", " sum "\n"   \
  "add " sum ", " sum ", " low ", lsr #31\n"
#define SHIFTED(sum)                  \
  "adds " sum ", " sum ", " sum ", asr #31\n" \
  "asrs " sum ", " sum ", r7\n"       \
  "adc " sum ", " sum ", r8\n"        \
  "ssat " sum ", #8, " sum "\n"
#define RESULTS_any(a, b, c)          \
  "lsl " a ", " a ", lr\n"            \
  "lsl " b ", " b ", lr\n"            \
  "smull r9, " a ", " a ", r6\n"      \
  "lsl " c ", " c ", lr\n"            \
  "smull r10, " b ", " b ", r6\n"     \
  DOUBLED(a, "r9")                    \
  "smull r9, " c ", " c ", r6\n"      \
  DOUBLED(b, "r10")                   \
  DOUBLED(c, "r9")                    \
  SHIFTED(a) SHIFTED(b) SHIFTED(c)

// Wide weights and biases are doubled, hence so are their sums.
#define RESULTS_positive_wide(a, b, c) \
  "smmlar " a ", " a ", r6, r8\n"     \
  "smmlar " b ", " b ", r6, r8\n"     \
  "smmlar " c ", " c ", r6, r8\n"     \
  STORABLE(a, b, c)
#define RESULTS_right_wide(a, b, c)   \
  "add r9, r8, " a ", asr #31\n"      \
  "add lr, r8, " b ", asr #31\n"      \
  "smmlar " a ", " a ", r6, r9\n"     \
  "add r9, r8, " c ", asr #31\n"      \
  "smmlar " b ", " b ", r6, lr\n"     \
  "smmlar " c ", " c ", r6, r9\n"     \
  STORABLE(a, b, c)

// With a multiplier for each sign. Then: lr, or r9 for any shift, is the one for sums below zero.
#define PRODUCT_prelu(sum)            \
  "adds " sum ", " sum ", " sum "\n"  \
  "ite mi\n"                          \
  "smmulrmi " sum ", " sum ", lr\n"   \
  "smmulrpl " sum ", " sum ", r6\n"
#define CHANNEL_prelu(lane, LAST)     \
  CHANNEL(lane, LAST)                 \
  "ldr lr, [r11, #20+4*" lane "-" LAST "]\n"
#define RESULTS_prelu(a, b, c)        \
  PRODUCT_prelu(a) PRODUCT_prelu(b) PRODUCT_prelu(c) \
  LOWERED(a, b, c)
#define CHANNEL_any_prelu(lane, LAST) \
  CHANNEL_any(lane, LAST)             \
  "ldr r9, [r11, #20+4*" lane "-" LAST "]\n"
#define RESULT_any_prelu(sum)         \
  "lsls " sum ", " sum ", lr\n"       \
  "ite mi\n"                          \
  "smullmi r10, " sum ", " sum ", r9\n" \
  "smullpl r10, " sum ", " sum ", r6\n" \
  DOUBLED(sum, "r10") SHIFTED(sum)
#define RESULTS_any_prelu(a, b, c) RESULT_any_prelu(a) RESULT_any_prelu(b) RESULT_any_prelu(c)

#define SIX(CHANNEL, RESULTS, LAST)   \
  CHANNEL("0", LAST) RESULTS("r0", "r1", "r2") \
  CHANNEL("1", LAST) RESULTS("r3", "r4", "r5")

#define SIMPLE(CHANNEL, RESULTS, LAST) SIX(CHANNEL, RESULTS, LAST) "9:\n"
// Few layers need it; they share the loop of those that only shift right.
#define OTHERS(CHANNEL, RESULTS)      \
  "8:\n"                              \
  "asr r8, r10, #1\n"                 \
  SIX(CHANNEL, RESULTS, BYTES_LAST_AT) \
  "b 9b\n"

// `LAST`: how far ahead the pointer to the stream is, namely at the last word of a round. `HEAD`: bytes of a record
// before its weights.
#define GEMM(BEGIN, LAST, HEAD, LOOP, REQUANTIZE, REST) \
  CORMORANT_PUSH_R4_R11_LR            \
  CORMORANT_RESERVE("44")             \
  "ldrd r12, r1, [r0]\n"              \
  "ldrd r2, r3, [r0, #8]\n"           \
  "ldrd r4, r5, [r0, #16]\n"          \
  "ldr r6, [r0, #24]\n"               \
  "ldrb r8, [r0, #36]\n"              \
  "strd r2, r3, [sp]\n"               \
  "lsls r6, r6, #1\n"                 \
  "adds r6, r6, #1\n"                 \
  "strd r5, r6, [sp, #20]\n"          \
  "sub r8, r8, #1\n" /* right: 0, positive: 1 */ \
  "lsrs r8, r8, #1\n"                 \
  "it ne\n"                           \
  "movne r8, #1\n"                    \
  BEGIN(LAST, HEAD)                   \
  "strd r1, r6, [sp, #8]\n"           \
  "str r4, [sp, #28]\n"               \
  "strd r8, r7, [sp, #32]\n"          \
  "1:\n"                              \
  "str r12, [sp, #16]\n"              \
  "ldrd r11, lr, [sp, #8]\n"          \
  "ldrd r0, r3, [r12, #-" LAST "]\n" \
  "ldr r7, [sp, #36]\n"               \
  "ldr r6, [sp, #28]\n"               \
  "mov r1, r0\n"                      \
  "mov r2, r0\n"                      \
  "add r12, r12, r7\n"                \
  "mov r4, r3\n"                      \
  "mov r5, r3\n"                      \
  LOOP                                \
  "ldr r11, [sp, #16]\n"              \
  "ldr r10, [sp, #24]\n"              \
  REQUANTIZE                          \
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
  CORMORANT_CFI_LEAVING               \
  CORMORANT_RELEASE("44")             \
  "pop {r4-r11, pc}\n"                \
  CORMORANT_CFI_LEFT                  \
  REST

extern "C" __attribute__((naked)) void cormorant_conv_gemm_right_dsp(const DspGemm* /*gemm*/) {
  asm volatile(GEMM(BEGIN_BYTES, BYTES_LAST_AT, "20", BYTES_LOOP, ASK SIMPLE(CHANNEL, RESULTS_right, BYTES_LAST_AT),
                    BYTES_ENTRIES OTHERS(CHANNEL_any, RESULTS_any)));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_prelu_dsp(const DspGemm* /*gemm*/) {
  asm volatile(GEMM(BEGIN_BYTES, BYTES_LAST_AT, "28", BYTES_LOOP, ASK SIMPLE(CHANNEL_prelu, RESULTS_prelu, BYTES_LAST_AT),
                    BYTES_ENTRIES OTHERS(CHANNEL_any_prelu, RESULTS_any_prelu)));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_positive_dsp(const DspGemm* /*gemm*/) {
  asm volatile(GEMM(BEGIN_BYTES, BYTES_LAST_AT, "20", BYTES_LOOP, SIMPLE(CHANNEL, RESULTS_positive, BYTES_LAST_AT), BYTES_ENTRIES));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_right_dsp_wide(const DspGemm* /*gemm*/) {
  asm volatile(GEMM(BEGIN_PAIRS, PAIRS_LAST_AT, "20", EIGHT(PAIRS, PAIRS_LAST), SIMPLE(CHANNEL, RESULTS_right_wide, PAIRS_LAST_AT), ENTRIES));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_positive_dsp_wide(const DspGemm* /*gemm*/) {
  asm volatile(GEMM(BEGIN_PAIRS, PAIRS_LAST_AT, "20", EIGHT(PAIRS, PAIRS_LAST), SIMPLE(CHANNEL, RESULTS_positive_wide, PAIRS_LAST_AT), ENTRIES));
}
// clang-format on

namespace {

// next(stream, a, b): the next pair of weights of both channels; `scale` is what sums are a multiple of.
template <bool kHasSlopes = false, class Next>
inline void gemm_plain(const DspGemm& gemm, std::int32_t scale, Next next) {
  const auto* stream = reinterpret_cast<const std::uint32_t*>(gemm.stream);
  for (std::uint32_t channel = 0; channel < gemm.channels; channel += 2) {
    const auto* record = reinterpret_cast<const std::int32_t*>(stream);
    const auto* shifts = reinterpret_cast<const std::int8_t*>(stream + 4);
    stream += kHasSlopes ? 7 : 5;
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
        const std::int32_t sum = sums[lane][pixel] / scale, multiplier = record[2 + lane];
        const std::int32_t value = (kHasSlopes ? requantize_by_sign(sum, multiplier, record[5 + lane], shift)
                                               : requantize(sum, multiplier, shift)) +
                                   gemm.output.offset;
        *out = static_cast<std::int8_t>(clamp(value, gemm.output.min, gemm.output.max));
      }
    }
  }
}

constexpr auto next_bytes = [](const std::uint32_t*& stream, int16x2_t& a, int16x2_t& b) {
  const std::uint32_t both = *stream++;
  a = __sxtb16(static_cast<int8x4_t>(both));
  b = __sxtb16(static_cast<int8x4_t>(std::rotr(both, 8)));
};

}  // namespace

[[gnu::cold]] void conv_gemm_dsp_plain(const DspGemm& gemm) { gemm_plain(gemm, 1, next_bytes); }
[[gnu::cold]] void conv_gemm_prelu_dsp_plain(const DspGemm& gemm) { gemm_plain<true>(gemm, 1, next_bytes); }

void conv_gemm_dsp_wide_plain(const DspGemm& gemm) {
  gemm_plain(gemm, 2, [](const std::uint32_t*& stream, int16x2_t& a, int16x2_t& b) {
    a = static_cast<int16x2_t>(*stream++);
    b = static_cast<int16x2_t>(*stream++);
  });
}

}  // namespace cormorant::conv
