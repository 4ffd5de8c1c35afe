// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ops/softmax/kernel.h"

namespace cormorant::ops::softmax {

// The specification: reads the plan alone.
void reference(const Plan& plan);
void reference(const TablePlan& plan);
void reference(const LogPlan& plan);

extern const Kernel kReference;
std::span<const Kernel* const> table_references();
std::span<const Kernel* const> log_references();

}  // namespace cormorant::ops::softmax
