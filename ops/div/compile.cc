// SPDX-License-Identifier: Apache-2.0
//
// aten.div(self, other) of two tensors, from PyTorch's forms down to cortex_m.quantized_div. Division by a number is a
// multiplication.
#include <cmath>

#include "ops/div/div.h"
#include "ops/div/prepack.h"
#include "ops/host/broadcast.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace div {
namespace {

constexpr const char* kCanonical = nodes::aten_div;

std::vector<ir::Value*> import_div(Importer& importer) {
  const ir::Node& call = *importer.call;
  ir::Value* self = operand_of(importer, "self");
  if (const auto number = as_number(call, "other")) {
    if (*number == 0 || !std::isfinite(1 / *number))
      importer.reject("a division by zero", "check the model's constants there");
    ir::Value* other = number_constant(importer, "other", 1 / *number);
    return importer.node(nodes::aten_mul, {{"self", self}, {"other", other}})->results;
  }
  return importer.node(kCanonical, {{"self", self}, {"other", call.tensor("other")}})->results;
}

std::vector<evaluate::Tensor> evaluate_div(const ir::Node& node, const evaluate::Frame& frame) {
  const ir::Value* other = node.tensor("other");
  // Of integers a divisor of zero gives zero, as the kernels have it: a small divisor may well be rounded to that.
  const bool is_quantized = other->type.quant.has_value();
  return {evaluate_broadcast(frame.get(node.tensor("self")), frame.get(other),
                             [is_quantized](float x, float y) { return is_quantized && y == 0 ? 0.0F : x / y; })};
}

QuantRule quantize(const ir::Node& node) {
  return quantize_broadcast(node,
                            {.output = QuantRule::Observe{}, .weights = {}, .precisions = precisions::w8a8_w8a16()});
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  // One of the few operators that ExecuTorch has in 16 bits, too.
  const Operands operands = broadcast_operands(rewriter, ExecutorchBroadcast::none, nullptr, WordsFor::every_runtime);
  const ir::QuantParams& self = operands.self->type.quant.value();
  const ir::QuantParams& other = operands.other->type.quant.value();
  const ir::QuantParams& output = node.result()->type.quant.value();
  const double scale = self.scale() / (other.scale() * output.scale());
  if (!std::isfinite(static_cast<float>(scale))) {
    refuse(node, "the quotient's scale is too small for its operands' scales", "calibrate with representative data");
  }
  QuantizedDiv<HostWorld> call{.self = operands.self};
  call.self_zero_point = self.zero_point();
  call.other = operands.other;
  call.other_zero_point = other.zero_point();
  call.output_zero_point = output.zero_point();
  call.output_scale = scale;
  return rewriter.emit(call, node.result()->type, names::cortex_m_quantized_div_out)->result();
}

bool in_place(const ir::Node& node, std::string_view argument) {
  return argument != "table" && takes_place_of(node, argument);
}

}  // namespace
}  // namespace div

Operator div_operator() {
  using namespace div;  // NOLINT(google-build-using-namespace)
  return {.name = "div",
          .forms = {{"div.Tensor(Tensor self, Tensor other)", import_div},
                    {"div_.Tensor(Tensor(a!) self, Tensor other)", import_div},
                    {"div.Scalar(Tensor self, Scalar other)", import_div},
                    {"div_.Scalar(Tensor(a!) self, Scalar other)", import_div},
                    {"divide.Tensor(Tensor self, Tensor other)", import_div},
                    {"divide_.Tensor(Tensor(a!) self, Tensor other)", import_div},
                    {"divide.Scalar(Tensor self, Scalar other)", import_div},
                    {"divide_.Scalar(Tensor(a!) self, Scalar other)", import_div},
                    {"true_divide.Tensor(Tensor self, Tensor other)", import_div},
                    {"true_divide_.Tensor(Tensor(a!) self, Tensor other)", import_div},
                    {"true_divide.Scalar(Tensor self, Scalar other)", import_div},
                    {"true_divide_.Scalar(Tensor(a!) self, Scalar other)", import_div}},
          .canonical = {"aten.div(Tensor self, Tensor other)"},
          .infer = infer_broadcast,
          .evaluate = evaluate_div,
          .quantize = quantize,
          .lower = lower,
          .prepack = prepack,
          .in_place = in_place};
}

}  // namespace cormorant::ops
