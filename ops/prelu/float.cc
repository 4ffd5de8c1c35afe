// SPDX-License-Identifier: Apache-2.0
//
// cormorant::prelu.float(self, other): other, the slopes, repeats along all dimensions but the channels.
#include "ops/host/float_form.h"
#include "ops/host/movement.h"
#include "ops/load/float_binary.h"
#include "ops/prelu/prelu.h"

namespace cormorant::ops {
namespace {

ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  require_own_runtime(rewriter);
  ir::Value* self = node.tensor("self");
  ir::Value* slopes = node.tensor("weight");
  ir::Shape shape(self->type.rank(), 1);
  if (shape.size() >= 2) shape[1] = self->type.shape[1];
  if (slopes->kind == ir::ValueKind::constant) {
    slopes = rewriter.constant("slopes", ir::float_type(shape), evaluate::constant_tensor(*slopes).values());
  } else {
    slopes = Mover(rewriter).view(slopes, shape);
  }
  return rewriter
      .emit(FloatBinary<HostWorld>{.self = self, .other = slopes}, node.result()->type, names::cormorant_prelu_float)
      ->result();
}

}  // namespace

Lower prelu_float() { return lower_float; }

}  // namespace cormorant::ops
