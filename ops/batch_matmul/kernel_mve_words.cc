// SPDX-License-Identifier: Apache-2.0
//
// VMLALDAVA adds eight products to a 64-bit sum, which is two core registers. Two rows with two columns take four loads
// for 32 products.
#include <arm_mve.h>

#include "ops/batch_matmul/words_kernel.h"

namespace cormorant::ops::batch_matmul {
namespace {

std::int16_t product(const WordsPlan& p, const std::int16_t* lhs, const std::int16_t* rhs) {
  std::int64_t sum = 0;  // %Q is the lower half, %R the upper
  asm volatile(
      "dlstp.16 lr, %[count]\n"
      "1:\n\t"
      "vldrh.u16 q0, [%[lhs]], #16\n\t"
      "vldrh.u16 q1, [%[rhs]], #16\n\t"
      "vmlaldava.s16 %Q[sum], %R[sum], q0, q1\n\t"
      "letp lr, 1b"
      : [sum] "+&r"(sum), [lhs] "+&r"(lhs), [rhs] "+&r"(rhs)
      : [count] "r"(p.size.inner)
      : "q0", "q1", "lr", "memory");
  return rescaled_word(sum, p.multiplier, p.shift);
}

void four_products(const WordsPlan& p, const std::int16_t* lhs, const std::int16_t* rhs, std::int16_t* out,
                   std::int16_t* second) {
  std::int64_t a = 0, b = 0, c = 0, d = 0;
  const std::int16_t* lhs1 = lhs + p.size.inner;
  const std::int16_t* rhs1 = rhs + p.size.inner;
  asm volatile(
      "dlstp.16 lr, %[count]\n"
      "1:\n\t"
      "vldrh.u16 q0, [%[lhs]], #16\n\t"
      "vldrh.u16 q2, [%[rhs]], #16\n\t"
      "vmlaldava.s16 %Q[a], %R[a], q0, q2\n\t"
      "vldrh.u16 q3, [%[rhs1]], #16\n\t"
      "vmlaldava.s16 %Q[b], %R[b], q0, q3\n\t"
      "vldrh.u16 q1, [%[lhs1]], #16\n\t"
      "vmlaldava.s16 %Q[c], %R[c], q1, q2\n\t"
      "vmlaldava.s16 %Q[d], %R[d], q1, q3\n\t"
      "letp lr, 1b"
      : [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c), [d] "+&r"(d), [lhs] "+&r"(lhs), [lhs1] "+&r"(lhs1), [rhs] "+&r"(rhs),
        [rhs1] "+&r"(rhs1)
      : [count] "r"(p.size.inner)
      : "q0", "q1", "q2", "q3", "lr", "memory");
  out[0] = rescaled_word(a, p.multiplier, p.shift);
  out[1] = rescaled_word(b, p.multiplier, p.shift);
  second[0] = rescaled_word(c, p.multiplier, p.shift);
  second[1] = rescaled_word(d, p.multiplier, p.shift);
}

void execute_words(const void* raw) {
  multiply_words<2, 2>(*static_cast<const WordsPlan*>(raw), four_products, product);
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_BATCH_MATMUL_KERNELS, mve_words)

}  // namespace cormorant::ops::batch_matmul
