// SPDX-License-Identifier: Apache-2.0
//
// arithmetic.h in four lanes. No rounding shift here ever sees a negative number, so VRSHR's ties, which go up, are
// right.
#include <arm_mve.h>

#include <bit>

#include "ops/softmax/arithmetic.h"
#include "ops/softmax/kernel.h"

namespace cormorant::ops::softmax {
namespace {

// The product where bit 31 − kBelow of `bits` is set. (The bit is moved to the sign: gcc 12 fails on a mask.)
template <int kBelow>
inline int32x4_t multiply_if(int32x4_t value, std::int32_t factor, int32x4_t bits) {
  const mve_pred16_t chosen = vcmpltq_n_s32(vshlq_n_s32(bits, kBelow), 0);
  return vpselq_s32(vqrdmulhq_n_s32(value, factor), value, chosen);
}

// exp_of_negative in four lanes.
inline int32x4_t exp_of_negative(int32x4_t value) {
  const int32x4_t rest = vsubq_n_s32(vandq_s32(value, vdupq_n_s32(kQuarter - 1)), kQuarter);
  const int32x4_t quarters = vsubq_s32(rest, value);
  const int32x4_t x = vaddq_n_s32(vshlq_n_s32(rest, kInputIntegerBits), 1 << 28);
  const int32x4_t x2 = vqrdmulhq_s32(x, x);
  const int32x4_t x3 = vqrdmulhq_s32(x2, x);
  const int32x4_t x4 = vqrdmulhq_s32(x2, x2);
  const int32x4_t higher = vaddq_s32(vqrdmulhq_n_s32(vaddq_s32(vrshrq_n_s32(x4, 2), x3), kThird), x2);
  const int32x4_t series = vaddq_s32(x, vrshrq_n_s32(higher, 1));
  int32x4_t result = vaddq_n_s32(vqrdmulhq_n_s32(series, kExpOfMinusEighth), kExpOfMinusEighth);
  result = multiply_if<7>(result, kExpOfMinusPower[0], quarters);
  result = multiply_if<6>(result, kExpOfMinusPower[1], quarters);
  result = multiply_if<5>(result, kExpOfMinusPower[2], quarters);
  result = multiply_if<4>(result, kExpOfMinusPower[3], quarters);
  result = multiply_if<3>(result, kExpOfMinusPower[4], quarters);
  result = multiply_if<2>(result, kExpOfMinusPower[5], quarters);
  result = multiply_if<1>(result, kExpOfMinusPower[6], quarters);
  return vpselq_s32(vdupq_n_s32(INT32_MAX), result, vcmpeqq_n_s32(value, 0));
}

inline std::int32_t largest_of(const std::int8_t* row, std::uint32_t count) {
  std::int8_t largest = -128;
  for (std::uint32_t i = 0; i < count; i += 16) {
    const mve_pred16_t lanes = vctp8q(count - i);
    largest = vmaxvq_p_s8(largest, vldrbq_z_s8(row + i, lanes), lanes);
  }
  return largest;
}

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  const std::int8_t* input = p.input;
  std::int8_t* out = p.out;
  const std::int32_t factor = shift_left(1, p.shift);
  for (std::uint32_t row = 0; row < p.rows; ++row, input += p.row_size, out += p.row_size) {
    const std::int32_t largest = largest_of(input, p.row_size);
    // Exponentials of four inputs, 0 for those that are too far below the largest.
    const auto exponentials = [&](std::uint32_t i, mve_pred16_t lanes) {
      const int32x4_t difference = vsubq_n_s32(vldrbq_z_s32(input + i, lanes), largest);
      const int32x4_t exponent = vqrdmulhq_n_s32(vmulq_n_s32(difference, factor), p.multiplier);
      const mve_pred16_t near = vcmpgeq_n_s32(difference, p.diff_min);
      return vpselq_s32(exp_of_negative(exponent), vdupq_n_s32(0), near);
    };
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < p.row_size; i += 4) {
      const mve_pred16_t lanes = vctp32q(p.row_size - i);
      const int32x4_t rounded = vrshrq_n_s32(exponentials(i, lanes), kSumBits);
      sum = static_cast<std::uint32_t>(vaddvaq_p_s32(static_cast<std::int32_t>(sum), rounded, lanes));
    }
    const Normalizer normalizer = normalizer_of<doubling_high_multiply>(sum, std::countl_zero(sum));
    const int32x4_t shift = vdupq_n_s32(-normalizer.shift);
    for (std::uint32_t i = 0; i < p.row_size; i += 4) {
      const mve_pred16_t lanes = vctp32q(p.row_size - i);
      const int32x4_t scaled = vqrdmulhq_n_s32(exponentials(i, lanes), normalizer.scale);
      const int32x4_t level = vsubq_n_s32(vrshlq_s32(scaled, shift), 128);
      vstrbq_p_s32(out + i, vminq_s32(level, vdupq_n_s32(127)), lanes);
    }
  }
}

}  // namespace
}  // namespace cormorant::ops::softmax

CORMORANT_KERNEL(cortex_m_softmax_out_mve, "cortex_m::softmax.out", cormorant::ops::softmax::load,
                 cormorant::ops::softmax::execute)
