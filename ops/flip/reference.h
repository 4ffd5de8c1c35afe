// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/flip/kernel.h"

namespace cormorant::ops {

extern const Kernel kFlipReference;

}  // namespace cormorant::ops
