// SPDX-License-Identifier: Apache-2.0
//
// y = (conv(x) − mean) / sqrt(var + eps) · gamma + beta is a convolution again, with weights scaled per output channel.
// Done in double: the folded weights are what gets quantized, so they should carry no error of their own.
#include <cmath>

#include "passes/passes.h"

namespace cormorant::passes {
namespace {

std::vector<double> channel_values(const ir::Value* value, std::size_t channels, double fallback) {
  if (value == nullptr) return std::vector<double>(channels, fallback);
  const auto data = value->data.as<float>();
  return {data.begin(), data.end()};
}

bool is_float_constant(const ir::Value* value) {
  return value == nullptr || (value->kind == ir::ValueKind::constant && value->type.dtype == DType::f32);
}

bool foldable(ir::Graph& graph, const ir::Node& norm) {
  const ir::Value* input = norm.tensor("input");
  const ir::Node* producer = input->producer;
  if (producer == nullptr || (producer->op != "aten.conv2d" && producer->op != "aten.linear")) return false;
  // Linear normalises along its last dimension, batch norm along dimension 1: the same only for rank 2.
  if (producer->op == "aten.linear" && input->type.rank() != 2) return false;
  if (graph.only_user(input) != &norm || producer->has("activation_min") || producer->has("activation_max"))
    return false;
  for (const char* arg : {"weight", "bias", "running_mean", "running_var"}) {
    if (!is_float_constant(norm.tensor(arg))) return false;
  }
  return norm.has("running_mean") && norm.has("running_var") && is_float_constant(producer->tensor("weight")) &&
         is_float_constant(producer->tensor("bias"));
}

void fold(ir::Graph& graph, ir::Node& norm) {
  ir::Node& producer = *norm.tensor("input")->producer;
  const ir::Value* weight = producer.tensor("weight");
  const auto channels = static_cast<std::size_t>(weight->type.shape[0]);
  const auto gamma = channel_values(norm.tensor("weight"), channels, 1);
  const auto beta = channel_values(norm.tensor("bias"), channels, 0);
  const auto mean = channel_values(norm.tensor("running_mean"), channels, 0);
  const auto variance = channel_values(norm.tensor("running_var"), channels, 1);
  const auto old_bias = channel_values(producer.tensor("bias"), channels, 0);
  const auto old_weight = weight->data.as<float>();
  const std::size_t per_channel = old_weight.size() / channels;

  std::vector<float> new_weight(old_weight.size());
  std::vector<float> new_bias(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const double factor = gamma[c] / std::sqrt(variance[c] + norm.number("eps"));
    for (std::size_t i = 0; i < per_channel; ++i) {
      const std::size_t at = c * per_channel + i;
      new_weight[at] = static_cast<float>(static_cast<double>(old_weight[at]) * factor);
    }
    new_bias[c] = static_cast<float>((old_bias[c] - mean[c]) * factor + beta[c]);
  }
  producer.set("weight", graph.add_constant(weight->name + "_folded", weight->type,
                                            ir::Bytes::of(std::span<const float>(new_weight))));
  producer.set("bias",
               graph.add_constant(producer.name + "_bias_folded", ir::float_type({static_cast<std::int64_t>(channels)}),
                                  ir::Bytes::of(std::span<const float>(new_bias))));
  graph.replace_uses(norm.result(), producer.result());
  graph.erase(&norm);
}

}  // namespace

void fold_batch_norm(ir::Graph& graph) {
  for (ir::Node* node : graph.snapshot()) {
    if (node->op == "aten.batch_norm" && foldable(graph, *node)) fold(graph, *node);
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
