// SPDX-License-Identifier: Apache-2.0
//
// Kernels compute with int8; cameras, and callers of other runtimes, have uint8. The same numbers have zero points that
// are 128 apart and bytes that differ in one bit, which an operator flips in place.
#include <map>

#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

constexpr const char* kFlip = ops::nodes::cormorant_flip_sign;

bool is_int8(const ir::Value* value) {
  return value->kind != ir::ValueKind::constant && value->type.dtype == DType::i8 && value->type.quant &&
         !value->type.quant->per_channel();
}

ir::TensorType as_uint8(ir::TensorType type) {
  type.dtype = type.quant->dtype = DType::u8;
  type.quant->qmin += 128;
  type.quant->qmax += 128;
  type.quant->zero_points.front() += 128;
  return type;
}

}  // namespace

void take_uint8(ir::Graph& graph) {
  ir::Node* const first = graph.nodes().empty() ? nullptr : &graph.nodes().front();
  for (ir::Value* input : graph.inputs()) {
    if (!is_int8(input)) continue;
    const ir::TensorType type = input->type;
    const std::vector<ir::Node*> users = graph.users(input);
    input->type = as_uint8(type);
    ir::Node* flip = graph.add_node(input->name + "_int8", kFlip, {{"self", input}}, {type},
                                    users.empty() ? ir::Location() : users.front()->location, first);
    graph.replace_uses(input, flip->result());
    flip->set("self", input);
  }
  std::map<ir::Value*, ir::Value*> made;
  for (ir::Value*& output : graph.outputs()) {
    if (!is_int8(output)) continue;
    ir::Value*& pixels = made[output];
    if (pixels == nullptr) {
      const ir::Location location = output->producer == nullptr ? ir::Location() : output->producer->location;
      pixels = graph.add_node(output->name + "_uint8", kFlip, {{"self", output}}, {as_uint8(output->type)}, location)
                   ->result();
    }
    output = pixels;
  }
  graph.erase_unused();
}

void keep_bytes(ir::Graph& graph) {
  for (ir::Node* node : graph.snapshot()) {
    if (node->op != ops::nodes::quantized_decomposed_quantize_per_tensor) continue;
    const ir::Node* before = node->tensor("input")->producer;
    if (before == nullptr || before->op != ops::nodes::cormorant_convert_any) continue;
    ir::Value* bytes = before->tensor("self");
    const bool is_same = node->result()->type.quant == ir::per_tensor_i8(1, -128);
    if (bytes->type.dtype != DType::u8 || bytes->type.quant || !is_same) continue;
    ir::Node* flip =
        graph.add_node(node->name, kFlip, {{"self", bytes}}, {node->result()->type}, before->location, node);
    graph.replace_uses(node->result(), flip->result());
    graph.erase(node);
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
