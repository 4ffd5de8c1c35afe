// SPDX-License-Identifier: Apache-2.0
//
// Real scales to the integers that kernels multiply by. Host only: kernels never see a float scale.
#pragma once

#include "base/fixed_point.h"

namespace cormorant::ops {

// The Multiplier nearest to a positive real factor: 31 significant bits, halves away from zero. Factors too small to
// matter (below 2^-32) become 0. Throws std::logic_error for a factor that is negative, infinite or not a number.
Multiplier quantize_multiplier(double factor);

// A real value in the integers of (scale, zero_point): nearest, halves away from zero, then clamped to [low, high].
std::int32_t quantize_value(double value, double scale, std::int32_t zero_point, std::int32_t low, std::int32_t high);

}  // namespace cormorant::ops
