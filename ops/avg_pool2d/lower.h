// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

namespace cormorant::ops {

// One dimension of a window: the part inside the input, and how many elements PyTorch counts.
struct PoolExtent {
  std::int64_t begin, end, counted;
};

// The extents of all windows of an average pooling along height (0) or width (1), by PyTorch's rules.
std::vector<PoolExtent> pool_extents(const ir::Node& node, std::size_t dimension);

// aten.avg_pool2d and aten.adaptive_avg_pool2d, quantized: ExecuTorch's operator if it computes the same without loss,
// else ours.
ir::Value* lower_avg_pool2d(const Rewriter& rewriter);

}  // namespace cormorant::ops
