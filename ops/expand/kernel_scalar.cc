// SPDX-License-Identifier: Apache-2.0
#include "kernels/move_nest.h"
#include "ops/expand/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) { move_nest_scalar(*static_cast<const MovePlan*>(plan)); }

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(aten_expand_copy_out_scalar, "aten::expand_copy.out", cormorant::ops::load_expand_copy,
                 cormorant::ops::execute)
