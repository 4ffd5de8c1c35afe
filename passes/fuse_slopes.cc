// SPDX-License-Identifier: Apache-2.0
//
// A PReLU or leaky ReLU is a second multiplier for sums below zero: as part of the convolution or linear layer its
// result is rounded once, not before and after the function, and only the range after it needs levels. Before
// quantization, so that calibration sees the pair.
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

// Linear layers become convolutions, whose channels slopes belong to. A convolution counts no further than this.
bool is_possible_convolution(const ir::Node& linear, std::size_t slopes) {
  constexpr std::int64_t kLargestExtent = 65535;
  const ir::Shape& weight = linear.tensor("weight")->type.shape;
  const ir::TensorType& result = linear.result()->type;
  const bool are_outputs = slopes == 1 || result.rank() == 2;
  return are_outputs && std::ranges::all_of(weight, [](std::int64_t n) { return n > 0 && n <= kLargestExtent; }) &&
         result.elements() / weight[0] <= kLargestExtent;
}

// Layers that kernels with a second multiplier compute.
bool takes_slopes(const ir::Node& node, std::size_t slopes) {
  const ops::Operator* op = ops::find(node);
  if (op == nullptr) return false;
  const bool is_convolution =
      node.op == ops::nodes::aten_conv2d && (op->name == "conv2d" || op->name == "depthwise_conv2d");
  const bool is_linear = node.op == ops::nodes::aten_linear && is_possible_convolution(node, slopes);
  return (is_convolution || is_linear) && is_constant(node.tensor("weight")) &&
         (node.tensor("bias") == nullptr || is_constant(node.tensor("bias"))) && !node.has("activation_min") &&
         !node.has("activation_max") && !node.has("activation_slopes") && !node.result()->type.is_quantized();
}

}  // namespace

void fuse_slopes(ir::Graph& graph, const std::function<bool(const ir::Node&, const ir::Node&)>& may_fuse) {
  for (ir::Node* function : graph.snapshot()) {
    const std::optional<std::vector<double>> slopes = slopes_of(*function);
    if (!slopes || std::ranges::any_of(*slopes, [](double slope) { return !std::isfinite(slope); })) continue;
    ir::Value* input = function->tensor("self");
    ir::Node* producer = input->producer;
    if (producer == nullptr || graph.only_user(input) != function) continue;
    if (!takes_slopes(*producer, slopes->size()) || !may_fuse(*producer, *function)) continue;
    producer->set("activation_slopes", *slopes);
    for (const char* bound : {"activation_min", "activation_max"}) {
      if (function->has(bound)) producer->set(bound, function->get(bound));
    }
    graph.replace_uses(function->result(), input);
    graph.erase(function);
  }
}

}  // namespace cormorant::passes
