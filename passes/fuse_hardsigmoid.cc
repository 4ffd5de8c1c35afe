// SPDX-License-Identifier: Apache-2.0
//
// hardsigmoid(x) = clamp(x / 6 + 1/2, 0, 1): after a convolution or linear, the sixth belongs to its weights, the half
// to its bias, and the clamp to its output. Weights that arrive quantized keep their integers; their scale gets the
// sixth.
//
// In a model that arrives quantized, whose result's integers end at 0 and 1, they need not change at all: the integers
// of x with six times the result's scale, and a zero point that is half the range further, are the integers of the
// result. ExecuTorch does that, with half the range in whole steps; such a model expects the same bits.
#include <algorithm>
#include <cmath>

#include "ops/nodes.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

bool is_constant(const ir::Value* value) { return value->kind == ir::ValueKind::constant; }

ir::Value* add_float(ir::Graph& graph, const std::string& name, ir::Shape shape, std::span<const float> values) {
  return graph.add_constant(name, ir::float_type(std::move(shape)), ir::Bytes::of(values));
}

// The operand times `factor`, for the node alone.
ir::Value* scaled(ir::Graph& graph, ir::Node& node, ir::Value* value, double factor) {
  const ir::Value* constant = constant_behind(value);
  if (is_constant(value) && !value->type.is_quantized()) {
    std::vector<float> values;
    for (const float v : value->data.as<float>()) values.push_back(static_cast<float>(double{v} * factor));
    return add_float(graph, value->name + "_scaled", value->type.shape, values);
  }
  ir::TensorType type = constant->type;
  for (double& scale : type.quant->scales) scale *= factor;
  ir::Value* integers = graph.add_constant(constant->name + "_scaled", std::move(type), constant->data);
  if (is_constant(value)) return integers;
  std::vector<ir::NamedArgument> args = value->producer->args;
  for (ir::NamedArgument& arg : args) {
    if (arg.name == "input") arg.value = integers;
    if (arg.name == "scale") arg.value = integers->type.quant->scale();
  }
  return graph
      .add_node(value->producer->name + "_scaled", value->producer->op, std::move(args), {value->type},
                value->producer->location, &node)
      ->result();
}

// The parameters of x whose integers are those of hardsigmoid(x) in `result`; none if that takes a clamp.
std::optional<ir::QuantParams> parameters_before(const ir::QuantParams& result) {
  if (result.dtype != DType::i8 || result.per_channel()) return std::nullopt;
  const double step = result.scale();
  const auto clamped = [&](double level) {
    return static_cast<std::int32_t>(std::clamp<double>(level, result.qmin, result.qmax));
  };
  const auto level = [&](double y) { return clamped(std::nearbyint(y / step + result.zero_point())); };
  if (level(0) != result.qmin || level(1) != result.qmax) return std::nullopt;
  ir::QuantParams x = result;
  x.scales = {6 * step};
  x.zero_points = {clamped(result.zero_point() + std::nearbyint(1 / (2 * step)))};
  return x;
}

// quantize(hardsigmoid(x)) becomes quantize(x) with parameters of its own, read with the result's.
bool fuse_into_parameters(ir::Graph& graph, ir::Node& function, ir::Value* input) {
  const ir::Node* quantize = graph.only_user(function.result());
  if (quantize == nullptr || quantize->op != ops::nodes::quantized_decomposed_quantize_per_tensor) return false;
  const ir::TensorType result = quantize->result()->type;
  const std::optional<ir::QuantParams> params = parameters_before(*result.quant);
  if (!params) return false;
  std::vector<ir::NamedArgument> args = quantize->args;
  for (ir::NamedArgument& arg : args) {
    if (arg.name == "input") arg.value = input;
    if (arg.name == "scale") arg.value = params->scale();
    if (arg.name == "zero_point") arg.value = std::int64_t{params->zero_point()};
  }
  ir::TensorType type = result;
  type.quant = params;
  ir::Node* before =
      graph.add_node(function.name + "_input", quantize->op, std::move(args), {type}, function.location, &function);
  ir::Node* after = graph.add_node(function.name, ops::nodes::cormorant_reinterpret, {{"self", before->result()}},
                                   {result}, function.location, &function);
  graph.replace_uses(quantize->result(), after->result());
  return true;
}

}  // namespace

void fuse_hardsigmoid(ir::Graph& graph) {
  for (ir::Node* function : graph.snapshot()) {
    if (function->op != ops::nodes::aten_hardsigmoid) continue;
    ir::Value* input = function->tensor("self");
    ir::Node* product = input->producer;
    if (product == nullptr || !is_matrix_product(*product) || graph.only_user(input) != function) continue;
    if (product->has("activation_min") || product->has("activation_max") || input->type.is_quantized()) continue;
    if (fuse_into_parameters(graph, *function, input)) continue;
    ir::Value* weight = product->tensor("weight");
    ir::Value* bias = product->tensor("bias");
    if (constant_behind(weight) == nullptr || (bias != nullptr && constant_behind(bias) == nullptr)) continue;
    const bool transposed = product->op == ops::nodes::aten_conv_transpose2d;
    const std::int64_t outputs =
        transposed ? weight->type.shape[1] * product->integer("groups") : weight->type.shape[0];
    std::vector<float> half(static_cast<std::size_t>(outputs), 0.5F);
    if (bias != nullptr) {
      const evaluate::Tensor old = evaluate::constant_tensor(*constant_behind(bias));
      for (std::size_t i = 0; i < half.size(); ++i) half[i] += old.values()[i] / 6;
    }
    product->set("weight", scaled(graph, *product, weight, 1.0 / 6));
    product->set("bias", add_float(graph, product->name + "_bias_shifted", {outputs}, half));
    product->set("activation_min", 0.0);
    product->set("activation_max", 1.0);
    graph.replace_uses(function->result(), input);
    graph.erase(function);
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
