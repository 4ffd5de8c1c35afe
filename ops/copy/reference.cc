// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/reference.h"

#include "ops/move_reference.h"

namespace cormorant::ops {

const Kernel kCopyReferences[] = {
    {"aten::alias_copy.out", load_plain_copy, execute_move_reference},
    {"aten::detach_copy.out", load_plain_copy, execute_move_reference},
    {"aten::lift_fresh_copy.out", load_plain_copy, execute_move_reference},
    {"aten::clone.out", load_clone, execute_move_reference},
    {"aten::_to_copy.out", load_to_copy, execute_move_reference},
    {"dim_order_ops::_clone_dim_order.out", load_dim_order_copy, execute_move_reference},
    {"dim_order_ops::_to_dim_order_copy.out", load_dim_order_copy, execute_move_reference},
    {"aten::unsqueeze_copy.out", load_squeeze_copy, execute_move_reference},
    {"aten::squeeze_copy.dim_out", load_squeeze_copy, execute_move_reference},
    {"aten::squeeze_copy.dims_out", load_squeeze_dims_copy, execute_move_reference},
};

}  // namespace cormorant::ops
