// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/avg_pool2d/kernel.h"

namespace cormorant::ops {

// The specification: N, H, W, C in memory.
void avg_pool2d_reference(const AvgPoolPlan& geometry);

}  // namespace cormorant::ops
