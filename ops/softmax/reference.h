// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ops/softmax/kernel.h"

namespace cormorant::ops::softmax {

// The specification: reads the plan alone.
void reference(const Plan& plan);
void reference(const TablePlan& plan);
void reference(const LogPlan& plan);

}  // namespace cormorant::ops::softmax
