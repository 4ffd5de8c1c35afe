// SPDX-License-Identifier: Apache-2.0
#include "kernels/move_nest.h"
#include "ops/transpose/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) { move_nest_mve(*static_cast<const MovePlan*>(plan)); }

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(cortex_m_transpose_out_mve, "cortex_m::transpose.out", cormorant::ops::load_transpose,
                 cormorant::ops::execute)
CORMORANT_KERNEL(aten_permute_copy_out_mve, "aten::permute_copy.out", cormorant::ops::load_permute_copy,
                 cormorant::ops::execute)
