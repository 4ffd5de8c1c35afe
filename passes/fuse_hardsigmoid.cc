// SPDX-License-Identifier: Apache-2.0
//
// hardsigmoid(x) = clamp(x / 6 + 1/2, 0, 1): behind a convolution or linear, the sixth belongs to its weights, the half
// to its bias, and the clamp to its output. Weights that arrive quantized keep their integers; their scale gets the
// sixth.
#include "passes/match.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

bool is_matrix_product(const ir::Node& node) {
  return node.op == "aten.conv2d" || node.op == "aten.linear" || node.op == "aten.conv_transpose2d";
}

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

}  // namespace

void fuse_hardsigmoid(ir::Graph& graph) {
  for (ir::Node* function : graph.snapshot()) {
    if (function->op != "aten.hardsigmoid") continue;
    ir::Value* input = function->tensor("self");
    ir::Node* product = input->producer;
    if (product == nullptr || !is_matrix_product(*product) || graph.only_user(input) != function) continue;
    if (product->has("activation_min") || product->has("activation_max") || input->type.is_quantized()) continue;
    ir::Value* weight = product->tensor("weight");
    ir::Value* bias = product->tensor("bias");
    if (constant_behind(weight) == nullptr || (bias != nullptr && constant_behind(bias) == nullptr)) continue;
    const bool transposed = product->op == "aten.conv_transpose2d";
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
