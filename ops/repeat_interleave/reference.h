// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/repeat_interleave/kernel.h"

namespace cormorant::ops {

extern const Kernel kRepeatInterleaveScalarReference;
extern const Kernel kRepeatInterleaveDspReference;
extern const Kernel kRepeatInterleaveMveReference;

}  // namespace cormorant::ops
