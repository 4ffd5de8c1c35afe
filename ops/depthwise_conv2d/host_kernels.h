// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernel.h"

namespace cormorant::ops::depthwise {

extern const Kernel kDirectReference;
extern const Kernel kDirectNhwcReference;
extern const Kernel kPackedReferences[5];

}  // namespace cormorant::ops::depthwise
