// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

namespace cormorant::ops {

// PyTorch's forms of functions of one element: elu, elu_ and aliases become aten.elu(self, alpha, …).
std::vector<AtenForm> activation_forms();

}  // namespace cormorant::ops
