// SPDX-License-Identifier: Apache-2.0
//
// arithmetic.h in four lanes: VQRDMULH is the doubling high multiply, and VSHL by a negative amount rounds down.
#include <arm_mve.h>

#include "ops/layer_norm/rows.h"

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
      : [squares] "+Te"(sums.squares), [sum] "+Te"(sums.sum), [row] "+r"(row)
      : [count] "r"(size)
      : "q0", "lr", "memory");
  return sums;
}

// As C++, for four elements at a time:
//   d = size · x − mean;  value = vqrdmulhq_n_s32(vshlq_s32(d, left), root);
//   out = saturated(vshlq_s32(vaddq_s32(vqrdmulhq_s32(value, gamma), beta), −shift))
// Saturation takes two narrowing steps; the store takes the lowest byte of each lane.
// clang-format off
#define CORMORANT_VALUE             \
  "vldrb.s32 q0, [%[in]], #4\n\t"   \
  "vmul.i32 q0, q0, %[size]\n\t"    \
  "vsub.i32 q0, q0, %[mean]\n\t"    \
  "vshl.s32 q0, q0, %q[left]\n\t"         \
  "vqrdmulh.s32 q0, q0, %[root]\n\t"
#define CORMORANT_RESULT            \
  "vshl.s32 q0, q0, %q[shift]\n\t"         \
  "vqmovnb.s32 q0, q0\n\t"          \
  "vqmovnb.s16 q0, q0\n\t"          \
  "vstrb.32 q0, [%[out]], #4\n\t"   \
  "letp lr, 1b"

// γ and β of their own for each.
inline void run_channels(const Row& row, std::int32_t size, std::int32_t shift, const std::int8_t* in, std::int8_t* out,
                         std::uint32_t count, const std::int32_t* gamma, const std::int32_t* beta) {
  asm volatile(
      "dlstp.32 lr, %[count]\n"
      "1:\n\t"
      CORMORANT_VALUE
      "vldrw.u32 q1, [%[gamma]], #16\n\t"
      "vqrdmulh.s32 q0, q0, q1\n\t"
      "vldrw.u32 q1, [%[beta]], #16\n\t"
      "vadd.i32 q0, q0, q1\n\t"
      CORMORANT_RESULT
      : [in] "+l"(in), [out] "+l"(out), [gamma] "+r"(gamma), [beta] "+r"(beta)
      : [size] "r"(size), [mean] "r"(row.mean), [root] "r"(row.root), [left] "w"(vdupq_n_s32(row.left)), [shift] "w"(vdupq_n_s32(-shift)),
        [count] "r"(count)
      : "q0", "q1", "lr", "memory");
}

// The same γ and β for all.
inline void run_inner(const Row& row, std::int32_t size, std::int32_t shift, const std::int8_t* in, std::int8_t* out,
                      std::uint32_t count, std::int32_t gamma, std::int32_t beta) {
  asm volatile(
      "dlstp.32 lr, %[count]\n"
      "1:\n\t"
      CORMORANT_VALUE
      "vqrdmulh.s32 q0, q0, %[gamma]\n\t"
      "vadd.i32 q0, q0, %[beta]\n\t"
      CORMORANT_RESULT
      : [in] "+l"(in), [out] "+l"(out)
      : [size] "r"(size), [mean] "r"(row.mean), [root] "r"(row.root), [left] "w"(vdupq_n_s32(row.left)), [shift] "w"(vdupq_n_s32(-shift)),
        [count] "r"(count), [gamma] "r"(gamma), [beta] "r"(beta)
      : "q0", "lr", "memory");
}
#undef CORMORANT_RESULT
#undef CORMORANT_VALUE
// clang-format on

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  const Header& h = p.header();
  const auto size = static_cast<std::int32_t>(h.size());
  const auto shift = static_cast<std::int32_t>(h.shift);
  for_channels<statistics>(
      p, [&](const Sums& sums) { return row_of<doubling_high_multiply>(h, sums.sum, sums.squares); },
      [&](const Row& row, const std::int8_t* in, std::int8_t* out, std::uint32_t count, const std::int32_t* gamma,
          const std::int32_t* beta, std::uint32_t step) {
        if (step != 0) {
          run_channels(row, size, shift, in, out, count, gamma, beta);
        } else {
          run_inner(row, size, shift, in, out, count, *gamma, *beta);
        }
      });
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_LAYER_NORM_KERNELS, mve)

}  // namespace cormorant::ops::layer_norm
