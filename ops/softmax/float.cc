// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/float.h"

#include "ops/op.h"

extern "C" {
extern const cormorant::Kernel aten__softmax_out_scalar, aten__log_softmax_out_scalar;
}

namespace cormorant::ops {
namespace softmax {
namespace {

ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const FloatSoftmax<HostWorld> call{.self = node.tensor("self"), .dim = node.integer("dim"), .half_to_float = false};
  const bool is_log = node.op == "aten.log_softmax";
  return rewriter.emit(call, node.result()->type, is_log ? kFloatLogSoftmax : FloatSoftmax<HostWorld>::kName)->result();
}

}  // namespace
}  // namespace softmax

FloatForm softmax_float() {
  return {.lower = softmax::lower_float,
          .signatures = {signature_of<softmax::FloatSoftmax>(),
                         signature_of<softmax::FloatSoftmax>(softmax::kFloatLogSoftmax)},
          .kernels = {&aten__softmax_out_scalar, &aten__log_softmax_out_scalar}};
}

}  // namespace cormorant::ops
