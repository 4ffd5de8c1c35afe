// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "runtime/kernel.h"

namespace cormorant::ops {

// The kernel itself or, if there is a second one of its name for all types (NUMBERS in ops/load/kernel_list.h), one
// that uses whichever of the two firmware would have. For the host, which knows no program when it builds its table.
const Kernel* with_numbers(const Kernel* of_float);
// The one for all types; null if there is none.
const Kernel* kernel_of_numbers(std::string_view name);

}  // namespace cormorant::ops
