// SPDX-License-Identifier: Apache-2.0
#include "kernels/move_nest.h"
#include "ops/copy/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) { move_nest_mve(*static_cast<const MovePlan*>(plan)); }

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(aten_alias_copy_out_mve, "aten::alias_copy.out", cormorant::ops::load_plain_copy,
                 cormorant::ops::execute)
CORMORANT_KERNEL(aten_detach_copy_out_mve, "aten::detach_copy.out", cormorant::ops::load_plain_copy,
                 cormorant::ops::execute)
CORMORANT_KERNEL(aten_lift_fresh_copy_out_mve, "aten::lift_fresh_copy.out", cormorant::ops::load_plain_copy,
                 cormorant::ops::execute)
CORMORANT_KERNEL(aten_clone_out_mve, "aten::clone.out", cormorant::ops::load_clone, cormorant::ops::execute)
CORMORANT_KERNEL(aten__to_copy_out_mve, "aten::_to_copy.out", cormorant::ops::load_to_copy, cormorant::ops::execute)
CORMORANT_KERNEL(dim_order_ops__clone_dim_order_out_mve, "dim_order_ops::_clone_dim_order.out",
                 cormorant::ops::load_dim_order_copy, cormorant::ops::execute)
CORMORANT_KERNEL(dim_order_ops__to_dim_order_copy_out_mve, "dim_order_ops::_to_dim_order_copy.out",
                 cormorant::ops::load_dim_order_copy, cormorant::ops::execute)
CORMORANT_KERNEL(aten_unsqueeze_copy_out_mve, "aten::unsqueeze_copy.out", cormorant::ops::load_squeeze_copy,
                 cormorant::ops::execute)
CORMORANT_KERNEL(aten_squeeze_copy_dim_out_mve, "aten::squeeze_copy.dim_out", cormorant::ops::load_squeeze_copy,
                 cormorant::ops::execute)
CORMORANT_KERNEL(aten_squeeze_copy_dims_out_mve, "aten::squeeze_copy.dims_out", cormorant::ops::load_squeeze_dims_copy,
                 cormorant::ops::execute)
