// SPDX-License-Identifier: Apache-2.0
//
// Those that leave a MovePlan: see kernels/move_nest.h.
#pragma once

#include "kernels/move_nest.h"
#include "ops/portable/portable.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

Error load_t_copy(Call& call);
Error load_transpose_copy(Call& call);
Error load_narrow_copy(Call& call);
Error load_diagonal_copy(Call& call);
Error load_unfold_copy(Call& call);
Error load_as_strided_copy(Call& call);
Error load_pixel_shuffle(Call& call);
Error load_pixel_unshuffle(Call& call);

}  // namespace cormorant::ops
