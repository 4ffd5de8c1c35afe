// SPDX-License-Identifier: Apache-2.0
//
// cortex_m.quantized_depthwise_conv2d -> cormorant.depthwise_conv2d.<variant>. Host only.
#pragma once

#include "ops/conv2d/convolution.h"
#include "ops/depthwise_conv2d/depthwise_conv2d.h"
#include "ops/op.h"

namespace cormorant::ops::depthwise {

ir::Value* prepack(const Rewriter& rewriter);

// The same for a variant of the caller's choice, for tests; null if it cannot compute the node.
ir::Value* prepack_with(const Rewriter& rewriter, const Variant* forced);

// Header and stream for a variant; `window` is the number of taps. None if the variant cannot compute it.
std::optional<std::vector<std::byte>> pack(const Variant& variant, conv2d::Unpacked& unpacked, std::uint32_t window,
                                           const conv2d::WeightAt& weight);

}  // namespace cormorant::ops::depthwise
