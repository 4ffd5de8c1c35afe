// SPDX-License-Identifier: Apache-2.0
//
// Loading leaves a MovePlan: see kernels/move_nest.h.
#pragma once

#include "kernels/move_nest.h"
#include "ops/copy/copy.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

Error load_plain_copy(Call& call);
Error load_clone(Call& call);
Error load_to_copy(Call& call);
Error load_dim_order_copy(Call& call);
Error load_squeeze_copy(Call& call);
Error load_squeeze_dims_copy(Call& call);

}  // namespace cormorant::ops
