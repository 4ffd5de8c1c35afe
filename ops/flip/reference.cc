// SPDX-License-Identifier: Apache-2.0
#include "ops/flip/reference.h"

#include "ops/move_reference.h"

namespace cormorant::ops {

const Kernel kFlipReference = {Flip<TargetWorld>::kName, load_flip, execute_move_reference};

}  // namespace cormorant::ops
