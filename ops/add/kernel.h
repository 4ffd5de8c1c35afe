// SPDX-License-Identifier: Apache-2.0
//
// What loading an add leaves for every variant's execute().
#pragma once

#include "ops/add/add.h"
#include "runtime/kernel.h"

namespace cormorant::ops::add {

// `repeat` stretches of `count` elements; `other` is the same for each stretch (one stretch: an operand of equal size,
// more: an operand with one value per channel).
struct Operands {
  const std::int8_t* self;
  const std::int8_t* other;
  std::int8_t* out;
  std::uint32_t count;
  std::uint32_t repeat;
};

struct Rescale {
  std::int32_t multiplier;
  std::int16_t zero_point;
  std::int8_t shift;
};

struct Plan {
  Operands tensors;
  Rescale self;
  Rescale other;
  Rescale output;
  std::int8_t activation_min;
  std::int8_t activation_max;
};

Error load(Call& call);

struct FactorPlan {
  Operands tensors;
  std::int32_t self_factor;
  std::int32_t other_factor;
  std::int32_t offset;
  std::uint8_t shift;
  std::int8_t activation_min;
  std::int8_t activation_max;

  // The case that has its own loop: nothing to clamp to but int8.
  [[nodiscard]] bool is_plain() const { return shift == kShifts[0] && activation_min == -128 && activation_max == 127; }
};

Error load_factor(Call& call);

}  // namespace cormorant::ops::add
