// SPDX-License-Identifier: Apache-2.0
#include "kernels/move_nest.h"
#include "ops/slice/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) { move_nest_dsp(*static_cast<const MovePlan*>(plan)); }

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(aten_slice_copy_Tensor_out_dsp, "aten::slice_copy.Tensor_out", cormorant::ops::load_slice_copy,
                 cormorant::ops::execute)
CORMORANT_KERNEL(aten_select_copy_int_out_dsp, "aten::select_copy.int_out", cormorant::ops::load_select_copy,
                 cormorant::ops::execute)
