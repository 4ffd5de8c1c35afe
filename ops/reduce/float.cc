// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/float.h"

#include "ops/nodes.h"
#include "ops/op.h"
#include "ops/reduce/reduce.h"

namespace cormorant::ops {
namespace {

ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  if (node.has("keepdim")) return nullptr;  // lowered already
  ir::Value* self = node.tensor("self");
  const ir::TensorType& type = node.result()->type;
  if (node.op == nodes::aten_amax || node.op == nodes::aten_amin) {
    const FloatExtreme<HostWorld> call{.self = self, .dim = node.integers("dim"), .keepdim = true};
    return rewriter.emit(call, type, node.op == nodes::aten_amin ? names::aten_amin_out : names::aten_amax_out)
        ->result();
  }
  const FloatMean<HostWorld> call{.self = self, .dim = node.integers("dim"), .keepdim = true, .dtype = {}};
  return rewriter.emit(call, type, node.op == nodes::aten_sum ? names::aten_sum_IntList_out : names::aten_mean_out)
      ->result();
}

}  // namespace

Lower reduce_float() { return lower_float; }

}  // namespace cormorant::ops
