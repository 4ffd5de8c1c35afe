// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/expand/kernel.h"

namespace cormorant::ops {

extern const Kernel kExpandCopyReference;

}  // namespace cormorant::ops
