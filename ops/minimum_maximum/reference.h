// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernel.h"

namespace cormorant::ops::minimum_maximum {

extern const Kernel kMinimumReference;
extern const Kernel kMaximumReference;

}  // namespace cormorant::ops::minimum_maximum
