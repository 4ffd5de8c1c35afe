// SPDX-License-Identifier: Apache-2.0
//
// Real scales to the integers that kernels multiply by. Host only: kernels never see a float scale.
#pragma once

#include <optional>

#include "base/fixed_point.h"

namespace cormorant::ops {

// The Multiplier nearest to a positive real factor: 31 significant bits, ties away from zero. Factors too small to
// matter (below 2^-32) become 0. Throws std::logic_error for a factor that is negative, infinite or not a number.
Multiplier quantize_multiplier(double factor);

// Two factors with one shift, that of the larger one: numbers from zero on are multiplied by the first, which is not
// negative, those below zero by the second.
struct SignedMultipliers {
  std::int32_t positive = 0;
  std::int32_t negative = 0;
  std::int32_t shift = 0;
};
SignedMultipliers multipliers_by_sign(double positive, double negative);

// A real value in the integers of (scale, zero_point): nearest, ties away from zero, then clamped to [low, high].
std::int32_t quantize_value(double value, double scale, std::int32_t zero_point, std::int32_t low, std::int32_t high);

// For kernels/window.h: how far the sum of this many int8 values' distances to their zero point can be shifted left
// without reaching 2^30.
std::int32_t mean_left_shift(std::int64_t taps);

// The same kernels' factor, after that shift: rounded up, so that halves which are exact in real numbers go away from
// zero. None for a factor that would take every sum out of int8.
struct MeanMultiplier {
  std::int32_t multiplier = 0;
  std::int32_t right = 0;
};
std::optional<MeanMultiplier> mean_multiplier(double factor, std::int32_t left);

}  // namespace cormorant::ops
