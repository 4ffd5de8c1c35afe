// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/cat/kernel.h"

namespace cormorant::ops {

extern const Kernel kCatReference;

}  // namespace cormorant::ops
