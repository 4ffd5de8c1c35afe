// SPDX-License-Identifier: Apache-2.0
//
// Four channels at a time, taps in pairs: PKHBT and PKHTB put the same two channels of two taps into a word, SXTB16
// extracts pairs of 16-bit halves from it, and SMLAD multiplies both taps of a channel. Weights are arranged so that
// SXTB16 extracts the same from them: 18 instructions for 8 products; or 15 with weights stored as such pairs, and 14
// where there is a spare register. The accumulators are then requantized in place.
#include "kernels/conv_depthwise_plain.h"
#include "kernels/frame.h"

namespace cormorant::conv {

// Registers: r0 … r3 sums, r4 taps, r5 end of the taps that come in fours, r6 … r10 and lr inputs and weights, r11
// shift and channel, r12 stream. Then: r4 2 · offset + 1, r5 … r8 multipliers, r9 shifts − 1, one per byte, r10
// rounding and offset, lr out. Stack: 0 taps, 4 end of the fours, 8 the end of r11, 12 2 · offset + 1, 16 taps beyond
// the fours, 20 out.

// clang-format off
// Two taps. Consecutive loads, none of which waits for the previous one: M4 hides a cycle of each.
#define LOAD_PAIR                     \
  "ldr r7, [r4, #4]\n"                \
  "ldr r6, [r4], #8\n"                \
  "ldr r10, [r12, #4]\n"              \
  "ldr r9, [r12], #8\n"               \
  "ldr r7, [r7, r11]\n"               \
  "ldr r6, [r6, r11]\n"
// Then channels 0 and 1 of both are in r8, 2 and 3 in r7.
#define INPUTS                        \
  "pkhbt r8, r6, r7, lsl #16\n"       \
  "pkhtb r7, r7, r6, asr #16\n"

// For M7, products follow extensions, so that both are issued together.
#define PAIR_bytes                    \
  LOAD_PAIR                           \
  "sxtb16 lr, r9\n"                   \
  INPUTS                              \
  "sxtb16 r6, r8\n"                   \
  "sxtb16 r8, r8, ror #8\n"           \
  "smlad r0, r6, lr, r0\n"            \
  "sxtb16 r9, r9, ror #8\n"           \
  "sxtb16 r6, r7\n"                   \
  "smlad r1, r8, r9, r1\n"            \
  "sxtb16 lr, r10\n"                  \
  "sxtb16 r7, r7, ror #8\n"           \
  "smlad r2, r6, lr, r2\n"            \
  "sxtb16 r10, r10, ror #8\n"         \
  "smlad r3, r7, r10, r3\n"

#define TAP_bytes                     \
  "ldr r6, [r4], #4\n"                \
  "ldr r7, [r12], #4\n"               \
  "ldr r6, [r6, r11]\n"               \
  "sxtb16 r10, r7\n"                  \
  "sxtb16 r7, r7, ror #8\n"           \
  "sxtb16 r8, r6\n"                   \
  "sxtb16 r9, r6, ror #8\n"           \
  "smlabb r0, r8, r10, r0\n"          \
  "smlabb r1, r9, r7, r1\n"           \
  "smlatt r2, r8, r10, r2\n"          \
  "smlatt r3, r9, r7, r3\n"

#define PAIR_wide                     \
  LOAD_PAIR                           \
  INPUTS                              \
  "sxtb16 r6, r8\n"                   \
  "sxtb16 r8, r8, ror #8\n"           \
  "smlad r0, r6, r9, r0\n"            \
  "sxtb16 r6, r7\n"                   \
  "smlad r1, r8, r10, r1\n"           \
  "ldrd r9, r10, [r12], #8\n"         \
  "sxtb16 r7, r7, ror #8\n"           \
  "smlad r2, r6, r9, r2\n"            \
  "smlad r3, r7, r10, r3\n"

// One tap, whose pointer is in r6.
#define LAST_wide                     \
  "ldrd r9, r10, [r12], #8\n"         \
  "ldr r6, [r6, r11]\n"               \
  "sxtb16 r8, r6\n"                   \
  "sxtb16 r7, r6, ror #8\n"           \
  "smlabb r0, r8, r9, r0\n"           \
  "smlabb r1, r7, r10, r1\n"          \
  "smlatt r2, r8, r9, r2\n"           \
  "smlatt r3, r7, r10, r3\n"

#define TAP_wide "ldr r6, [r4], #4\n" LAST_wide

// Two of nine taps, `at` bytes on in the table.
#define PAIR_9(at)                    \
  "ldr r7, [r4, #" at "+4]\n"         \
  "ldr r6, [r4, #" at "]\n"           \
  "ldr r9, [r12, #4]\n"               \
  "ldr r10, [r12, #8]\n"              \
  "ldr lr, [r12, #12]\n"              \
  "ldr r8, [r12], #16\n"              \
  "ldr r7, [r7, r11]\n"               \
  "ldr r6, [r6, r11]\n"               \
  "pkhbt r5, r6, r7, lsl #16\n"       \
  "pkhtb r7, r7, r6, asr #16\n"       \
  "sxtb16 r6, r5\n"                   \
  "sxtb16 r5, r5, ror #8\n"           \
  "smlad r0, r6, r8, r0\n"            \
  "sxtb16 r6, r7\n"                   \
  "smlad r1, r5, r9, r1\n"            \
  "sxtb16 r7, r7, ror #8\n"           \
  "smlad r2, r6, r10, r2\n"           \
  "smlad r3, r7, lr, r3\n"

// See conv_gemm_dsp.cc. Shifts by a register use its lowest byte: shifting all of them brings up the next channel's.
#define STORED(sum)                   \
  "asr " sum ", " sum ", r9\n"        \
  "lsr r9, r9, #8\n"                  \
  "ssat " sum ", #8, " sum ", asr #1\n" \
  "strb " sum ", [lr], #1\n"
// Four of them, in turn: M7 computes two things at a time, and multipliers make way for shifts.
#define FOUR_bytes                    \
  "lsl r10, r4, r9\n"                 \
  "add r10, r10, r0, asr #31\n"       \
  "add r0, r0, r0\n"                  \
  "smmlar r0, r0, r5, r10\n"          \
  "lsr r5, r9, #8\n"                  \
  "lsl r10, r4, r5\n"                 \
  "add r10, r10, r1, asr #31\n"       \
  "add r1, r1, r1\n"                  \
  "smmlar r1, r1, r6, r10\n"          \
  "lsr r6, r5, #8\n"                  \
  "asr r0, r0, r9\n"                  \
  "lsl r10, r4, r6\n"                 \
  "lsr r9, r6, #8\n"                  \
  "add r10, r10, r2, asr #31\n"       \
  "add r2, r2, r2\n"                  \
  "lsl r4, r4, r9\n"                  \
  "smmlar r2, r2, r7, r10\n"          \
  "add r4, r4, r3, asr #31\n"         \
  "add r3, r3, r3\n"                  \
  "asr r1, r1, r5\n"                  \
  "smmlar r3, r3, r8, r4\n"           \
  "ssat r0, #8, r0, asr #1\n"         \
  "ssat r1, #8, r1, asr #1\n"         \
  "asr r2, r2, r6\n"                  \
  "strb r1, [lr, #1]\n"               \
  "asr r3, r3, r9\n"                  \
  "ssat r2, #8, r2, asr #1\n"         \
  "strb r2, [lr, #2]\n"               \
  "ssat r3, #8, r3, asr #1\n"         \
  "strb r3, [lr, #3]\n"               \
  "strb r0, [lr], #4\n"
// Any sum and any shift (conv_gemm_dsp.cc), for blocks that are marked: the shifts to the left, which the last four bytes
// before r12 hold, have marks above them. The shifts to the right, less one modulo 256, are taken modulo 32.
#define SHIFTS_any                    \
  "and r9, r9, #0x1f1f1f1f\n"         \
  "asr r4, r4, #1\n"                  \
  "add r9, r9, #0x01010101\n"         \
  "and r9, r9, #0x1f1f1f1f\n"
#define STORED_any(sum)               \
  "adds r10, r10, r10\n"              \
  "adc " sum ", " sum ", " sum "\n"   \
  "add " sum ", " sum ", r10, lsr #31\n" \
  "adds " sum ", " sum ", " sum ", asr #31\n" \
  "asrs " sum ", " sum ", r9\n"       \
  "adc " sum ", " sum ", r4\n"        \
  "lsr r9, r9, #8\n"                  \
  "ssat " sum ", #8, " sum "\n"       \
  "strb " sum ", [lr], #1\n"
#define RESULT_any(sum, multiplier, lane) \
  "ldrb r10, [r12, #-4+" lane "]\n"   \
  "and r10, r10, #31\n"               \
  "lsl " sum ", " sum ", r10\n"       \
  "smull r10, " sum ", " sum ", " multiplier "\n" \
  STORED_any(sum)
// Wide weights and biases are doubled, hence so are their sums.
#define RESULT_wide(sum, multiplier)  \
  "lsl r10, r4, r9\n"                 \
  "add r10, r10, " sum ", asr #31\n"  \
  "smmlar " sum ", " sum ", " multiplier ", r10\n" \
  STORED(sum)
#define RESULT_positive_wide(sum, multiplier) \
  "lsl r10, r4, r9\n"                 \
  "smmlar " sum ", " sum ", " multiplier ", r10\n" \
  STORED(sum)

#define ALL_TAPS(PAIR, TAP)           \
  "ldrd r4, r5, [sp]\n"               \
  "cmp r4, r5\n"                      \
  "beq 3f\n"                          \
  "2:\n"                              \
  PAIR PAIR                           \
  "cmp r4, r5\n"                      \
  "bne 2b\n"                          \
  "3:\n"                              \
  "ldr r6, [sp, #16]\n"               \
  "lsls r6, r6, #31\n"                \
  "bcc 4f\n"                          \
  PAIR                                \
  "4:\n"                              \
  "bpl 5f\n"                          \
  TAP                                 \
  "5:\n"

#define NINE_TAPS                     \
  "ldr r4, [sp]\n"                    \
  PAIR_9("0") PAIR_9("8") PAIR_9("16") PAIR_9("24") \
  "ldr r6, [r4, #32]\n" LAST_wide

#define FOUR(RESULT)                  \
  RESULT("r0", "r5") RESULT("r1", "r6") RESULT("r2", "r7") RESULT("r3", "r8")
#define FOUR_OF_ANY(STRAIGHT, RESULT) \
  "ldr r10, [r12, #-4]\n"             \
  "cmp r10, #0\n"                     \
  "bne 6f\n"                          \
  STRAIGHT                            \
  "b 7f\n"                            \
  "6:\n"                              \
  SHIFTS_any                          \
  RESULT("r0", "r5", "0") RESULT("r1", "r6", "1") RESULT("r2", "r7", "2") RESULT("r3", "r8", "3") \
  "7:\n"

// With slopes: sums below zero have other multipliers, which follow the shifts. Those may be negative, so that ties are
// told by the product.
#define RESULT_prelu(sum, multiplier) \
  "add " sum ", " sum ", " sum "\n"   \
  "smmulr " sum ", " sum ", " multiplier "\n" \
  "lsl r10, r4, r9\n"                 \
  "add " sum ", " sum ", " sum ", asr #31\n" \
  "add " sum ", " sum ", r10\n"       \
  STORED(sum)
#define BY_SIGN(sum, multiplier, at)  \
  "cmp " sum ", #0\n"                 \
  "it lt\n"                           \
  "ldrlt " multiplier ", [r12, #" at "]\n"
// What decides is the sign of what is multiplied.
#define RESULT_any_prelu(sum, multiplier, lane) \
  "ldrb r10, [r12, #-4+" lane "]\n"   \
  "and r10, r10, #31\n"               \
  "lsls " sum ", " sum ", r10\n"      \
  "ite mi\n"                          \
  "ldrmi r10, [r12, #4*" lane "]\n"   \
  "ldrpl r10, [r12, #-24+4*" lane "]\n" \
  "smull r10, " sum ", " sum ", r10\n" \
  STORED_any(sum)
#define FOUR_prelu                    \
  BY_SIGN("r0", "r5", "0") BY_SIGN("r1", "r6", "4") BY_SIGN("r2", "r7", "8") BY_SIGN("r3", "r8", "12") \
  FOUR_OF_ANY(FOUR(RESULT_prelu), RESULT_any_prelu) \
  "add r12, r12, #16\n"

#define DEPTHWISE(TAPS, RESULTS)      \
  CORMORANT_PUSH_R4_R11_LR            \
  CORMORANT_RESERVE("28")             \
  "ldrd r12, r4, [r0]\n"              \
  "ldrd r5, r6, [r0, #8]\n"           \
  "ldrd r8, r7, [r0, #16]\n"          \
  "and r9, r5, #3\n"                  \
  "bic r5, r5, #3\n"                  \
  "strd r9, r8, [sp, #16]\n"          \
  "add r5, r4, r5, lsl #2\n"          \
  "bic r6, r6, #3\n"                  \
  "ldr r11, [r0, #36]\n"              \
  "add r6, r6, r11\n"                 \
  "lsl r7, r7, #1\n"                  \
  "add r7, r7, #1\n"                  \
  "strd r4, r5, [sp]\n"               \
  "strd r6, r7, [sp, #8]\n"           \
  "1:\n"                              \
  "ldm r12!, {r0-r3}\n"               \
  TAPS                                \
  "ldm r12!, {r5-r8}\n"               \
  "ldr r9, [r12], #8\n"               \
  "ldr r4, [sp, #12]\n"               \
  "ldr lr, [sp, #20]\n"               \
  "mvn r9, r9\n"                      \
  RESULTS                             \
  "ldr r4, [sp, #8]\n"                \
  "str lr, [sp, #20]\n"               \
  "add r11, r11, #4\n"                \
  "cmp r11, r4\n"                     \
  "bne 1b\n"                          \
  CORMORANT_RELEASE("28")             \
  "pop {r4-r11, pc}\n"

extern "C" __attribute__((naked)) void cormorant_depthwise_pixel_dsp(const DepthwisePixel* /*pixel*/) {
  asm volatile(DEPTHWISE(ALL_TAPS(PAIR_bytes, TAP_bytes), FOUR_bytes));
}

extern "C" __attribute__((naked)) void cormorant_depthwise_pixel_any_dsp(const DepthwisePixel* /*pixel*/) {
  asm volatile(DEPTHWISE(ALL_TAPS(PAIR_bytes, TAP_bytes), FOUR_OF_ANY(FOUR_bytes, RESULT_any)));
}

extern "C" __attribute__((naked)) void cormorant_depthwise_pixel_prelu_dsp(const DepthwisePixel* /*pixel*/) {
  asm volatile(DEPTHWISE(ALL_TAPS(PAIR_bytes, TAP_bytes), FOUR_prelu));
}

extern "C" __attribute__((naked)) void cormorant_depthwise_pixel_dsp_wide(const DepthwisePixel* /*pixel*/) {
  asm volatile(DEPTHWISE(ALL_TAPS(PAIR_wide, TAP_wide), FOUR(RESULT_wide)));
}

extern "C" __attribute__((naked)) void cormorant_depthwise_3x3_positive_dsp_wide(const DepthwisePixel* /*pixel*/) {
  asm volatile(DEPTHWISE(NINE_TAPS, FOUR(RESULT_positive_wide)));
}
// clang-format on

namespace {

template <bool kHasSlopes>
inline void plain_pairs(const DepthwisePixel& p, std::uint32_t first) {
  depthwise_pixel_plain<4, 1, kHasSlopes>(
      p, first, [&p](const std::uint8_t* weights, std::uint32_t tap, std::uint32_t lane) {
        return static_cast<std::int8_t>(weights[pair_weight_index(p.tap_count, tap, lane)]);
      });
}

}  // namespace

[[gnu::cold]] void depthwise_pixel_plain_dsp(const DepthwisePixel& p, std::uint32_t first) {
  plain_pairs<false>(p, first);
}
[[gnu::cold]] void depthwise_pixel_prelu_plain_dsp(const DepthwisePixel& p, std::uint32_t first) {
  plain_pairs<true>(p, first);
}

void depthwise_pixel_plain_dsp_wide(const DepthwisePixel& p, std::uint32_t first) {
  depthwise_pixel_plain<8, 2>(p, first, [&p](const std::uint8_t* weights, std::uint32_t tap, std::uint32_t lane) {
    return *reinterpret_cast<const std::int16_t*>(weights + wide_pair_weight_index(p.tap_count, tap, lane));
  });
}

}  // namespace cormorant::conv
