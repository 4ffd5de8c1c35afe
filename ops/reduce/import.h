// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

namespace cormorant::ops {

// Forms of reductions. They become aten.mean, aten.sum, aten.amax or aten.amin(self, dim), whose dimensions stay with
// size 1, and a view where the model drops them; a mean over height and width of images is aten.avg_pool2d.
std::vector<AtenForm> reduce_forms();

}  // namespace cormorant::ops
