// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

namespace cormorant::ops::recurrent {

// Whether one layer can have so many inputs and units.
bool fits(std::int64_t inputs, std::int64_t units);

}  // namespace cormorant::ops::recurrent
