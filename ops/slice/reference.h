// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/slice/kernel.h"

namespace cormorant::ops {

extern const Kernel kSliceCopyReference;
extern const Kernel kSelectCopyReference;

}  // namespace cormorant::ops
