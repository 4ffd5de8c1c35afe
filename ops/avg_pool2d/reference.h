// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/avg_pool2d/kernel.h"

namespace cormorant::ops {

// The specification: N, H, W, C in memory.
void avg_pool2d_reference(const AvgPoolPlan& geometry);

extern const Kernel kAvgPool2dReference;  // ExecuTorch's two
extern const Kernel kAvgPool2dNhwcReference;
extern const Kernel kMeanPool2dReferences[3];  // ours, under the names of all variants

}  // namespace cormorant::ops
