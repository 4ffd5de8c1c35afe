// SPDX-License-Identifier: Apache-2.0
//
// Loading leaves a MovePlan: see kernels/move_nest.h.
#pragma once

#include "kernels/move_nest.h"
#include "ops/transpose/transpose.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

Error load_transpose(Call& call);
Error load_permute_copy(Call& call);

}  // namespace cormorant::ops
