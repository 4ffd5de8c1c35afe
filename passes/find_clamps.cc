// SPDX-License-Identifier: Apache-2.0
//
// The maximum or minimum of a tensor and one number is a clamp, which operators before it can absorb.
#include <algorithm>
#include <optional>

#include "ops/nodes.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

// The number that a constant consists of, also where the model quantizes it first.
std::optional<double> number_of(ir::Value* value) {
  const ir::Value* constant = constant_behind(value);
  if (constant == nullptr || (constant->type.dtype != DType::f32 && !constant->type.is_quantized()))
    return std::nullopt;
  const evaluate::Tensor tensor = evaluate::constant_tensor(*constant);
  const auto values = tensor.values();
  if (values.empty() || !std::ranges::all_of(values, [&](float x) { return x == values[0]; })) return std::nullopt;
  return double{values[0]};
}

}  // namespace

void find_clamps(ir::Graph& graph) {
  for (ir::Node* node : graph.snapshot()) {
    const bool is_maximum = node->op == ops::nodes::aten_maximum;
    if (!is_maximum && node->op != ops::nodes::aten_minimum) continue;
    ir::Value* self = node->tensor("self");
    std::optional<double> bound = number_of(node->tensor("other"));
    if (!bound) {
      self = node->tensor("other");
      bound = number_of(node->tensor("self"));
    }
    if (!bound || self->type != node->result()->type) continue;
    ir::Argument low, high;
    (is_maximum ? low : high) = *bound;
    ir::Node* clamp = graph.add_node(node->name, ops::nodes::aten_clamp, {{"self", self}, {"min", low}, {"max", high}},
                                     {node->result()->type}, node->location, node);
    graph.replace_uses(node->result(), clamp->result());
    graph.erase(node);
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
