// SPDX-License-Identifier: Apache-2.0
//
// The maximum or minimum of a tensor and one number is a clamp, which operators before it can absorb.
#include <algorithm>
#include <optional>

#include "passes/passes.h"

namespace cormorant::passes {
namespace {

// The number that a constant consists of, also where the model quantizes it first.
std::optional<double> number_of(const ir::Value* value) {
  if (value->producer != nullptr && value->producer->op.starts_with("quantized_decomposed.dequantize"))
    value = value->producer->tensor("input");
  const bool is_real = value->type.dtype == DType::f32 || value->type.is_quantized();
  if (value->kind != ir::ValueKind::constant || !is_real) return std::nullopt;
  const evaluate::Tensor tensor = evaluate::constant_tensor(*value);
  const auto values = tensor.values();
  if (values.empty() || !std::ranges::all_of(values, [&](float x) { return x == values[0]; })) return std::nullopt;
  return double{values[0]};
}

}  // namespace

void find_clamps(ir::Graph& graph) {
  for (ir::Node* node : graph.snapshot()) {
    const bool is_maximum = node->op == "aten.maximum";
    if (!is_maximum && node->op != "aten.minimum") continue;
    ir::Value* self = node->tensor("self");
    std::optional<double> bound = number_of(node->tensor("other"));
    if (!bound) {
      self = node->tensor("other");
      bound = number_of(node->tensor("self"));
    }
    if (!bound || self->type != node->result()->type) continue;
    ir::Argument low, high;
    (is_maximum ? low : high) = *bound;
    ir::Node* clamp = graph.add_node(node->name, "aten.clamp", {{"self", self}, {"min", low}, {"max", high}},
                                     {node->result()->type}, node->location, node);
    graph.replace_uses(node->result(), clamp->result());
    graph.erase(node);
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
