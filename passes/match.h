// SPDX-License-Identifier: Apache-2.0
//
// Queries about operands that several rewrites share.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ops/nodes.h"

namespace cormorant::passes {

// The constant that an operand comes from: itself, or the integers dequantized to it; null if it is computed.
inline ir::Value* constant_behind(ir::Value* value) {
  if (value->kind == ir::ValueKind::constant) return value;
  if (value->producer == nullptr || !ops::nodes::is_dequantization(value->producer->op)) return nullptr;
  ir::Value* input = value->producer->tensor("input");
  return input->kind == ir::ValueKind::constant && input->type.is_quantized() ? input : nullptr;
}

inline bool is_float_constant(const ir::Value* value) {
  return value != nullptr && value->kind == ir::ValueKind::constant && value->type.dtype == DType::f32;
}

// One factor and one term per channel.
struct Affine {
  std::vector<double> factor, term;
};
// What a batch norm does to its channels; none if its statistics are computed (passes/fold_batch_norm.cc).
std::optional<Affine> affine_of(const ir::Node& norm);

inline bool is_matrix_product(const ir::Node& node) {
  return node.op == ops::nodes::aten_conv2d || node.op == ops::nodes::aten_linear ||
         node.op == ops::nodes::aten_conv_transpose2d;
}

}  // namespace cormorant::passes
