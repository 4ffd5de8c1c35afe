// SPDX-License-Identifier: Apache-2.0
#include "quantizer/equalize.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "evaluate/tensor.h"
#include "ops/nodes.h"

namespace cormorant::quantizer {
namespace {

// Factors below this are not worth it: equal weights' ranges do not mean equal activations.
constexpr double kOutlier = 8;

// Training can shrink a channel's weights to 1e-20, where they no longer matter. The product of two layers' weights for
// a channel, which equalizing does not change, decides: channels with less than this share of the largest are dead.
// They say nothing about the usual size, and nothing is gained by scaling them.
constexpr double kAlive = 1e-4;

bool is_float_constant(const ir::Node& node, std::string_view argument) {
  const ir::Value* value = node.has(argument) ? node.tensor(argument) : nullptr;
  return value != nullptr && value->kind == ir::ValueKind::constant && value->type.dtype == DType::f32;
}

// aten.conv2d and aten.linear: output channels along the weight's first axis.
bool is_layer(const ir::Node& node) {
  return (node.op == ops::nodes::aten_conv2d || node.op == ops::nodes::aten_linear) &&
         is_float_constant(node, "weight") && (!node.has("bias") || is_float_constant(node, "bias"));
}

// f(a·x) = a·f(x) for a > 0: no clamp, or one at 0 alone.
bool scales_through(const ir::Node& node) {
  const auto is_harmless = [&](std::string_view end) { return !node.has(end) || node.number(end) == 0; };
  return is_harmless("activation_min") && is_harmless("activation_max");
}

bool passes_channels_on(const ir::Node& node) {
  // A relu that was not fused into the layer before it, because its result is read elsewhere or changed on the way.
  const bool is_relu =
      node.op == ops::nodes::aten_clamp && node.has("min") && node.number("min") == 0 && !node.has("max");
  return is_relu ||
         ((node.op == ops::nodes::aten_max_pool2d || node.op == ops::nodes::aten_avg_pool2d) && scales_through(node));
}

// The elements of a weight that belong to one channel of the layer's operand.
struct InputChannels {
  std::size_t outputs, per_output, elements;  // weight as [outputs, per_output, elements]
  std::size_t groups;

