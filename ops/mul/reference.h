// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/mul/kernel.h"

namespace cormorant::ops::mul {

extern const Kernel kReference;
extern const Kernel kClampedReferences[3];

}  // namespace cormorant::ops::mul
