// SPDX-License-Identifier: Apache-2.0
//
// Operators that do nothing at inference: the call's result is its input, and no node is created.
//
// cormorant.reinterpret(self) is what a pass leaves where integers change their meaning but not their bits: its result
// has other quantization parameters.
#include <algorithm>

#include "base/diagnostic.h"
#include "ops/host/advice.h"
#include "ops/host/build.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

ir::Value* input_of(const Importer& importer) {
  const ir::Node& call = *importer.call;
  const auto first = std::find_if(call.args.begin(), call.args.end(), [](const ir::NamedArgument& arg) {
    return std::holds_alternative<ir::Value*>(arg.value);
  });
  if (first == call.args.end()) importer.reject("it has no tensor", kInconsistent);
  return std::get<ir::Value*>(first->value);
}

std::vector<ir::Value*> import_identity(Importer& importer) { return {input_of(importer)}; }

std::vector<ir::Value*> import_dropout(Importer& importer) {
  const ir::Node& call = *importer.call;
  if (call.has("train") && call.boolean("train") && call.number("p") != 0.0) {
    // Everything is dropped, which is not random at all.
    if (call.number("p") == 1.0) return {Build(importer).filled(0, importer.types.at(0))};
    importer.reject("dropout in training mode", "call model.eval() before torch.export");
  }
  return {input_of(importer)};
}

std::vector<ir::Value*> import_native_dropout(Importer& importer) {
  return {import_dropout(importer).front(), nullptr};  // the mask is unused in inference
}

// Checks that tracing left behind; the file's own types and shapes are checked elsewhere.
std::vector<ir::Value*> import_nothing(Importer&) { return {}; }

// Reinterpreting bits as another type, if that is the type that they have.
std::vector<ir::Value*> import_same_type(Importer& importer) {
  ir::Value* input = input_of(importer);
  const DType wanted = importer.types.at(0).dtype;
  if (input->type.dtype != wanted) {
    importer.reject(std::string("the bits of ") + name_of(input->type.dtype) + " read as " + name_of(wanted),
                    "convert the numbers with .to(dtype) instead");
  }
  return {input};
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  if (!type.quant || !node.result()->type.quant) {
    throw InputError({.problem = node.op + " of a tensor without quantization parameters",
                      .advice = "give its operand and its result quantization parameters",
                      .node = node.name,
                      .source = node.location.text()});
  }
  type.quant = node.result()->type.quant;
  return {type};
}

std::vector<evaluate::Tensor> evaluate_reinterpret(const ir::Node& node, const evaluate::Frame& frame) {
  const ir::QuantParams& from = *node.tensor("self")->type.quant;
  const ir::QuantParams& to = *node.result()->type.quant;
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  std::vector<float> out(input.values().begin(), input.values().end());
  for (float& value : out) {
    const double level = double{value} / from.scale() + from.zero_point();
    value = static_cast<float>((level - to.zero_point()) * to.scale());
  }
  return {evaluate::Tensor(input.shape, std::move(out))};
}

// Operators before it already have their parameters in their arguments: the value's type is for its readers.
ir::Value* lower(const Rewriter& rewriter) {
  ir::Value* value = rewriter.node.tensor("self");
  value->type.quant = rewriter.node.result()->type.quant;
  return value;
}

}  // namespace

Operator identity_operator() {
  return {.name = "identity",
          .forms =
              {
                  {"dropout.default(Tensor input, float p, bool train)", import_dropout},
                  {"dropout_.default(Tensor self, float p, bool train)", import_dropout},
                  {"feature_dropout.default(Tensor input, float p, bool train)", import_dropout},
                  {"feature_dropout_.default(Tensor self, float p, bool train)", import_dropout},
                  {"alpha_dropout.default(Tensor input, float p, bool train)", import_dropout},
                  {"alpha_dropout_.default(Tensor self, float p, bool train)", import_dropout},
                  {"feature_alpha_dropout.default(Tensor input, float p, bool train)", import_dropout},
                  {"native_dropout.default(Tensor input, float p, bool? train)", import_native_dropout},
                  {"clone.default(Tensor self, *, MemoryFormat? memory_format=None)", import_identity},
                  {"contiguous.default(Tensor self, *, MemoryFormat memory_format=contiguous_format)", import_identity},
                  {"alias.default(Tensor self)", import_identity},
                  {"alias_copy.default(Tensor self)", import_identity},
                  {"detach.default(Tensor self)", import_identity},
                  {"detach_.default(Tensor self)", import_identity},
                  {"detach_copy.default(Tensor self)", import_identity},
                  {"lift_fresh.default(Tensor self)", import_identity},
                  {"lift_fresh_copy.default(Tensor self)", import_identity},
                  {"lift.default(Tensor self)", import_identity},
                  {"positive.default(Tensor self)", import_identity},
                  {"conj.default(Tensor self)", import_identity},
                  {"_conj.default(Tensor self)", import_identity},
                  {"resolve_conj.default(Tensor self)", import_identity},
                  {"resolve_neg.default(Tensor self)", import_identity},
                  {"dim_order_ops::_clone_dim_order.default(Tensor self, *, bool non_blocking=False, "
                   "int[]? dim_order=None)",
                   import_identity},
                  {"_assert_tensor_metadata.default(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, "
                   "ScalarType? dtype=None, *, Device? device=None, Layout? layout=None)",
                   import_nothing},
                  {"view.dtype(Tensor self, ScalarType dtype)", import_same_type},
              },
          .canonical = {"cormorant.reinterpret(Tensor self)"},
          .infer = infer,
          .evaluate = evaluate_reinterpret,
          .lower = lower};
}

}  // namespace cormorant::ops
