// SPDX-License-Identifier: Apache-2.0
#include "ops/layer_norm/rows_mve.h"

namespace cormorant::ops::layer_norm {
namespace {

WordsSums statistics(const std::int16_t* row, std::uint32_t size) {
  WordsSums sums;  // %Q is the lower half of a sum of 64 bits, %R the upper
  asm volatile(
      "dlstp.16 lr, %[count]\n"
      "1:\n\t"
      "vldrh.u16 q0, [%[row]], #16\n\t"
      "vmlaldava.s16 %Q[squares], %R[squares], q0, q0\n\t"
      "vaddva.s16 %[sum], q0\n\t"
      "letp lr, 1b"
      : [squares] "+&r"(sums.squares), [sum] "+&Te"(sums.sum), [row] "+&r"(row)
      : [count] "r"(size)
      : "q0", "lr", "memory");
  return sums;
}

struct Words {
  CORMORANT_NORM_LOOPS(std::int16_t, "vldrh.s32 q0, [%[in]], #8\n\t", "vstrh.32 q0, [%[out]], #8\n\t")
};

void execute_words(const void* plan) { normalize_rows_mve<statistics, Words>(*static_cast<const WordsPlan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_LAYER_NORM_KERNELS, mve_words)

}  // namespace cormorant::ops::layer_norm
