// SPDX-License-Identifier: Apache-2.0
#include "ops/repeat_interleave/reference.h"

#include "ops/move_reference.h"

namespace cormorant::ops {

const Kernel kRepeatInterleaveScalarReference = {kRepeatInterleaveScalar, load_repeat_interleave,
                                                 execute_move_reference};
const Kernel kRepeatInterleaveDspReference = {kRepeatInterleaveDsp, load_repeat_interleave, execute_move_reference};
const Kernel kRepeatInterleaveMveReference = {kRepeatInterleaveMve, load_repeat_interleave, execute_move_reference};

}  // namespace cormorant::ops
