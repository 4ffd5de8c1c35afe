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
#include "ops/mul/kernel.h"

namespace cormorant::ops::mul {
namespace {

// clang-format off
// q0 and q1 or q5: the factors; q1: the result. q3, q4: the bounds.
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
  "vmax.s16 q1, q1, q3\n\t"                  \
  "vmin.s16 q1, q1, q4\n\t"
#define CORMORANT_EACH                       \
  "vadd.i16 q0, q0, %[self_offset]\n\t"      \
  "vadd.i16 q1, q1, %[other_offset]\n\t"     \
  "vmullb.s16 q2, q0, q1\n\t"                \
  "vmullt.s16 q0, q0, q1\n\t"                \
  CORMORANT_RESCALE
#define CORMORANT_ONE                        \
  "vadd.i16 q0, q0, %[self_offset]\n\t"      \
  "vmullb.s16 q2, q0, q5\n\t"                \
  "vmullt.s16 q0, q0, q5\n\t"                \
  CORMORANT_RESCALE
#define CORMORANT_BOUNDS                     \
  "vdup.16 q3, %[bounds]\n\t"                \
  "lsr lr, %[bounds], #16\n\t"               \
  "vdup.16 q4, lr\n\t"

// Both bounds in one register: there are not many.
std::uint32_t bounds_of(const Plan& p) {
  return static_cast<std::uint16_t>(p.activation_min) |
         static_cast<std::uint32_t>(static_cast<std::uint16_t>(p.activation_max)) << 16;
}

void multiply(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const auto& p = *static_cast<const Plan*>(plan);
  asm volatile(CORMORANT_BOUNDS
               "wls lr, %[turns], 2f\n"
               "1:\n\t"
               "vldrb.s16 q0, [%[self]], #8\n\t"
               "vldrb.s16 q1, [%[other]], #8\n\t"
               CORMORANT_EACH
               "vstrb.16 q1, [%[out]], #8\n\t"
               "le lr, 1b\n"
               "2:\n\t"
               "cbz %[left], 3f\n\t"
               "vctp.16 %[left]\n\t"
               "vpstt\n\t"
               "vldrbt.s16 q0, [%[self]]\n\t"
               "vldrbt.s16 q1, [%[other]]\n\t"
               CORMORANT_EACH
               "vpst\n\t"
               "vstrbt.16 q1, [%[out]]\n"
               "3:"
               : [self] "+l"(self), [other] "+l"(other), [out] "+l"(out)
               : [turns] "r"(p.tensors.count / 8), [left] "l"(p.tensors.count % 8),
                 [self_offset] "r"(-std::int32_t{p.self_zero_point}),
                 [other_offset] "r"(-std::int32_t{p.other_zero_point}), [multiplier] "r"(p.multiplier),
                 [right] "r"(std::int32_t{p.shift}), [zero_point] "r"(std::int32_t{p.output_zero_point}),
                 [bounds] "r"(bounds_of(p))
               : "q0", "q1", "q2", "q3", "q4", "lr", "memory");
}

void multiply_one(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const auto& p = *static_cast<const Plan*>(plan);
  asm volatile(CORMORANT_BOUNDS
               "vdup.16 q5, %[other]\n\t"
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
               : [self] "+l"(self), [out] "+l"(out)
               : [turns] "r"(p.tensors.count / 8), [left] "l"(p.tensors.count % 8),
                 [self_offset] "r"(-std::int32_t{p.self_zero_point}), [other] "r"(*other - p.other_zero_point),
                 [multiplier] "r"(p.multiplier), [right] "r"(std::int32_t{p.shift}),
                 [zero_point] "r"(std::int32_t{p.output_zero_point}), [bounds] "r"(bounds_of(p))
               : "q0", "q1", "q2", "q3", "q4", "q5", "lr", "memory");
}

#undef CORMORANT_BOUNDS
#undef CORMORANT_ONE
#undef CORMORANT_EACH
#undef CORMORANT_RESCALE
// clang-format on

// Factors of 1/2 and more.
void multiply_any(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const auto& p = *static_cast<const Plan*>(plan);
  const int32x4_t multiplier = vdupq_n_s32(p.multiplier);
  const int32x4_t left = vdupq_n_s32(p.shift);
  const int32x4_t low = vdupq_n_s32(p.activation_min - p.output_zero_point);
  const int32x4_t high = vdupq_n_s32(p.activation_max - p.output_zero_point);
  const int32x4_t one = vdupq_n_s32(*other);
  for (std::uint32_t i = 0; i < p.tensors.count; i += 4) {
    const mve_pred16_t lanes = vctp32q(p.tensors.count - i);
    const int32x4_t x = vsubq_n_s32(vldrbq_z_s32(self + i, lanes), p.self_zero_point);
    const int32x4_t y = vsubq_n_s32(p.tensors.other_repeats ? one : vldrbq_z_s32(other + i, lanes), p.other_zero_point);
    const int32x4_t level = requantize_mve(vmulq_s32(x, y), multiplier, left, vdupq_n_s32(0));
    vstrbq_p_s32(out + i, vaddq_n_s32(vminq_s32(vmaxq_s32(level, low), high), p.output_zero_point), lanes);
  }
}

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  Stretch stretch = p.tensors.other_repeats ? multiply_one : multiply;
  if (!p.is_simple()) stretch = multiply_any;
  run_stretches(p.tensors, stretch, plan);
}

}  // namespace
}  // namespace cormorant::ops::mul

CORMORANT_KERNEL(cormorant_mul_mve, cormorant::ops::mul::kMulMve, cormorant::ops::mul::load_clamped,
                 cormorant::ops::mul::execute)
CORMORANT_KERNEL(cortex_m_quantized_mul_out_mve, "cortex_m::quantized_mul.out", cormorant::ops::mul::load,
                 cormorant::ops::mul::execute)
