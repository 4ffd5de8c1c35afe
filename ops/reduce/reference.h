// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/reduce/kernel.h"

namespace cormorant::ops {

// One computation under the names of all variants.
extern const Kernel kMeanReferences[3];
extern const Kernel kAmaxReferences[3];

}  // namespace cormorant::ops
