// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

namespace cormorant::ops::conv2d {

// The spellings that become aten.conv2d, or aten.pad and aten.conv2d.
std::vector<AtenForm> convolution_forms();

}  // namespace cormorant::ops::conv2d
