// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/split/kernel.h"

namespace cormorant::ops {

extern const Kernel kSplitWithSizesCopyReference;
extern const Kernel kSplitCopyReference;

}  // namespace cormorant::ops
