// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/max_pool2d/kernel.h"

namespace cormorant::ops {

extern const Kernel kMaxPool2dReference;
extern const Kernel kMaxPool2dNhwcReference;

}  // namespace cormorant::ops