  explicit InputChannels(const ir::Node& node, std::size_t channels) {
    const ir::Shape& shape = node.tensor("weight")->type.shape;
    groups = node.op == ops::nodes::aten_conv2d ? static_cast<std::size_t>(node.integer("groups")) : 1;
    outputs = static_cast<std::size_t>(shape[0]);
    const auto all = static_cast<std::size_t>(node.tensor("weight")->type.elements());
    per_output = channels / groups;  // after a view, one channel is several features of a linear layer
    elements = all / (outputs * per_output);
  }
  template <class Visit>
  void visit(std::size_t channel, Visit f) const {
    const std::size_t group = channel / per_output, outputs_of_group = outputs / groups;
    for (std::size_t o = group * outputs_of_group; o < (group + 1) * outputs_of_group; ++o) {
      const std::size_t first = (o * per_output + channel % per_output) * elements;
      for (std::size_t k = first; k < first + elements; ++k) f(k);
    }
  }
};

// The next layer, if every use of the first one's result leads to it.
ir::Node* next_layer(ir::Graph& graph, const ir::Node& first) {
  ir::Node* node = graph.only_user(first.result());
  while (node != nullptr && (passes_channels_on(*node) || node->op == ops::nodes::aten_view)) {
    if (node->op == ops::nodes::aten_view) {
      // [1, C, H, W] as [1, C·H·W] for a linear layer: features of a channel stay together.
      const ir::Shape &from = node->tensor(node->args.at(0).name)->type.shape, &to = node->result()->type.shape;
      if (from[0] != 1 || to.size() != 2 || to[0] != 1) return nullptr;
    }
    node = graph.only_user(node->result());
  }
  if (node == nullptr || !is_layer(*node)) return nullptr;
  const bool from_convolution = first.op == ops::nodes::aten_conv2d,
             to_convolution = node->op == ops::nodes::aten_conv2d;
  if (!from_convolution && to_convolution) return nullptr;
  return node;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::vector<float> floats_of(const ir::Value& value) {
  const evaluate::Tensor tensor = evaluate::constant_tensor(value);
  return {tensor.values().begin(), tensor.values().end()};
}

void replace(ir::Graph& graph, ir::Node& node, std::string_view argument, const std::vector<float>& values) {
  const ir::Value* old = node.tensor(argument);
  ir::TensorType type = ir::float_type(old->type.shape);
  node.set(argument, graph.add_constant(old->name, std::move(type), ir::Bytes::of(std::span<const float>(values))));
}

// How many times too large each channel is, as a power of two; 1 for all but outliers.
std::vector<double> factors(const std::vector<double>& made, const std::vector<double>& used) {
  double most = 0;
  for (std::size_t c = 0; c < made.size(); ++c) most = std::max(most, made[c] * used[c]);
  const auto is_alive = [&](std::size_t c) { return made[c] * used[c] > kAlive * most; };
  std::vector<double> alive_made, alive_used;
  for (std::size_t c = 0; c < made.size(); ++c) {
    if (!is_alive(c)) continue;
    alive_made.push_back(made[c]);
    alive_used.push_back(used[c]);
  }
  std::vector<double> result(made.size(), 1.0);
  if (alive_made.empty()) return result;
  const double usual_made = median(std::move(alive_made)), usual_used = median(std::move(alive_used));
  for (std::size_t c = 0; c < made.size(); ++c) {
    if (!is_alive(c)) continue;
    const double factor = std::sqrt((made[c] / usual_made) / (used[c] / usual_used));
    const bool is_outlier = made[c] / usual_made > kOutlier && factor > kOutlier;
    if (is_outlier) result[c] = std::exp2(std::round(std::log2(factor)));
  }
  return result;
}

std::optional<EqualizedLayer> equalize_pair(ir::Graph& graph, ir::Node& first, ir::Node& second) {
  std::vector<float> weight = floats_of(*first.tensor("weight")), next = floats_of(*second.tensor("weight"));
  const auto channels = static_cast<std::size_t>(first.tensor("weight")->type.shape[0]);
  const std::size_t row = weight.size() / channels;
  const InputChannels inputs(second, channels);
  std::vector<float> bias;
  if (first.has("bias")) bias = floats_of(*first.tensor("bias"));
  std::vector<double> made(channels, 0.0), used(channels, 0.0);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto larger = [](double a, float b) { return std::max(a, static_cast<double>(std::abs(b))); };
    for (std::size_t k = c * row; k < (c + 1) * row; ++k) made[c] = larger(made[c], weight[k]);
    inputs.visit(c, [&](std::size_t k) { used[c] = larger(used[c], next[k]); });
  }
  const std::vector<double> factor = factors(made, used);
  EqualizedLayer done{first.name, first.location.text(), second.name};
  for (std::size_t c = 0; c < channels; ++c) {
    if (factor[c] == 1) continue;
    ++done.channels;
    done.largest_factor = std::max(done.largest_factor, factor[c]);
    const auto by = static_cast<float>(factor[c]);
    for (std::size_t k = c * row; k < (c + 1) * row; ++k) weight[k] /= by;
    if (!bias.empty()) bias[c] /= by;
    inputs.visit(c, [&](std::size_t k) { next[k] *= by; });
  }
  if (done.channels == 0) return std::nullopt;
  replace(graph, first, "weight", weight);
  replace(graph, second, "weight", next);
  if (!bias.empty()) replace(graph, first, "bias", bias);
  return done;
}

}  // namespace

std::vector<EqualizedLayer> equalize(ir::Graph& graph, const std::vector<LayerSettings>& settings) {
  const auto is_allowed = [&](const ir::Node& node) {
    return settings_for(settings, node.location.module).equalize.value_or(true);
  };
  std::vector<EqualizedLayer> all;
  for (ir::Node* node : graph.snapshot()) {
    if (!is_layer(*node) || !scales_through(*node)) continue;
    ir::Node* next = next_layer(graph, *node);
    if (next == nullptr || !is_allowed(*node) || !is_allowed(*next)) continue;
    if (std::optional<EqualizedLayer> done = equalize_pair(graph, *node, *next)) all.push_back(std::move(*done));
  }
  graph.erase_unused();
  std::ranges::sort(all, [](const EqualizedLayer& a, const EqualizedLayer& b) {
    return a.largest_factor != b.largest_factor ? a.largest_factor > b.largest_factor : a.node < b.node;
  });
  return all;
}

}  // namespace cormorant::quantizer
