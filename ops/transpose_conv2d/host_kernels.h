// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernel.h"

namespace cormorant::ops::transpose_conv2d {

extern const Kernel kDirectReference;
extern const Kernel kDirectNhwcReference;
extern const Kernel kPackedReferences[6];

}  // namespace cormorant::ops::transpose_conv2d
