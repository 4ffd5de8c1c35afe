// SPDX-License-Identifier: Apache-2.0
//
// cormorant::prelu.float(self, other): other, the slopes, repeats along all dimensions but the channels.
#include "ops/float_binary.h"
#include "ops/float_form.h"
#include "ops/movement.h"

extern "C" {
extern const cormorant::Kernel cormorant_prelu_float;
}

namespace cormorant::ops {
namespace {

constexpr const char* kName = "cormorant::prelu.float";

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
  return rewriter.emit(FloatBinary<HostWorld>{.self = self, .other = slopes}, node.result()->type, kName)->result();
}

}  // namespace

FloatForm prelu_float() {
  return {.lower = lower_float, .signatures = {signature_of<FloatBinary>(kName)}, .kernels = {&cormorant_prelu_float}};
}

}  // namespace cormorant::ops
