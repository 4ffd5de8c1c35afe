// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

namespace cormorant::ops {

// Forms that become aten.max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode) with 4-D tensors and lists
// of two, between views if the model's tensors have another rank.
std::vector<AtenForm> max_pool2d_forms();

}  // namespace cormorant::ops
