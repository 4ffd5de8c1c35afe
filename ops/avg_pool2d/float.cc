// SPDX-License-Identifier: Apache-2.0
//
// aten.avg_pool2d in float is the portable operator as it is.
#include "ops/avg_pool2d/float.h"

#include "ops/avg_pool2d/avg_pool2d.h"
#include "ops/host/float_form.h"
#include "ops/load/float_kernel.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  require_sizes_up_to(rewriter, kLargestFloatSize);
  if (node.op != nodes::aten_adaptive_avg_pool2d) return nullptr;
  const FloatAdaptiveAvgPool2d<HostWorld> call{.self = node.tensor("self"),
                                               .output_size = node.integers("output_size")};
  return rewriter.emit(call, node.result()->type, names::aten__adaptive_avg_pool2d_out)->result();
}

}  // namespace

Lower avg_pool2d_float() { return lower_float; }

}  // namespace cormorant::ops
