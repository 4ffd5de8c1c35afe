// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/float.h"

#include "ops/host/movement.h"
#include "ops/linear/linear.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace linear {
namespace {

// [outputs, inputs] as [inputs, outputs]; a constant is turned here and now.
ir::Value* transposed(const Rewriter& rewriter, ir::Value* weight) {
  const ir::Shape shape = {weight->type.shape[1], weight->type.shape[0]};
  if (weight->kind != ir::ValueKind::constant) return Mover(rewriter).permute(weight, {1, 0});
  const evaluate::Tensor tensor = evaluate::constant_tensor(*weight);
  const evaluate::Tensor turned = strided(tensor, shape, {1, shape[0]});
  return rewriter.constant("weight", ir::float_type(shape), turned.values());
}

ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const Mover mover(rewriter);
  const ir::TensorType& type = node.result()->type;
  ir::Value* weight = transposed(rewriter, node.tensor("weight"));
  const std::int64_t inputs = weight->type.shape[0];
  const std::int64_t outputs = weight->type.shape[1];
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < type.rank(); ++i) rows *= type.shape[i];
  ir::Value* input = mover.view(node.tensor("input"), {rows, inputs});
  const ir::TensorType flat = ir::float_type({rows, outputs});
  ir::Value* product = nullptr;
  if (ir::Value* bias = node.tensor("bias"); bias != nullptr) {
    product = rewriter
                  .emit(Addmm<HostWorld>{.self = bias, .mat1 = input, .mat2 = weight, .beta = {1}, .alpha = {1}}, flat,
                        names::aten_addmm_out)
                  ->result();
  } else {
    product = rewriter.emit(Mm<HostWorld>{.self = input, .mat2 = weight}, flat, names::aten_mm_out)->result();
  }
  return mover.view(product, type.shape);
}

}  // namespace
}  // namespace linear

Lower linear_float() { return linear::lower_float; }

}  // namespace cormorant::ops
