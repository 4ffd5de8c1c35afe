// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/clamp/kernel.h"

namespace cormorant::ops {

extern const Kernel kClampReferences[3];  // one computation under the names of all variants

}  // namespace cormorant::ops
