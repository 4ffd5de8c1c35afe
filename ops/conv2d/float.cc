// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d/float.h"

#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/lower_float.h"
#include "ops/load/float_kernel.h"
#include "ops/nodes.h"

namespace cormorant::ops {

ir::Value* conv2d::lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  require_sizes_up_to(rewriter, kLargestFloatSize);
  const bool transposed = node.op == nodes::aten_conv_transpose2d;
  return rewriter
      .emit(FloatConvolution<HostWorld>{.input = node.tensor("input"),
                                        .weight = in_logical_order(rewriter, "weight", node.tensor("weight")),
                                        .bias = {node.tensor("bias")},
                                        .stride = node.integers("stride"),
                                        .padding = node.integers("padding"),
                                        .dilation = node.integers("dilation"),
                                        .transposed = transposed,
                                        .output_padding = transposed ? node.integers("output_padding")
                                                                     : std::vector<std::int64_t>{0, 0},
                                        .groups = node.integer("groups")},
            node.result()->type, names::aten_convolution_out)
      ->result();
}

Lower conv2d_float() { return conv2d::lower_float; }

}  // namespace cormorant::ops
