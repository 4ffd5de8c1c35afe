// SPDX-License-Identifier: Apache-2.0
//
// Loading leaves a MovePlan: see kernels/move_nest.h.
#pragma once

#include "kernels/move_nest.h"
#include "ops/repeat_interleave/repeat_interleave.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

Error load_repeat_interleave(Call& call);

}  // namespace cormorant::ops
