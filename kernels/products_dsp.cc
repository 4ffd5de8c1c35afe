// SPDX-License-Identifier: Apache-2.0
//
// For 13 registers: too many for a compiler to hand to inline assembly.
#include "kernels/products_dsp.h"

#include <cstddef>

namespace cormorant {

static_assert(offsetof(DspProducts, x) == 16 && offsetof(DspProducts, blocks) == 24);

// clang-format off
#define CORMORANT_BLOCKS(BLOCK)                              \
  asm volatile("push {r4-r11, lr}\n\t"                       \
               "ldmia r0, {r1, r2, r3, r7, r9, r10, r11}\n\t" \
               "adds r11, r11, #1\n\t"                       \
               "lsrs r11, r11, #1\n\t" /* two blocks per turn */ \
               "bcc 2f\n" /* an odd number of blocks starts in the middle */ \
               "1:\n\t" BLOCK                                \
               "2:\n\t" BLOCK                                \
               "subs r11, r11, #1\n\t"                       \
               "bne 1b\n\t"                                  \
               "stmia r0, {r1, r2, r3, r7, r9, r10}\n\t"     \
               "pop {r4-r11, pc}")

// 34 instructions per 32 products.
extern "C" [[gnu::naked, gnu::noinline]] void cormorant_products_pairs_dsp(DspProducts* /*products: r0*/) {
  CORMORANT_BLOCKS(
  "ldr lr, [r9], #4\n\t"
  "ldmia r10!, {r4, r5, r6, r8}\n\t"
  "sxtb16 r12, lr\n\t"
  "sxtb16 lr, lr, ror #8\n\t"
  "smlad r2, r12, r4, r2\n\t"
  "sxtb16 r4, r4\n\t"
  "smlad r1, r12, r4, r1\n\t"
  "smlad r2, lr, r5, r2\n\t"
  "sxtb16 r5, r5\n\t"
  "smlad r1, lr, r5, r1\n\t"
  "smlad r7, r12, r6, r7\n\t"
  "sxtb16 r6, r6\n\t"
  "smlad r3, r12, r6, r3\n\t"
  "smlad r7, lr, r8, r7\n\t"
  "sxtb16 r8, r8\n\t"
  "smlad r3, lr, r8, r3\n\t");
}

// 28 instructions per 32 products.
extern "C" [[gnu::naked, gnu::noinline]] void cormorant_products_wide_dsp(DspProducts* /*products: r0*/) {
  CORMORANT_BLOCKS(
  "ldr lr, [r9], #4\n\t"
  "ldmia r10!, {r4, r5, r6, r8}\n\t"
  "sxtb16 r12, lr\n\t"
  "sxtb16 lr, lr, ror #8\n\t"
  "smlad r1, r12, r4, r1\n\t"
  "smlad r2, r12, r5, r2\n\t"
  "smlad r3, r12, r6, r3\n\t"
  "smlad r7, r12, r8, r7\n\t"
  "ldmia r10!, {r4, r5, r6, r8}\n\t"
  "smlad r1, lr, r4, r1\n\t"
  "smlad r2, lr, r5, r2\n\t"
  "smlad r3, lr, r6, r3\n\t"
  "smlad r7, lr, r8, r7\n\t");
}
#undef CORMORANT_BLOCKS
// clang-format on

}  // namespace cormorant
