// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/float.h"

#include "ops/nodes.h"
#include "ops/op.h"
#include "ops/softmax/softmax.h"

namespace cormorant::ops {
namespace softmax {
namespace {

ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const FloatSoftmax<HostWorld> call{.self = node.tensor("self"), .dim = node.integer("dim"), .half_to_float = false};
  const bool is_log = node.op == nodes::aten_log_softmax;
  return rewriter.emit(call, node.result()->type, is_log ? names::aten__log_softmax_out : names::aten__softmax_out)
      ->result();
}

}  // namespace
}  // namespace softmax

Lower softmax_float() { return softmax::lower_float; }

}  // namespace cormorant::ops
