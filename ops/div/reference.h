// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/div/kernel.h"

namespace cormorant::ops::div {

extern const Kernel kReference;
extern const Kernel kTableScalarReference;
extern const Kernel kTableMveReference;

}  // namespace cormorant::ops::div
