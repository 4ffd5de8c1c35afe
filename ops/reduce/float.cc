// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/float.h"

#include "ops/op.h"

extern "C" {
extern const cormorant::Kernel aten_mean_out_scalar, aten_sum_IntList_out_scalar, aten_amax_out_scalar,
    aten_amin_out_scalar;
}

namespace cormorant::ops {
namespace {

ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  if (node.has("keepdim")) return nullptr;  // lowered already
  ir::Value* self = node.tensor("self");
  const ir::TensorType& type = node.result()->type;
  if (node.op == "aten.amax" || node.op == "aten.amin") {
    const FloatExtreme<HostWorld> call{.self = self, .dim = node.integers("dim"), .keepdim = true};
    return rewriter.emit(call, type, node.op == "aten.amin" ? kFloatAmin : FloatExtreme<HostWorld>::kName)->result();
  }
  const FloatMean<HostWorld> call{.self = self, .dim = node.integers("dim"), .keepdim = true, .dtype = {}};
  return rewriter.emit(call, type, node.op == "aten.sum" ? kFloatSum : FloatMean<HostWorld>::kName)->result();
}

}  // namespace

FloatForm reduce_float() {
  return {
      .lower = lower_float,
      .signatures = {signature_of<FloatMean>(), signature_of<FloatMean>(kFloatSum), signature_of<FloatExtreme>(),
                     signature_of<FloatExtreme>(kFloatAmin)},
      .kernels = {&aten_mean_out_scalar, &aten_sum_IntList_out_scalar, &aten_amax_out_scalar, &aten_amin_out_scalar}};
}

}  // namespace cormorant::ops
