// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

namespace cormorant::ops {

// PyTorch's forms of slicing, selecting and splitting.
std::vector<AtenForm> slice_forms();

}  // namespace cormorant::ops
