// SPDX-License-Identifier: Apache-2.0
//
// A PReLU or leaky ReLU is a second multiplier for sums below zero: as part of the convolution its result is rounded
// once, not before and after the function, and only the range after it needs levels. Before quantization, so that
// calibration sees the pair.
#include <algorithm>
#include <cmath>
#include <optional>

#include "evaluate/tensor.h"
#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

bool is_constant(const ir::Value* value) { return value != nullptr && value->kind == ir::ValueKind::constant; }

// One slope for all channels, or one for each.
std::optional<std::vector<double>> slopes_of(const ir::Node& node) {
  if (node.op == ops::nodes::aten_leaky_relu) return std::vector<double>{node.number("negative_slope")};
  if (node.op != ops::nodes::aten_prelu || !is_constant(node.tensor("weight"))) return std::nullopt;
  const evaluate::Tensor slopes = evaluate::constant_tensor(*node.tensor("weight"));
  return std::vector<double>(slopes.values().begin(), slopes.values().end());
}

// Convolutions that kernels with a second multiplier compute.
bool takes_slopes(const ir::Node& node) {
  const ops::Operator* op = ops::find(node);
  return node.op == ops::nodes::aten_conv2d && op != nullptr && op->name == "conv2d" &&
         is_constant(node.tensor("weight")) && (node.tensor("bias") == nullptr || is_constant(node.tensor("bias"))) &&
         !node.has("activation_min") && !node.has("activation_max") && !node.has("activation_slopes") &&
         !node.result()->type.is_quantized();
}

}  // namespace

void fuse_slopes(ir::Graph& graph, const std::function<bool(const ir::Node&, const ir::Node&)>& may_fuse) {
  for (ir::Node* function : graph.snapshot()) {
    const std::optional<std::vector<double>> slopes = slopes_of(*function);
    if (!slopes || std::ranges::any_of(*slopes, [](double slope) { return !std::isfinite(slope); })) continue;
    ir::Value* input = function->tensor("self");
    ir::Node* producer = input->producer;
    if (producer == nullptr || graph.only_user(input) != function || !takes_slopes(*producer)) continue;
    if (!may_fuse(*producer, *function)) continue;
    producer->set("activation_slopes", *slopes);
    for (const char* bound : {"activation_min", "activation_max"}) {
      if (function->has(bound)) producer->set(bound, function->get(bound));
    }
    graph.replace_uses(function->result(), input);
    graph.erase(function);
  }
}

}  // namespace cormorant::passes
