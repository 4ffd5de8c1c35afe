// SPDX-License-Identifier: Apache-2.0
//
// (x · w) · factor + term, with one factor and one term per output channel, or one for all: a layer scale, a
// temperature, or integer weights and their scales as torchao writes them. In integers every step of it would round
// once more, so they become part of the weights and the bias. A product of matrices with a constant on the right, which
// may be known to be one only here, is a linear layer first: that has a scale per channel.
#include <cmath>
#include <optional>

#include "evaluate/tensor.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

void make_linear(ir::Graph& graph, ir::Node& product) {
  const ir::Value* right = product.tensor("mat2");
  ir::Value* left = product.tensor("self");
  const std::size_t rank = right->type.rank();
  if (!is_float_constant(right) || left->kind == ir::ValueKind::constant || left->type.rank() < rank) return;
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (right->type.shape[d] != 1) return;
  }
  const bool is_transposed = product.boolean("transposed");
  const auto rows = static_cast<std::size_t>(right->type.shape[rank - 2]);
  const auto columns = static_cast<std::size_t>(right->type.shape[rank - 1]);
  const auto old = right->data.as<float>();
  std::vector<float> weight(old.size());
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const std::size_t from = is_transposed ? i : i % rows * columns + i / rows;
    weight[i] = static_cast<float>(static_cast<double>(old[from]) * product.number("scale"));
  }
  ir::Shape shape = {right->type.shape[rank - 1], right->type.shape[rank - 2]};
  if (is_transposed) std::swap(shape[0], shape[1]);
  ir::Value* constant = graph.add_constant(right->name + "_weight", ir::float_type(std::move(shape)),
                                           ir::Bytes::of(std::span<const float>(weight)));
  ir::Node* linear = graph.add_node(product.name, ops::nodes::aten_linear,
                                    {{"input", left}, {"weight", constant}, {"bias", ir::None{}}},
                                    {product.result()->type}, product.location, &product);
  graph.replace_uses(product.result(), linear->result());
  graph.erase(&product);
}

struct Layer {
  ir::Node* node;
  std::size_t channels, dim;  // which dimension of its result has the channels
};

std::optional<Layer> layer_of(ir::Node* node) {
  if (node == nullptr || (node->op != ops::nodes::aten_linear && node->op != ops::nodes::aten_conv2d)) return {};
  if (node->has("activation_min") || node->has("activation_max") || node->has("activation_slopes")) return {};
  if (!is_float_constant(node->tensor("weight"))) return {};
  if (node->has("bias") && !is_float_constant(node->tensor("bias"))) return {};
  const bool is_linear = node->op == ops::nodes::aten_linear;
  return Layer{node, static_cast<std::size_t>(node->tensor("weight")->type.shape[0]),
               is_linear ? node->result()->type.rank() - 1 : 1};
}

// The layer that computes the value, which nothing but the reader reads, directly or seen as another shape.
std::optional<Layer> layer_before(ir::Graph& graph, ir::Value* value, const ir::Node* reader) {
  bool is_moved = false;
  while (value->producer != nullptr && graph.only_user(value) == reader && !graph.is_kept(value)) {
    ir::Node* producer = value->producer;
    if (auto layer = layer_of(producer)) {
      if (is_moved && layer->dim + 1 != value->type.rank()) return {};
      return layer;
    }
    // A view that keeps the last dimension keeps a linear layer's channels.
    if (producer->op != ops::nodes::aten_view) return {};
    ir::Value* from = producer->tensor("self");
    if (from->type.rank() == 0 || value->type.rank() == 0 || from->type.shape.back() != value->type.shape.back())
      return {};
    is_moved = true;
    reader = producer;
    value = from;
  }
  return {};
}

// One number per channel, from a constant that is broadcast along all other dimensions.
std::optional<std::vector<double>> per_channel(const ir::Value* constant, std::size_t channels, std::size_t after) {
  if (!is_float_constant(constant)) return {};
  const ir::Shape& shape = constant->type.shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool is_channel = shape.size() - 1 - d == after && shape[d] == static_cast<std::int64_t>(channels);
    if (shape[d] != 1 && !is_channel) return {};
  }
  const auto data = constant->data.as<float>();
  if (data.size() != 1 && data.size() != channels) return {};
  std::vector<double> numbers(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    numbers[c] = data[data.size() == 1 ? 0 : c];
    if (!std::isfinite(numbers[c])) return {};
  }
  return numbers;
}

void fold(ir::Graph& graph, ir::Node& node) {
  const bool multiplies = node.op == ops::nodes::aten_mul;
  for (const auto& [of_layer, of_constant] : {std::pair("self", "other"), std::pair("other", "self")}) {
    ir::Value* from = node.tensor(of_layer);
    if (from->type.shape != node.result()->type.shape) continue;
    const double alpha = multiplies ? 1 : node.number("alpha");
    if (alpha != 1 && of_layer == std::string_view("other")) continue;
    const std::optional<Layer> layer = layer_before(graph, from, &node);
    if (!layer) continue;
    const bool is_image = layer->node->op == ops::nodes::aten_conv2d;
    const auto numbers = per_channel(node.tensor(of_constant), layer->channels, is_image ? from->type.rank() - 2 : 0);
    if (!numbers) continue;
    ir::Node& to = *layer->node;
    std::vector<float> bias(layer->channels, 0.0F);
    if (to.has("bias")) {
      const auto old = to.tensor("bias")->data.as<float>();
      bias.assign(old.begin(), old.end());
    }
    const auto changed = [&](std::size_t c) {
      const double old = bias[c];
      return static_cast<float>(multiplies ? old * (*numbers)[c] : old + alpha * (*numbers)[c]);
    };
    for (std::size_t c = 0; c < bias.size(); ++c) bias[c] = changed(c);
    if (to.has("bias") || !multiplies) {
      to.set("bias", graph.add_constant(node.name + "_bias", ir::float_type({static_cast<std::int64_t>(bias.size())}),
                                        ir::Bytes::of(std::span<const float>(bias))));
    }
    if (multiplies) {
      const ir::Value* weight = to.tensor("weight");
      const auto old = weight->data.as<float>();
      std::vector<float> scaled(old.begin(), old.end());
      const std::size_t per = scaled.size() / layer->channels;
      for (std::size_t i = 0; i < scaled.size(); ++i) {
        scaled[i] = static_cast<float>(static_cast<double>(scaled[i]) * (*numbers)[i / per]);
      }
      to.set("weight",
             graph.add_constant(weight->name + "_scaled", weight->type, ir::Bytes::of(std::span<const float>(scaled))));
    }
    graph.replace_uses(node.result(), from);
    graph.erase(&node);
    return;
  }
}

}  // namespace

void fold_factors(ir::Graph& graph) {
  for (ir::Node* node : graph.snapshot()) {
    if (node->op == ops::nodes::aten_bmm) make_linear(graph, *node);
  }
  for (ir::Node* node : graph.snapshot()) {
    if (node->op == ops::nodes::aten_mul || node->op == ops::nodes::aten_add) fold(graph, *node);
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
