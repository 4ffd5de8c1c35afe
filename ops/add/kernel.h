// SPDX-License-Identifier: Apache-2.0
//
// The plan of an addition, for every variant's execute(). Operands may have been swapped, so that self never repeats
// along a stretch.
#pragma once

#include "kernels/broadcast.h"
#include "ops/add/add.h"
#include "runtime/kernel.h"

namespace cormorant::ops::add {

struct Rescale {
  std::int32_t multiplier;
  std::int16_t zero_point;
  std::int8_t shift;
};

struct Plan {
  static constexpr std::uint32_t kStateBytes = 52;
  Broadcast tensors;
  Rescale self;
  Rescale other;
  Rescale output;
  std::int8_t activation_min;
  std::int8_t activation_max;
};

Error load(Call& call);

struct FactorPlan {
  static constexpr std::uint32_t kStateBytes = 40;
  Broadcast tensors;
  std::int32_t self_factor;
  std::int32_t other_factor;
  std::int32_t offset;
  std::uint8_t shift;
  std::int8_t activation_min;
  std::int8_t activation_max;

  // The cases that have their own loops: no clamp beyond int8, and the first shift.
  [[nodiscard]] bool is_unclamped() const { return activation_min == -128 && activation_max == 127; }
  [[nodiscard]] bool is_plain() const { return shift == kShifts[0] && is_unclamped(); }
};

Error load_factor(Call& call);

struct WordsPlan {
  static constexpr std::uint32_t kStateBytes = 44;
  Broadcast tensors;
  std::int32_t self_factor;
  std::int32_t other_factor;
  std::int32_t offset;
  std::int16_t activation_min;
  std::int16_t activation_max;
  std::uint8_t shift;
};

Error load_words(Call& call);

// For floats, into a FloatBroadcastPlan whose parameter is sign · alpha.
template <int sign>
Error load_float(Call& call);
extern template Error load_float<1>(Call& call);
extern template Error load_float<-1>(Call& call);

}  // namespace cormorant::ops::add
