// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/add/kernel.h"

namespace cormorant::ops::add {

// The specification, one element.
std::int8_t add_one(const Plan& plan, std::int8_t self, std::int8_t other);
std::int8_t add_one(const FactorPlan& plan, std::int8_t self, std::int8_t other);

void reference(const Plan& plan);
void reference(const FactorPlan& plan);

}  // namespace cormorant::ops::add
