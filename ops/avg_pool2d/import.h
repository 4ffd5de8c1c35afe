// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

namespace cormorant::ops {

// Spellings that become aten.avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad,
// divisor_override) with 4-D tensors and lists of two, behind an aten.pad where padding counts as elements.
std::vector<AtenForm> avg_pool2d_forms();

}  // namespace cormorant::ops
