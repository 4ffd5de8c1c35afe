// SPDX-License-Identifier: Apache-2.0
//
// The exponentials of a row are vectorized; its sum has a fixed order, and MVE does not divide.
#include "kernels/float_exp_mve.h"
#include "ops/softmax/float_rows.h"
#include "ops/softmax/softmax.h"

namespace cormorant::ops::softmax {
namespace {

float raise_row_mve(const FloatPlan& p, const float* from, float* to, float largest) {
  if (p.inner != 1) return raise_row(p, from, to, largest);
  forget_flushes();
  std::uint32_t k = 0;
  for (; k + 4 <= p.size; k += 4) {
    float32x4_t power = exp_of(vsubq_n_f32(vld1q_f32(from + k), largest));
    if (has_flushed(power)) {
      FloatPlan four = p;
      four.size = 4;
      raise_row(four, from + k, to + k, largest);
      forget_flushes();
    } else {
      vst1q_f32(to + k, power);
    }
  }
  FloatPlan rest = p;
  rest.size = p.size - k;
  raise_row(rest, from + k, to + k, largest);
  float sum = 0;
  for (k = 0; k < p.size; ++k) sum += to[k];
  return sum;
}

void execute_mve(const void* plan) {
  const auto& p = *static_cast<const FloatPlan*>(plan);
  for (std::uint32_t o = 0; o < p.outer; ++o) {
    for (std::uint32_t i = 0; i < p.inner; ++i) {
      const std::uint32_t first = o * p.size * p.inner + i;
      softmax_row<false>(p, p.input + first, p.output + first, raise_row_mve);
    }
  }
}
template <bool is_log>
constexpr auto execute_float = execute_mve;

}  // namespace

CORMORANT_KERNELS(CORMORANT_SOFTMAX_KERNELS, mve_float)

}  // namespace cormorant::ops::softmax
