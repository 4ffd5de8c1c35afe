// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/op.h"

namespace cormorant::ops::recurrent {

// Layers and cells of all kinds, in PyTorch's forms.
std::vector<AtenForm> forms();

}  // namespace cormorant::ops::recurrent
