// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

namespace cormorant::ops {

// PyTorch's forms of padding.
std::vector<AtenForm> pad_forms();

}  // namespace cormorant::ops
