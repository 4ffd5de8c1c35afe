// SPDX-License-Identifier: Apache-2.0
//
// The plan of a product, for every variant's execute(). The operands may have been swapped, so that self never repeats
// along a stretch.
#pragma once

#include "kernels/broadcast.h"
#include "ops/mul/mul.h"
#include "runtime/kernel.h"

namespace cormorant::ops::mul {

struct Plan {
  static constexpr std::uint32_t kStateBytes = 40;
  Broadcast tensors;
  std::int32_t multiplier;  // not negative
  std::int32_t self_zero_point;
  std::int32_t other_zero_point;
  std::int8_t output_zero_point;
  std::int8_t shift;
  std::int8_t activation_min;
  std::int8_t activation_max;

  // A factor below 1/2, which nearly all are: the product is shifted right by 1 … 31.
  [[nodiscard]] bool is_simple() const { return shift < 0; }
  // Twice a difference fits 16 bits.
  [[nodiscard]] bool is_narrow() const {
    constexpr std::int32_t kFar = 8000;
    return self_zero_point >= -kFar && self_zero_point <= kFar && other_zero_point >= -kFar && other_zero_point <= kFar;
  }
};

Error load(Call& call);          // cortex_m::quantized_mul
Error load_clamped(Call& call);  // cormorant::mul
Error load_words(Call& call);
Error load_float(Call& call);  // aten::mul, into a FloatBroadcastPlan

}  // namespace cormorant::ops::mul
