// SPDX-License-Identifier: Apache-2.0
#include "ops/max_pool2d/float.h"

#include "ops/host/float_form.h"
#include "ops/load/float_kernel.h"
#include "ops/max_pool2d/max_pool2d.h"

namespace cormorant::ops {
namespace {

ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  require_sizes_up_to(rewriter, kLargestFloatSize);
  const auto fill = [&](auto call) {
    call.self = node.tensor("self");
    call.kernel_size = node.integers("kernel_size");
    call.stride = node.integers("stride");
    call.padding = node.integers("padding");
    call.dilation = node.integers("dilation");
    call.ceil_mode = node.boolean("ceil_mode");
    return call;
  };
  const ir::TensorType& type = node.result()->type;
  if (rewriter.config.runtime == Runtime::cormorant) {
    return rewriter.emit(fill(FloatMaxPool2d<HostWorld>{}), type, names::cormorant_max_pool2d_float)->result();
  }
  ir::TensorType indices = type;
  indices.dtype = DType::i64;
  return make_node(rewriter.graph, fill(MaxPool2dWithIndices<HostWorld>{}), {type, indices}, node.name, node.location,
                   &rewriter.node, names::aten_max_pool2d_with_indices_out)
      ->results.front();
}

}  // namespace

Lower max_pool2d_float() { return lower_float; }

}  // namespace cormorant::ops
