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

// Most channels' sums are small, as their records say; the others share the loop of those that may shift left.
// Registers: r0 … r3 patches of two elements, r4 weight, r5 patches' pointer, r6 stream, r8 r9 r10 r7 sums, lr end of
// the patches. Then: r8 … r11 sums, r12 out, lr out_step. Stack: 0 patches, 4 end of patches, 8 channels left, 12 2 ·
// offset + 1, 16 out, 20 out_step, 28 record, 32 stream, 36 whether the number of
// fours is odd, 40 and 44 shifts to the left.

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
// See conv_gemm_v6m_scalar.cc.
#define SHIFT_BY(at)                  \
  "ldr r1, [sp, #" at "]\n"           \
  "lsls r0, r0, r1\n"
#define RESULT_both(sum) CORMORANT_REQUANTIZE_V6M_SHIFTED(sum, SHIFT_BY("40"), SHIFT_BY("44")) STORE

// With a multiplier for each sign.
#define SHIFT_AND_CHOOSE SHIFT_BY("40") CORMORANT_MULTIPLIER_V6M("28", "4", "12")
#define RESULT_prelu(sum) CORMORANT_REQUANTIZE_V6M_SHIFTED(sum, SHIFT_AND_CHOOSE, SHIFT_BY("44")) STORE

// `HEAD`: bytes of a record before its weights.
#define GEMM(HEAD, RESULTS, REST)     \
  ".syntax unified\n"                 \
  CORMORANT_PUSH_R4_R11_LR_V6M        \
  CORMORANT_RESERVE("48")             \
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
  CORMORANT_RELEASE("48")             \
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
// A channel that shifts left does so by one more than its factor says, and right by 1: its product is doubled instead.
#define SHIFTS                        \
  "movs r1, #0\n"                     \
  "cmp r2, #0\n"                      \
  "beq 8f\n"                          \
  "subs r2, r2, #1\n"                 \
  "movs r1, #1\n"                     \
  "8:\n"                              \
  "str r2, [sp, #40]\n"               \
  "str r1, [sp, #44]\n"
#define OTHERS                        \
  "6:\n"                              \
  "lsrs r4, r5, #16\n"                \
  "uxth r5, r5\n"                     \
  SHIFTS                              \
  FOUR(RESULT_both)                   \
  "b 4b\n"

extern "C" __attribute__((naked)) void cormorant_conv_gemm_halves_v6m(const HalvesGemm* /*gemm*/) {
  asm volatile(GEMM("12", SMALL, OTHERS));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_prelu_halves_v6m(const HalvesGemm* /*gemm*/) {
  asm volatile(GEMM("16", SHIFTS FOUR(RESULT_prelu), ""));
}
// clang-format on

namespace {

template <bool kHasSlopes>
inline void gemm_plain(const HalvesGemm& gemm) {
  constexpr std::uint32_t kHead = kHasSlopes ? 16 : 12;
  const std::uint8_t* stream = gemm.stream;
  for (std::uint32_t channel = 0; channel < gemm.channels; ++channel) {
    const auto* record = reinterpret_cast<const std::int32_t*>(stream);
    const auto* shifts = reinterpret_cast<const std::int8_t*>(stream + 8);
    const auto* weights = reinterpret_cast<const std::int8_t*>(stream + kHead);
    std::int32_t sums[4] = {record[0], record[0], record[0], record[0]};
    const std::int32_t* x = gemm.patches;
    for (std::uint32_t k = 0; k < gemm.elements; ++k, x += 2) {
      const std::int32_t w = weights[k];
      for (std::uint32_t i = 0; i < 4; i += 2) {
        const auto low = static_cast<std::int16_t>(x[i / 2]);
        sums[i] += low * w;
        sums[i + 1] += ((x[i / 2] - low) >> 16) * w;
      }
    }
    stream += kHead + gemm.elements;
    std::int8_t* out = gemm.out + channel;
    for (std::uint32_t i = 0; i < 4; ++i, out += gemm.out_step) {
      const std::int32_t shift = shifts[0] + shifts[1];
      const std::int32_t value = (kHasSlopes ? requantize_by_sign(sums[i], record[1], record[3], shift)
                                             : requantize_for_cpu(sums[i], record[1], shift)) +
                                 gemm.output.offset;
      *out = static_cast<std::int8_t>(clamp(value, gemm.output.min, gemm.output.max));
    }
  }
}

}  // namespace

void conv_gemm_halves_plain(const HalvesGemm& gemm) { gemm_plain<false>(gemm); }
void conv_gemm_prelu_halves_plain(const HalvesGemm& gemm) { gemm_plain<true>(gemm); }

}  // namespace cormorant::conv
