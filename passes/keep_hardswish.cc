// SPDX-License-Identifier: Apache-2.0
//
// ExecuTorch computes an int8 hardswish after a convolution or linear as x · (min(x, 3) + 3) / 6, an integer product in
// which 3 is a whole number of steps (the quantizer has clamped x to -3 already). A model that arrives quantized
// expects those bits. It stays one table here, with that product's entries.
#include "ops/nodes.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

// What a node's operand is dequantized from, if nothing else reads it on the way; null if it is something else.
const ir::Node* product_before(ir::Graph& graph, const ir::Node& function) {
  const ir::Value* value = function.tensor("self");
  for (const char* op :
       {ops::nodes::quantized_decomposed_dequantize_per_tensor, ops::nodes::quantized_decomposed_quantize_per_tensor}) {
    if (value->producer == nullptr || value->producer->op != op || graph.only_user(value) == nullptr) return nullptr;
    value = value->producer->tensor("input");
  }
  return graph.only_user(value) != nullptr ? value->producer : nullptr;
}

}  // namespace

void keep_hardswish(ir::Graph& graph) {
  for (ir::Node* function : graph.snapshot()) {
    if (function->op != ops::nodes::aten_hardswish) continue;
    const ir::Node* product = product_before(graph, *function);
    if (product != nullptr && is_matrix_product(*product)) function->set("as_product", true);
  }
}

}  // namespace cormorant::passes
