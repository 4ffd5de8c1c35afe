// SPDX-License-Identifier: Apache-2.0
//
// Loading leaves a MovePlan: see kernels/move_nest.h.
#pragma once

#include "kernels/move_nest.h"
#include "ops/expand/expand.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

Error load_expand_copy(Call& call);
Error load_repeat(Call& call);

}  // namespace cormorant::ops
