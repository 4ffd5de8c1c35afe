// SPDX-License-Identifier: Apache-2.0
#include "ops/slice/reference.h"

#include "ops/move_reference.h"

namespace cormorant::ops {

const Kernel kSliceCopyReference = {SliceCopy<TargetWorld>::kName, load_slice_copy, execute_move_reference};
const Kernel kSelectCopyReference = {SelectCopy<TargetWorld>::kName, load_select_copy, execute_move_reference};

}  // namespace cormorant::ops
