// SPDX-License-Identifier: Apache-2.0
//
// exp of base/float_math.h for four numbers at once: the same operations in the same order. A number whose exponential
// is out of the ordinary (a NaN, infinite or nearly so, or subnormal) is recorded as a flush, so that scalar code
// computes those four.
#pragma once

#include "kernels/float_mve.h"
#include "kernels/vpr.h"

namespace cormorant {

[[gnu::always_inline]] inline float32x4_t exp_of(float32x4_t x) {
  constexpr float kLargest = 88.0F, kLeast = -87.0F, kNothing = -103.972084F;
  float32x4_t inside = x;
  float32x4_t limit;
  // LT holds for a NaN too. Numbers below kLeast are replaced by it; those of them that are not below kNothing are left
  // to scalar code.
  asm volatile(
      "vdup.32 %q[limit], %[largest]\n"
      "vpt.f32 lt, %q[limit], %q[x]\n"
      "vmult.f32 %q[limit], %q[x], %[subnormal]\n"
      "vdup.32 %q[limit], %[least]\n"
      "vpttt.f32 gt, %q[limit], %q[x]\n"
      "vdupt.32 %q[inside], %[least]\n"
      "vcmpt.f32 ge, %q[x], %[nothing]\n"
      "vmult.f32 %q[limit], %q[x], %[subnormal]\n"
      : [inside] "+&w"(inside), [limit] "=&w"(limit)
      : [x] "w"(x), [largest] "r"(kLargest), [least] "r"(kLeast), [nothing] "r"(kNothing), [subnormal] "r"(1)
      : CORMORANT_VPR "cc");
  const uint32x4_t sign = vandq_u32(vreinterpretq_u32_f32(inside), vdupq_n_u32(0x80000000U));
  const float32x4_t half_away = vreinterpretq_f32_u32(vorrq_u32(sign, vdupq_n_u32(0x3F000000U)));
  const int32x4_t n = vcvtq_s32_f32(vaddq_f32(vmulq_n_f32(inside, 1.44269502F), half_away));
  const float32x4_t whole = vcvtq_f32_s32(n);
  const float32x4_t r =
      vsubq_f32(vsubq_f32(inside, vmulq_n_f32(whole, 0.693359375F)), vmulq_n_f32(whole, -2.12194442e-4F));
  float32x4_t series = vdupq_n_f32(0.000199179703F);
  series = vaddq_n_f32(vmulq_f32(series, r), 0.001394619F);
  series = vaddq_n_f32(vmulq_f32(series, r), 0.00833326485F);
  series = vaddq_n_f32(vmulq_f32(series, r), 0.0416662693F);
  series = vaddq_n_f32(vmulq_f32(series, r), 0.166666672F);
  series = vaddq_n_f32(vmulq_f32(series, r), 0.5F);
  const float32x4_t power = vaddq_n_f32(vaddq_f32(r, vmulq_f32(vmulq_f32(r, r), series)), 1);
  // Within these limits one multiplication by 2^n gives the same as two by its halves.
  const int32x4_t exponent = vshlq_n_s32(vaddq_n_s32(n, 127), 23);
  float32x4_t result = vmulq_f32(power, vreinterpretq_f32_s32(exponent));
  asm volatile(
      "vdup.32 %q[limit], %[nothing]\n"
      "vpt.f32 gt, %q[limit], %q[x]\n"
      "vmovt.i32 %q[result], #0\n"
      : [result] "+&w"(result), [limit] "=&w"(limit)
      : [x] "w"(x), [nothing] "r"(kNothing)
      : CORMORANT_VPR "cc");
  return result;
}

}  // namespace cormorant
