// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ops/batch_matmul/kernel.h"

namespace cormorant::ops::batch_matmul {

// What every variant computes, bit for bit.
void reference(const Plan& plan);

}  // namespace cormorant::ops::batch_matmul
