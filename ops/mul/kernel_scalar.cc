// SPDX-License-Identifier: Apache-2.0
#include "base/fixed_point.h"
#include "kernels/linear_requantize.h"
#include "kernels/requantize.h"
#include "ops/mul/kernel.h"

namespace cormorant::ops::mul {
namespace {

template <bool kSimple, bool kRepeats>
void multiply(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const Plan p = *static_cast<const Plan*>(plan);  // in registers: a store to out could otherwise change it
  const std::int32_t low = p.activation_min - p.output_zero_point;
  const std::int32_t high = p.activation_max - p.output_zero_point;
  std::int32_t y = *other - p.other_zero_point;
  for (std::uint32_t i = 0; i < p.tensors.count; ++i) {
    if constexpr (!kRepeats) y = other[i] - p.other_zero_point;
    const std::int32_t product = (self[i] - p.self_zero_point) * y;
    const std::int32_t level = kSimple ? requantize_simply(product, p.multiplier, p.shift)
                                       : requantize_for_cpu(product, p.multiplier, p.shift);
    out[i] = static_cast<std::int8_t>(clamp(level, low, high) + p.output_zero_point);
  }
}

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  const Stretch one = p.is_simple() ? multiply<true, true> : multiply<false, true>;
  const Stretch each = p.is_simple() ? multiply<true, false> : multiply<false, false>;
  run_stretches(p.tensors, p.tensors.other_repeats ? one : each, plan);
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_MUL_KERNELS, scalar)

}  // namespace cormorant::ops::mul
