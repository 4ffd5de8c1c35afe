// SPDX-License-Identifier: Apache-2.0
//
// cortex_m.quantized_depthwise_conv2d -> cormorant.depthwise_conv2d.<variant>. Host only.
#pragma once

#include "ops/depthwise_conv2d/depthwise_conv2d.h"
#include "ops/op.h"

namespace cormorant::ops::depthwise {

ir::Value* prepack(const Rewriter& rewriter);

// The same for a variant of the caller's choice, for tests; null where it cannot compute the node.
ir::Value* prepack_with(const Rewriter& rewriter, const Variant* forced);

}  // namespace cormorant::ops::depthwise
