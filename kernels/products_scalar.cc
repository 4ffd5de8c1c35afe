// SPDX-License-Identifier: Apache-2.0
//
// In assembly because gcc 12 wastes registers on copies and instructions on pointers.
#include "kernels/products_scalar.h"

#include <cstddef>

#include "kernels/frame.h"

namespace cormorant {

static_assert(offsetof(ScalarProducts, x) == 16 && offsetof(ScalarProducts, end) == 24);

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB < 2

// ARMv6-M: low registers, 116 instructions per 32 products.
// clang-format off
#define CORMORANT_PRODUCT(sum, offset)  \
  "ldrb r5, [r6, #" #offset "]\n\t"     \
  "muls r5, r4, r5\n\t"                 \
  "adds " #sum ", " #sum ", r5\n\t"
#define CORMORANT_TAP(X, k, w0, w1, w2, w3) \
  X(k)                                      \
  CORMORANT_PRODUCT(r0, w0)                 \
  CORMORANT_PRODUCT(r1, w1)                 \
  CORMORANT_PRODUCT(r2, w2)                 \
  CORMORANT_PRODUCT(r3, w3)
// X loads an element of x.
#define CORMORANT_PRODUCTS(X, bytes)                   \
  asm volatile(".syntax unified\n\t"                   \
               CORMORANT_PUSH_R4_R7_LR                 \
               "mov r12, r0\n\t"                       \
               "ldr r7, [r0, #16]\n\t"                 \
               "ldr r6, [r0, #20]\n\t"                 \
               "ldr r5, [r0, #24]\n\t"                 \
               "mov lr, r5\n\t"                        \
               "ldmia r0, {r0, r1, r2, r3}\n"          \
               "1:\n\t"                                \
               CORMORANT_TAP(X, 0, 0, 1, 2, 3)         \
               CORMORANT_TAP(X, 1, 4, 5, 6, 7)         \
               CORMORANT_TAP(X, 2, 8, 9, 10, 11)       \
               CORMORANT_TAP(X, 3, 12, 13, 14, 15)     \
               CORMORANT_TAP(X, 4, 16, 17, 18, 19)     \
               CORMORANT_TAP(X, 5, 20, 21, 22, 23)     \
               CORMORANT_TAP(X, 6, 24, 25, 26, 27)     \
               CORMORANT_TAP(X, 7, 28, 29, 30, 31)     \
               "adds r6, r6, #32\n\t"                  \
               "adds r7, r7, #" #bytes "\n\t"          \
               "cmp r7, lr\n\t"                        \
               "blo 1b\n\t"                            \
               "mov r4, r12\n\t"                       \
               "stmia r4!, {r0, r1, r2, r3}\n\t"       \
               "str r7, [r4]\n\t"                      \
               "str r6, [r4, #4]\n\t"                  \
               "pop {r4-r7, pc}")
#define CORMORANT_BYTE(k) "ldrb r4, [r7, #" #k "]\n\tsxtb r4, r4\n\t"
#define CORMORANT_WORD(k) "ldrh r4, [r7, #2 * " #k "]\n\tsxth r4, r4\n\t"

extern "C" [[gnu::naked, gnu::noinline]] void cormorant_products_scalar(ScalarProducts* /*products: r0*/) {
  CORMORANT_PRODUCTS(CORMORANT_BYTE, 8);
}
extern "C" [[gnu::naked, gnu::noinline]] void cormorant_products_words_scalar(ScalarProducts* /*products: r0*/) {
  CORMORANT_PRODUCTS(CORMORANT_WORD, 16);
}
// clang-format on

#else

// 74 instructions per 32 products.
// clang-format off
#define CORMORANT_REST_OF_TAP(w1, w2, w3) \
  "ldrb r9, [r5, #" #w1 "]\n\t"           \
  "ldrb r10, [r5, #" #w2 "]\n\t"          \
  "ldrb r11, [r5, #" #w3 "]\n\t"          \
  "mla r0, r7, r8, r0\n\t"                \
  "mla r1, r7, r9, r1\n\t"                \
  "mla r2, r7, r10, r2\n\t"               \
  "mla r3, r7, r11, r3\n\t"
#define CORMORANT_TAP(X, k, w0, w1, w2, w3) \
  X(k)                                      \
  "ldrb r8, [r5, #" #w0 "]\n\t"             \
  CORMORANT_REST_OF_TAP(w1, w2, w3)
// X loads an element of x; with the first one, `load` advances the pointer.
#define CORMORANT_PRODUCTS(X, load, bytes)             \
  asm volatile(CORMORANT_PUSH_R4_R11_LR                \
               "mov r12, r0\n\t"                       \
               "ldmia r0, {r0, r1, r2, r3, r4, r5, r6}\n\t" \
               "subs r4, r4, #" #bytes "\n\t"          \
               "subs r5, r5, #32\n\t"                  \
               "subs r6, r6, #" #bytes "\n"            \
               "1:\n\t"                                \
               load " r7, [r4, #" #bytes "]!\n\t"      \
               "ldrb r8, [r5, #32]!\n\t"               \
               CORMORANT_REST_OF_TAP(1, 2, 3)          \
               CORMORANT_TAP(X, 1, 4, 5, 6, 7)         \
               CORMORANT_TAP(X, 2, 8, 9, 10, 11)       \
               CORMORANT_TAP(X, 3, 12, 13, 14, 15)     \
               CORMORANT_TAP(X, 4, 16, 17, 18, 19)     \
               CORMORANT_TAP(X, 5, 20, 21, 22, 23)     \
               CORMORANT_TAP(X, 6, 24, 25, 26, 27)     \
               CORMORANT_TAP(X, 7, 28, 29, 30, 31)     \
               "cmp r4, r6\n\t"                        \
               "bne 1b\n\t"                            \
               "adds r4, r4, #" #bytes "\n\t"          \
               "adds r5, r5, #32\n\t"                  \
               "stmia r12, {r0, r1, r2, r3, r4, r5}\n\t" \
               "pop {r4-r11, pc}")
#define CORMORANT_BYTE(k) "ldrsb r7, [r4, #" #k "]\n\t"
#define CORMORANT_WORD(k) "ldrsh r7, [r4, #2 * " #k "]\n\t"

extern "C" [[gnu::naked, gnu::noinline]] void cormorant_products_scalar(ScalarProducts* /*products: r0*/) {
  CORMORANT_PRODUCTS(CORMORANT_BYTE, "ldrsb", 8);
}
extern "C" [[gnu::naked, gnu::noinline]] void cormorant_products_words_scalar(ScalarProducts* /*products: r0*/) {
  CORMORANT_PRODUCTS(CORMORANT_WORD, "ldrsh", 16);
}
// clang-format on

#endif

#undef CORMORANT_WORD
#undef CORMORANT_BYTE
#undef CORMORANT_PRODUCTS
#undef CORMORANT_TAP

}  // namespace cormorant
