// SPDX-License-Identifier: Apache-2.0
//
// Four accumulators at once. VQRDMULH is the doubling high multiply. VRSHL by a negative amount rounds ties up, so that
// negative numbers, whose ties round down (away from zero), are lowered by one before they are shifted.
#pragma once

#include <arm_mve.h>

namespace cormorant {

// For one channel per lane; left >= 0, right <= 0.
inline int32x4_t requantize_mve(int32x4_t value, int32x4_t multiplier, int32x4_t left, int32x4_t right) {
  const int32x4_t product = vqrdmulhq_s32(vshlq_s32(value, left), multiplier);
  const int32x4_t lower = vshrq_n_s32(vandq_s32(product, right), 31);
  return vrshlq_s32(vaddq_s32(product, lower), right);
}

}  // namespace cormorant
