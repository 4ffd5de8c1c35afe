// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/op.h"

namespace cormorant::ops::linear {

// bias + input_offset · Σ weights per output feature; sums wrap, as the kernels' accumulators do. `bias` may be null.
std::vector<std::int32_t> folded_bias(const ir::Value& weight, const ir::Value* bias, std::int32_t input_offset);

// cortex_m.quantized_linear -> cormorant.linear.<variant>.
ir::Value* prepack(const Rewriter& rewriter);

}  // namespace cormorant::ops::linear
