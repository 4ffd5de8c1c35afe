// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/softmax/kernel.h"

namespace cormorant::ops::softmax {

// The specification: reads the plan alone.
void reference(const Plan& plan);

extern const Kernel kReference;

}  // namespace cormorant::ops::softmax
