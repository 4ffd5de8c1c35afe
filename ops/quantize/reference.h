// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/quantize/kernel.h"

namespace cormorant::ops {

// The specification, one element.
std::int32_t quantize_reference(float value, float scale, std::int32_t zero_point, std::int32_t low, std::int32_t high);

}  // namespace cormorant::ops
