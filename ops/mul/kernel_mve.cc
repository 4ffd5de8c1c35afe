// SPDX-License-Identifier: Apache-2.0
//
// Eight elements per turn in 16-bit lanes; products and their rescaling in 32-bit lanes, even and odd elements apart. A
// negative product's ties round down, so that minus one is added to it: VQRDMLAH adds the rescaled product to p >> 31
// (a product that is rescaled to zero does not notice). As C++, for one element:
//   p = (self - zs) · (other - zo);  v = (p >> 31) + doubling_high_multiply(p, multiplier)
//   out = clamp(((v + (1 << (n - 1))) >> n) + zero point)
// Up to seven elements are left; for them only loads and stores are predicated, since with an odd number the 16-bit
// predicate would cut the last 32-bit product in two.
#include <arm_mve.h>

#include "kernels/requantize_mve.h"
#include "kernels/vpr.h"
#include "ops/mul/kernel.h"

namespace cormorant::ops::mul {
namespace {

// clang-format off
// q0 and q1, or q3: the factors; q1: the result.
#define CORMORANT_RESCALE                    \
  "vshr.s32 q1, q2, #31\n\t"                 \
  "vqrdmlah.s32 q1, q2, %[multiplier]\n\t"   \
  "vrshl.s32 q1, %[right]\n\t"               \
  "vshr.s32 q2, q0, #31\n\t"                 \
  "vqrdmlah.s32 q2, q0, %[multiplier]\n\t"   \
  "vrshl.s32 q2, %[right]\n\t"               \
  "vqmovnb.s32 q1, q1\n\t"                   \
  "vqmovnt.s32 q1, q2\n\t"                   \
  "vqadd.s16 q1, q1, %[zero_point]\n\t"      \
  "vqmovnb.s16 q1, q1\n\t"
#define CORMORANT_EACH                       \
  "vadd.i16 q0, q0, %[self_offset]\n\t"      \
  "vadd.i16 q1, q1, %[other_offset]\n\t"     \
  "vmullb.s16 q2, q0, q1\n\t"                \
  "vmullt.s16 q0, q0, q1\n\t"                \
  CORMORANT_RESCALE
#define CORMORANT_ONE                        \
  "vadd.i16 q0, q0, %[self_offset]\n\t"      \
  "vmullb.s16 q2, q0, q3\n\t"                \
  "vmullt.s16 q0, q0, q3\n\t"                \
  CORMORANT_RESCALE

// All rows that one vector of other serves.
void multiply(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const auto& p = *static_cast<const Plan*>(plan);
  std::uint32_t rows = rows_of(p.tensors);
  asm volatile("1:\n\t"
               "wls lr, %[turns], 3f\n"
               "2:\n\t"
               "vldrb.s16 q0, [%[self]], #8\n\t"
               "vldrb.s16 q1, [%[other]], #8\n\t"
               CORMORANT_EACH
               "vstrb.16 q1, [%[out]], #8\n\t"
               "le lr, 2b\n"
               "3:\n\t"
               "cbz %[left], 4f\n\t"
               "vctp.16 %[left]\n\t"
               "vpstt\n\t"
               "vldrbt.s16 q0, [%[self]]\n\t"
               "vldrbt.s16 q1, [%[other]]\n\t"
               CORMORANT_EACH
               "vpst\n\t"
               "vstrbt.16 q1, [%[out]]\n\t"
               "add %[self], %[left]\n\t"
               "add %[out], %[left]\n"
               "4:\n\t"
               "sub %[other], %[other], %[turns], lsl #3\n\t"
               "subs %[rows], %[rows], #1\n\t"
               "bne 1b"
               : [self] "+&l"(self), [other] "+&l"(other), [out] "+&l"(out), [rows] "+&r"(rows)
               : [turns] "r"(p.tensors.count / 8), [left] "l"(p.tensors.count % 8),
                 [self_offset] "r"(-p.self_zero_point),
                 [other_offset] "r"(-p.other_zero_point), [multiplier] "r"(p.multiplier),
                 [right] "r"(std::int32_t{p.shift}), [zero_point] "r"(std::int32_t{p.output_zero_point})
               : CORMORANT_VPR "q0", "q1", "q2", "lr", "cc", "memory");
}

void multiply_one(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const auto& p = *static_cast<const Plan*>(plan);
  asm volatile("vdup.16 q3, %[other]\n\t"
               "wls lr, %[turns], 2f\n"
               "1:\n\t"
               "vldrb.s16 q0, [%[self]], #8\n\t"
               CORMORANT_ONE
               "vstrb.16 q1, [%[out]], #8\n\t"
               "le lr, 1b\n"
               "2:\n\t"
               "cbz %[left], 3f\n\t"
               "vctp.16 %[left]\n\t"
               "vpst\n\t"
               "vldrbt.s16 q0, [%[self]]\n\t"
               CORMORANT_ONE
               "vpst\n\t"
               "vstrbt.16 q1, [%[out]]\n"
               "3:"
               : [self] "+&l"(self), [out] "+&l"(out)
               : [turns] "r"(p.tensors.count / 8), [left] "l"(p.tensors.count % 8),
                 [self_offset] "r"(-p.self_zero_point), [other] "r"(*other - p.other_zero_point),
                 [multiplier] "r"(p.multiplier), [right] "r"(std::int32_t{p.shift}),
                 [zero_point] "r"(std::int32_t{p.output_zero_point})
               : CORMORANT_VPR "q0", "q1", "q2", "q3", "lr", "memory");
}

#undef CORMORANT_ONE
#undef CORMORANT_EACH
#undef CORMORANT_RESCALE

// The loops saturate to int8; tighter bounds are rare and cost a second pass.
void clamp_output(const Plan& p) {
  if (p.activation_min == -128 && p.activation_max == 127) return;
  std::int8_t* out = p.tensors.out;
  asm volatile("vdup.8 q1, %[low]\n\t"
               "vdup.8 q2, %[high]\n\t"
               "wlstp.8 lr, %[count], 2f\n"
               "1: vldrb.u8 q0, [%[out]]\n\t"
               "vmax.s8 q0, q0, q1\n\t"
               "vmin.s8 q0, q0, q2\n\t"
               "vstrb.8 q0, [%[out]], #16\n\t"
               "letp lr, 1b\n"
               "2:"
               : [out] "+&r"(out)
               : [count] "r"(elements_of(p.tensors)), [low] "r"(std::int32_t{p.activation_min}),
                 [high] "r"(std::int32_t{p.activation_max})
               : "q0", "q1", "q2", "lr", "memory");
}
// clang-format on

// Factors of 1/2 and more, and zero points far outside int8.
void multiply_any(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const auto& p = *static_cast<const Plan*>(plan);
  const int32x4_t multiplier = vdupq_n_s32(p.multiplier);
  const int32x4_t left = vdupq_n_s32(p.shift > 0 ? p.shift : 0);
  const int32x4_t right = vdupq_n_s32(p.shift > 0 ? 0 : p.shift);
  const int32x4_t low = vdupq_n_s32(p.activation_min - p.output_zero_point);
  const int32x4_t high = vdupq_n_s32(p.activation_max - p.output_zero_point);
  const int32x4_t one = vdupq_n_s32(*other);
  for (std::uint32_t i = 0; i < p.tensors.count; i += 4) {
    const mve_pred16_t lanes = vctp32q(p.tensors.count - i);
    const int32x4_t x = vsubq_n_s32(vldrbq_z_s32(self + i, lanes), p.self_zero_point);
    const int32x4_t y = vsubq_n_s32(p.tensors.other_repeats ? one : vldrbq_z_s32(other + i, lanes), p.other_zero_point);
    const int32x4_t level = requantize_mve(vmulq_s32(x, y), multiplier, left, right);
    vstrbq_p_s32(out + i, vaddq_n_s32(vminq_s32(vmaxq_s32(level, low), high), p.output_zero_point), lanes);
  }
}

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  if (!p.is_simple() || !p.is_narrow()) {
    run_stretches(p.tensors, multiply_any, plan);
  } else if (p.tensors.other_repeats) {
    run_stretches(p.tensors, multiply_one, plan);
  } else {
    run_rows(p.tensors, multiply, plan);
  }
  if (p.is_simple()) clamp_output(p);
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_MUL_KERNELS, mve)

}  // namespace cormorant::ops::mul
