// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/prelu/kernel.h"

namespace cormorant::ops::prelu {

extern const Kernel kReferences[2];

}  // namespace cormorant::ops::prelu
