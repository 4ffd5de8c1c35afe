// SPDX-License-Identifier: Apache-2.0
//
// aten.avg_pool2d in float is the portable operator as it stands.
#include "ops/avg_pool2d/float.h"

#include "ops/float_form.h"
#include "ops/float_kernel.h"

extern "C" {
extern const cormorant::Kernel aten_avg_pool2d_out_scalar, aten__adaptive_avg_pool2d_out_scalar;
}

namespace cormorant::ops {
namespace {

ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  require_sizes_up_to(rewriter, kLargestFloatSize);
  if (node.op != "aten.adaptive_avg_pool2d") return nullptr;
  const FloatAdaptiveAvgPool2d<HostWorld> call{.self = node.tensor("self"),
                                               .output_size = node.integers("output_size")};
  return rewriter.emit(call, node.result()->type)->result();
}

}  // namespace

FloatForm avg_pool2d_float() {
  return {.lower = lower_float,
          .signatures = {signature_of<FloatAvgPool2d>(), signature_of<FloatAdaptiveAvgPool2d>()},
          .kernels = {&aten_avg_pool2d_out_scalar, &aten__adaptive_avg_pool2d_out_scalar}};
}

}  // namespace cormorant::ops
