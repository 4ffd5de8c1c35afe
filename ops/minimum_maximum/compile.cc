// SPDX-License-Identifier: Apache-2.0
//
// aten.minimum(self, other) and aten.maximum(self, other). With a number as one operand they are a clamp, which the
// operator before it can usually absorb.
#include <algorithm>

#include "ops/host/broadcast.h"
#include "ops/host/words.h"
#include "ops/minimum_maximum/minimum_maximum.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace minimum_maximum {
namespace {

constexpr const char* kMinimum = nodes::aten_minimum;
constexpr const char* kMaximum = nodes::aten_maximum;

// min(x, 6): a clamp of x, if x alone has the result's shape.
ir::Node* import_clamp(Importer& importer, const char* tensor, const char* number, bool minimum) {
  const auto bound = as_number(*importer.call, number);
  if (!bound || as_number(*importer.call, tensor)) return nullptr;
  ir::Value* self = importer.call->tensor(tensor);
  if (self->type.shape != importer.types.at(0).shape) return nullptr;
  return importer.node(nodes::aten_clamp, {{"self", self},
                                           {"min", minimum ? ir::Argument{} : ir::Argument{*bound}},
                                           {"max", minimum ? ir::Argument{*bound} : ir::Argument{}}});
}

std::vector<ir::Value*> import(Importer& importer, const char* canonical) {
  const bool minimum = canonical == kMinimum;
  if (ir::Node* clamp = import_clamp(importer, "self", "other", minimum)) return clamp->results;
  if (ir::Node* clamp = import_clamp(importer, "other", "self", minimum)) return clamp->results;
  return importer.node(canonical, {{"self", importer.call->tensor("self")}, {"other", importer.call->tensor("other")}})
      ->results;
}
std::vector<ir::Value*> import_minimum(Importer& importer) { return import(importer, kMinimum); }
std::vector<ir::Value*> import_maximum(Importer& importer) { return import(importer, kMaximum); }

std::vector<evaluate::Tensor> evaluate_choice(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& self = frame.get(node.tensor("self"));
  const evaluate::Tensor& other = frame.get(node.tensor("other"));
  if (node.op == kMinimum) return {evaluate_broadcast(self, other, [](float x, float y) { return std::min(x, y); })};
  return {evaluate_broadcast(self, other, [](float x, float y) { return std::max(x, y); })};
}

// ExecuTorch requires equal parameters as well.
QuantRule quantize(const ir::Node& node) {
  return quantize_broadcast(node,
                            {.output = QuantRule::Share{}, .weights = {}, .precisions = precisions::w8a8_w8a16()});
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::QuantParams& quant = node.result()->type.quant.value();
  const Operands operands = broadcast_operands(rewriter, ExecutorchBroadcast::any_contiguous, &quant);
  for (const ir::Value* operand : {operands.self, operands.other}) {
    const ir::QuantParams& q = operand->type.quant.value();
    if (q.scale() != quant.scale() || q.zero_point() != quant.zero_point()) {
      refuse(node, "a comparison of tensors with different quantization parameters",
             "quantize the model so that both operands and the result share them");
    }
  }
  if (has_words(node)) {
    return rewriter
        .emit(MinimumMaximum<HostWorld>{.self = operands.self, .other = operands.other}, node.result()->type,
              node.op == kMinimum ? names::cormorant_minimum_words : names::cormorant_maximum_words)
        ->result();
  }
  return rewriter
      .emit(MinimumMaximum<HostWorld>{.self = operands.self, .other = operands.other}, node.result()->type,
            node.op == kMinimum ? names::cortex_m_minimum_out : names::cortex_m_maximum_out)
      ->result();
}

}  // namespace
}  // namespace minimum_maximum

Operator minimum_maximum_operator() {
  using namespace minimum_maximum;  // NOLINT(google-build-using-namespace)
  return {.name = "minimum_maximum",
          .elementwise = true,
          .forms = {{"minimum.default(Tensor self, Tensor other)", import_minimum},
                    {"min.other(Tensor self, Tensor other)", import_minimum},
                    {"maximum.default(Tensor self, Tensor other)", import_maximum},
                    {"max.other(Tensor self, Tensor other)", import_maximum}},
          .canonical = {"aten.minimum(Tensor self, Tensor other)", "aten.maximum(Tensor self, Tensor other)"},
          .infer = infer_broadcast,
          .evaluate = evaluate_choice,
          .quantize = quantize,
          .lower = lower,
          .in_place = takes_place_of};
}

}  // namespace cormorant::ops
