// SPDX-License-Identifier: Apache-2.0
//
// These loops use 13 registers, too many for inline assembly. Loads are single and consecutive, which M4 overlaps
// (unlike lists); M7 issues two instructions at a time, if the second is not an extension and not both are products.
#include "kernels/products_dsp.h"

#include <cstddef>

#include "kernels/frame.h"

namespace cormorant {

static_assert(offsetof(DspProducts, x) == 16 && offsetof(DspProducts, blocks) == 24);

// clang-format off
#define CORMORANT_BEGIN                                      \
  CORMORANT_PUSH_R4_R11_LR                                   \
  "ldmia r0, {r1, r2, r3, r7, r9, r10, r11}\n\t"
#define CORMORANT_END                                        \
  "stmia r0, {r1, r2, r3, r7, r9, r10}\n\t"                  \
  "pop {r4-r11, pc}"

#ifdef CORMORANT_DUAL_ISSUE
#define CORMORANT_TOGETHER(a, b) b a
// Two blocks per turn; an odd number of them starts in the middle.
#define CORMORANT_BLOCKS(BLOCK)                              \
  asm volatile(CORMORANT_BEGIN                               \
               "adds r11, r11, #1\n\t"                       \
               "lsrs r11, r11, #1\n\t"                       \
               "bcc 2f\n"                                    \
               "1:\n\t" BLOCK                                \
               "2:\n\t" BLOCK                                \
               "subs r11, r11, #1\n\t"                       \
               "bne 1b\n\t"                                  \
               CORMORANT_END)
#else
#define CORMORANT_TOGETHER(a, b) a b
// Four blocks per turn; the first turn may skip some.
#define CORMORANT_BLOCKS(BLOCK)                              \
  asm volatile(CORMORANT_BEGIN                               \
               "lsls r4, r11, #31\n\t"                       \
               "add r11, r11, #3\n\t"                        \
               "lsr r11, r11, #2\n\t"                        \
               "bcs 5f\n\t"                                  \
               "bmi 4f\n"                                    \
               "1:\n\t" BLOCK                                \
               "2:\n\t" BLOCK                                \
               "3:\n\t" BLOCK                                \
               "4:\n\t" BLOCK                                \
               "subs r11, r11, #1\n\t"                       \
               "bne 1b\n\t"                                  \
               CORMORANT_END "\n"                            \
               "5:\n\t"                                      \
               "bmi 2b\n\t"                                  \
               "b 3b")
#endif

// 19 instructions per 16 products: 20 cycles on M4, 11 on M7.
extern "C" [[gnu::naked, gnu::noinline]] void cormorant_products_pairs_dsp(DspProducts* /*products: r0*/) {
  CORMORANT_BLOCKS(
  "ldr lr, [r9], #4\n\t"
  "ldr r5, [r10, #4]\n\t"
  "ldr r8, [r10, #12]\n\t"
  "ldr r6, [r10, #8]\n\t"
  CORMORANT_TOGETHER("ldr r4, [r10], #16\n\t", "sxtb16 r12, lr\n\t")
  "sxtb16 lr, lr, ror #8\n\t"
  "smlad r7, r12, r6, r7\n\t"
  "sxtb16 r6, r6\n\t"
  "smlad r2, r12, r4, r2\n\t"
  "sxtb16 r4, r4\n\t"
  "smlad r3, r12, r6, r3\n\t"
  "smlad r1, r12, r4, r1\n\t"
  "smlad r2, lr, r5, r2\n\t"
  "sxtb16 r5, r5\n\t"
  "smlad r7, lr, r8, r7\n\t"
  "sxtb16 r8, r8\n\t"
  "smlad r1, lr, r5, r1\n\t"
  "smlad r3, lr, r8, r3\n\t");
}

// 19 instructions per 16 products, none of which unpack weights.
extern "C" [[gnu::naked, gnu::noinline]] void cormorant_products_wide_dsp(DspProducts* /*products: r0*/) {
  CORMORANT_BLOCKS(
  "ldr lr, [r9], #4\n\t"
  "ldr r4, [r10]\n\t"
  "ldr r5, [r10, #4]\n\t"
  "ldr r6, [r10, #8]\n\t"
  CORMORANT_TOGETHER("ldr r8, [r10, #12]\n\t", "sxtb16 r12, lr\n\t")
  "sxtb16 lr, lr, ror #8\n\t"
  "smlad r1, r12, r4, r1\n\t"
  "smlad r2, r12, r5, r2\n\t"
  "smlad r3, r12, r6, r3\n\t"
  "smlad r7, r12, r8, r7\n\t"
  "ldr r5, [r10, #20]\n\t"
  "ldr r6, [r10, #24]\n\t"
  "ldr r8, [r10, #28]\n\t"
  "ldr r4, [r10, #16]\n\t"
  "add r10, r10, #32\n\t"
  "smlad r1, lr, r4, r1\n\t"
  "smlad r2, lr, r5, r2\n\t"
  "smlad r3, lr, r6, r3\n\t"
  "smlad r7, lr, r8, r7\n\t");
}

// 22 instructions per 16 products.
#define CORMORANT_PAIR_OF_WORDS(x)        \
  "ldr r5, [r10, #4]\n\t"                 \
  "ldr r4, [r10], #8\n\t"                 \
  "sxtb16 r6, r4\n\t"                     \
  "sxtb16 r4, r4, ror #8\n\t"             \
  "smlad r1, " #x ", r6, r1\n\t"          \
  "sxtb16 r8, r5\n\t"                     \
  "smlad r2, " #x ", r4, r2\n\t"          \
  "sxtb16 r5, r5, ror #8\n\t"             \
  "smlad r3, " #x ", r8, r3\n\t"          \
  "smlad r7, " #x ", r5, r7\n\t"
extern "C" [[gnu::naked, gnu::noinline]] void cormorant_products_words_dsp(DspProducts* /*products: r0*/) {
  CORMORANT_BLOCKS(
  "ldr r12, [r9, #4]\n\t"
  "ldr lr, [r9], #8\n\t"
  CORMORANT_PAIR_OF_WORDS(lr)
  CORMORANT_PAIR_OF_WORDS(r12));
}
#undef CORMORANT_PAIR_OF_WORDS
#undef CORMORANT_BLOCKS
// clang-format on

}  // namespace cormorant
