// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/dequantize/kernel.h"

namespace cormorant::ops {

// The specification, one element.
float dequantize_reference(std::int32_t value, float scale, std::int32_t zero_point);

}  // namespace cormorant::ops
