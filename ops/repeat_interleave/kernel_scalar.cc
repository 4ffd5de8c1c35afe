// SPDX-License-Identifier: Apache-2.0
#include "kernels/move_nest.h"
#include "ops/repeat_interleave/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) { move_nest_scalar(*static_cast<const MovePlan*>(plan)); }

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(cormorant_repeat_interleave_scalar, cormorant::ops::kRepeatInterleaveScalar,
                 cormorant::ops::load_repeat_interleave, cormorant::ops::execute)
