// SPDX-License-Identifier: Apache-2.0
#include "ops/expand/reference.h"

#include "ops/move_reference.h"

namespace cormorant::ops {

const Kernel kExpandCopyReference = {ExpandCopy<TargetWorld>::kName, load_expand_copy, execute_move_reference};

}  // namespace cormorant::ops
