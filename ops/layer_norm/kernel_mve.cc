// SPDX-License-Identifier: Apache-2.0
#include "ops/layer_norm/rows_mve.h"

namespace cormorant::ops::layer_norm {
namespace {

Sums statistics(const std::int8_t* row, std::uint32_t size) {
  Sums sums;
  asm volatile(
      "dlstp.8 lr, %[count]\n"
      "1:\n\t"
      "vldrb.u8 q0, [%[row]], #16\n\t"
      "vmladava.s8 %[squares], q0, q0\n\t"
      "vaddva.s8 %[sum], q0\n\t"
      "letp lr, 1b"
      : [squares] "+&Te"(sums.squares), [sum] "+&Te"(sums.sum), [row] "+&r"(row)
      : [count] "r"(size)
      : "q0", "lr", "memory");
  return sums;
}

struct Bytes {
  CORMORANT_NORM_LOOPS(std::int8_t, "vldrb.s32 q0, [%[in]], #4\n\t",
                       "vqmovnb.s16 q0, q0\n\t"
                       "vstrb.32 q0, [%[out]], #4\n\t")
};

void execute(const void* plan) { normalize_rows_mve<statistics, Bytes>(*static_cast<const Plan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_LAYER_NORM_KERNELS, mve)

}  // namespace cormorant::ops::layer_norm
