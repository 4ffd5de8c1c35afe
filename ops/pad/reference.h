// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/pad/kernel.h"

namespace cormorant::ops {

// The specification: sizes and pads in memory order. An element whose position is in the input is copied.
struct PadGeometry {
  std::int32_t sizes[kPadRank];
  std::int32_t pre[kPadRank];
  std::int32_t post[kPadRank];
};
void pad_reference(const PadGeometry& geometry, std::int8_t value, const std::int8_t* input, std::int8_t* output);

}  // namespace cormorant::ops
