// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fixed_point.h"
#include "kernels/broadcast.h"
#include "ops/prelu/prelu.h"
#include "runtime/kernel.h"

namespace cormorant::ops::prelu {

struct Plan {
  static constexpr std::uint32_t kStateBytes = 40;
  Broadcast tensors;  // other: the factors, whose steps are in bytes as well
  std::int32_t positive_factor;
  std::int32_t offset;
  std::int16_t input_zero_point;
  std::uint8_t shift;
  std::int8_t activation_min;
  std::int8_t activation_max;
};

Error load(Call& call);

// The specification of one element. A file may hold any factor, so the sum may wrap.
constexpr std::int8_t prelu_one(const Plan& p, std::int8_t input, std::int32_t negative_factor) {
  const std::int32_t x = input - p.input_zero_point;
  const auto factor = static_cast<std::uint32_t>(x < 0 ? negative_factor : p.positive_factor);
  const std::uint32_t sum = static_cast<std::uint32_t>(x) * factor + static_cast<std::uint32_t>(p.offset);
  return static_cast<std::int8_t>(clamp(static_cast<std::int32_t>(sum) >> p.shift, p.activation_min, p.activation_max));
}

}  // namespace cormorant::ops::prelu
