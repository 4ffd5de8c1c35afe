// SPDX-License-Identifier: Apache-2.0
//
// cortex_m.quantized_conv2d -> cormorant.conv2d.<variant>. Host only.
#pragma once

#include "ops/conv2d/conv2d.h"
#include "ops/op.h"

namespace cormorant::ops::conv2d {

ir::Value* prepack(const Rewriter& rewriter);

// The same for a variant of the caller's choice, for tests; null where it cannot compute the node.
ir::Value* prepack_with(const Rewriter& rewriter, const Variant* forced);

}  // namespace cormorant::ops::conv2d
