// SPDX-License-Identifier: Apache-2.0
//
// What load leaves for kernels on floats, element by element.
#pragma once

#include <cstdint>

#include "kernels/broadcast.h"

namespace cormorant::ops {

struct FloatMapPlan {
  static constexpr std::uint32_t kStateBytes = 24;
  const float* input;  // may be the output
  float* output;
  std::uint32_t count;
  float parameters[3];
};

struct FloatBroadcastPlan {
  static constexpr std::uint32_t kStateBytes = 28;
  Broadcast tensors;  // of floats; steps count elements
  float parameter;
};

}  // namespace cormorant::ops
