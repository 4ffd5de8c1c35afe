// SPDX-License-Identifier: Apache-2.0
//
// hardswish(x) = x · clamp(x + 3, 0, 6) / 6 and hardsigmoid(x) = clamp(x + 3, 0, 6) / 6, written out by hand or by a
// decomposition, are functions of one element: one table instead of four operators and three roundings.
#include <cmath>
#include <optional>

#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

std::optional<double> number_of(const ir::Value* value) {
  if (value->kind != ir::ValueKind::constant || value->type.dtype != DType::f32 || value->type.elements() != 1)
    return {};
  return double{value->data.as<float>()[0]};
}

bool is_near(std::optional<double> value, double wanted) { return value && std::abs(*value - wanted) < 1e-6; }

// The value whose sixth this is; null if it is not a sixth.
ir::Value* times_six(const ir::Value* value) {
  const ir::Node* node = value->producer;
  if (node == nullptr || node->has("activation_min") || node->has("activation_max")) return nullptr;
  if (node->op == ops::nodes::aten_div)
    return is_near(number_of(node->tensor("other")), 6) ? node->tensor("self") : nullptr;
  if (node->op != ops::nodes::aten_mul) return nullptr;
  if (is_near(number_of(node->tensor("other")), 1.0 / 6)) return node->tensor("self");
  return is_near(number_of(node->tensor("self")), 1.0 / 6) ? node->tensor("other") : nullptr;
}

// x of clamp(x + 3, 0, 6); null if it is something else.
ir::Value* argument_of_clamp(const ir::Value* value) {
  const ir::Node* clamp = value->producer;
  if (clamp == nullptr || clamp->op != ops::nodes::aten_clamp || !clamp->has("min") || !clamp->has("max"))
    return nullptr;
  if (clamp->number("min") != 0 || clamp->number("max") != 6) return nullptr;
  const ir::Node* sum = clamp->tensor("self")->producer;
  if (sum == nullptr || sum->op != ops::nodes::aten_add || sum->number("alpha") != 1) return nullptr;
  if (is_near(number_of(sum->tensor("other")), 3)) return sum->tensor("self");
  return is_near(number_of(sum->tensor("self")), 3) ? sum->tensor("other") : nullptr;
}

// x of hardsigmoid(x), in any form.
ir::Value* argument_of_hardsigmoid(const ir::Value* value) {
  if (value->producer != nullptr && value->producer->op == ops::nodes::aten_hardsigmoid)
    return value->producer->tensor("self");
  const ir::Value* six = times_six(value);
  return six == nullptr ? nullptr : argument_of_clamp(six);
}

// x where the node is x · f(x) for that f, on either side.
template <class F>
ir::Value* argument_of_product(const ir::Node& node, F&& argument_of) {
  if (node.op != ops::nodes::aten_mul || node.has("activation_min") || node.has("activation_max")) return nullptr;
  ir::Value* self = node.tensor("self");
  ir::Value* other = node.tensor("other");
  if (argument_of(other) == self) return self;
  return argument_of(self) == other ? other : nullptr;
}

ir::Value* argument_of_hardswish(const ir::Node& node) {
  if (ir::Value* x = argument_of_product(node, argument_of_hardsigmoid)) return x;
  const ir::Value* six = times_six(node.result());
  return six == nullptr || six->producer == nullptr ? nullptr : argument_of_product(*six->producer, argument_of_clamp);
}

}  // namespace

void fuse_hard_functions(ir::Graph& graph) {
  const auto replace = [&](ir::Node* node, const char* op, ir::Value* x) {
    ir::Node* made = graph.add_node(node->name, op, {{"self", x}}, {node->result()->type}, node->location, node);
    graph.replace_uses(node->result(), made->result());
    graph.erase(node);
  };
  for (ir::Node* node : graph.snapshot()) {
    if (ir::Value* x = argument_of_hardswish(*node)) {
      replace(node, ops::nodes::aten_hardswish, x);
    } else if (ir::Value* y =
                   node->op == ops::nodes::aten_hardsigmoid ? nullptr : argument_of_hardsigmoid(node->result())) {
      replace(node, ops::nodes::aten_hardsigmoid, y);
    }
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
