// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/host/float_form.h"

namespace cormorant::ops::conv2d {

// A convolution of any kind in float: one portable operator.
ir::Value* lower_float(const Rewriter& rewriter);

}  // namespace cormorant::ops::conv2d
