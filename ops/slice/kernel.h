// SPDX-License-Identifier: Apache-2.0
//
// Loading leaves a MovePlan: see kernels/move_nest.h.
#pragma once

#include "kernels/move_nest.h"
#include "ops/slice/slice.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

Error load_slice_copy(Call& call);
Error load_select_copy(Call& call);

}  // namespace cormorant::ops
