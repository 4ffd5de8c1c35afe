// SPDX-License-Identifier: Apache-2.0
//
// Converting integers to float and on to integers of another scale is a function of one integer, without float: for
// int8 a table, between int8 and int16 a factor.
#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {

void join_conversions(ir::Graph& graph) {
  for (ir::Node* node : graph.snapshot()) {
    if (node->op != ops::nodes::quantized_decomposed_quantize_per_tensor) continue;
    const ir::Node* before = node->tensor("input")->producer;
    if (before == nullptr || before->op != ops::nodes::quantized_decomposed_dequantize_per_tensor) continue;
    ir::Value* integers = before->tensor("input");
    const ir::TensorType& type = node->result()->type;
    const auto has_kernel = [](DType dtype) { return dtype == DType::i8 || dtype == DType::i16; };
    if (integers->kind == ir::ValueKind::constant || !has_kernel(integers->type.dtype) || !has_kernel(type.dtype))
      continue;
    ir::Value* joined = integers;
    if (integers->type.quant != type.quant) {
      joined = graph
                   .add_node(node->name, ops::nodes::cormorant_requantize, {{"self", integers}}, {type}, node->location,
                             node)
                   ->result();
    }
    graph.replace_uses(node->result(), joined);
    graph.erase(node);
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
