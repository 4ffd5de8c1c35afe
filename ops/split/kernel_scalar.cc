// SPDX-License-Identifier: Apache-2.0
#include "kernels/move.h"
#include "ops/split/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) { split_with(*static_cast<const SplitPlan*>(plan), copy_rows_scalar); }

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(aten_split_with_sizes_copy_out_scalar, "aten::split_with_sizes_copy.out",
                 cormorant::ops::load_split_with_sizes_copy, cormorant::ops::execute)
CORMORANT_KERNEL(aten_split_copy_Tensor_out_scalar, "aten::split_copy.Tensor_out", cormorant::ops::load_split_copy,
                 cormorant::ops::execute)
