// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/view/kernel.h"

namespace cormorant::ops {

extern const Kernel kViewCopyReference;

}  // namespace cormorant::ops
