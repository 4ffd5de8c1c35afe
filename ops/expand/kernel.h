// SPDX-License-Identifier: Apache-2.0
//
// Loading leaves a MovePlan, of which kernels/move_nest.h tells.
#pragma once

#include "ops/expand/expand.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

Error load_expand_copy(Call& call);

}  // namespace cormorant::ops
