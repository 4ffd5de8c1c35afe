// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

namespace cormorant::ops {

// Forms that become aten.avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
// or, if windows are of unequal size, aten.adaptive_avg_pool2d(self, output_size): 4-D tensors and lists of two,
// between views if the model's tensors have another rank.
std::vector<AtenForm> avg_pool2d_forms();

}  // namespace cormorant::ops
