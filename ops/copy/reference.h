// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/copy/kernel.h"

namespace cormorant::ops {

extern const Kernel kCopyReferences[10];

}  // namespace cormorant::ops
