// SPDX-License-Identifier: Apache-2.0
//
// y = (conv(x) − mean) / sqrt(var + eps) · gamma + beta is a convolution again, with weights scaled per output channel.
// Done in double: the folded weights are what gets quantized, so they should have no rounding error of their own. Views
// and permutations may be between the two.
//
// The remaining ones (before a convolution, or after one that others read as well) are one factor and one term per
// channel: a depthwise 1 × 1 convolution, which is quantized per channel and has fast kernels.
#include <cmath>
#include <optional>

#include "ops/nodes.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

std::vector<double> channel_values(const ir::Value* value, std::size_t channels, double fallback) {
  if (value == nullptr) return std::vector<double>(channels, fallback);
  const auto data = value->data.as<float>();
  return {data.begin(), data.end()};
}

// Optional arguments are constant if present.
bool is_constant_or_absent(const ir::Value* value) { return value == nullptr || is_float_constant(value); }

}  // namespace

std::optional<Affine> affine_of(const ir::Node& norm) {
  for (const char* arg : {"weight", "bias", "running_mean", "running_var"}) {
    if (!is_constant_or_absent(norm.tensor(arg))) return std::nullopt;
  }
  if (!norm.has("running_mean") || !norm.has("running_var")) return std::nullopt;
  const auto channels = static_cast<std::size_t>(norm.tensor("running_mean")->type.elements());
  const auto gamma = channel_values(norm.tensor("weight"), channels, 1);
  const auto beta = channel_values(norm.tensor("bias"), channels, 0);
  const auto mean = channel_values(norm.tensor("running_mean"), channels, 0);
  const auto variance = channel_values(norm.tensor("running_var"), channels, 1);
  Affine affine{std::vector<double>(channels), std::vector<double>(channels)};
  for (std::size_t c = 0; c < channels; ++c) {
    affine.factor[c] = gamma[c] / std::sqrt(variance[c] + norm.number("eps"));
    affine.term[c] = beta[c] - mean[c] * affine.factor[c];
  }
  return affine;
}

namespace {

// ---- folding --------------------------------------------------------------------------------------------------------

// Producers that a batch norm folds into: where their result has its channels, and which axis of the weight they are.
struct Absorber {
  std::string_view op;
  bool channels_last;  // in the logical order; else dimension 1
  std::size_t weight_axis;
};
constexpr Absorber kAbsorbers[] = {
    {ops::nodes::aten_conv2d, false, 0},
    {ops::nodes::aten_linear, true, 0},
    {ops::nodes::aten_conv_transpose2d, false, 1},  // within a group
};

const Absorber* absorber_of(const ir::Node* node) {
  for (const Absorber& absorber : kAbsorbers) {
    if (node != nullptr && node->op == absorber.op) return &absorber;
  }
  return nullptr;
}

// The dimension of a view's or permutation's input that is dimension `dim` of its result, if there is one.
std::optional<std::size_t> dimension_before(const ir::Node& node, std::size_t dim) {
  const ir::Shape& in = node.tensor("self")->type.shape;
  const ir::Shape& out = node.result()->type.shape;
  if (node.op == ops::nodes::aten_permute) return static_cast<std::size_t>(node.integers("dims")[dim]);
  std::int64_t before = 1;
  for (std::size_t d = 0; d < dim; ++d) before *= out[d];
  std::int64_t passed = 1;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (passed == before && in[d] == out[dim]) return d;
    passed *= in[d];
  }
  return std::nullopt;
}

// The convolution or linear layer that computes what the batch norm reads, and nothing else.
ir::Node* producer_of(ir::Graph& graph, const ir::Node& norm) {
  ir::Value* value = norm.tensor("input");
  const ir::Node* reader = &norm;
  std::size_t channels = 1;
  while (value->producer != nullptr && graph.only_user(value) == reader) {
    ir::Node* producer = value->producer;
    if (const Absorber* absorber = absorber_of(producer); absorber != nullptr) {
      const std::size_t wanted = absorber->channels_last ? value->type.rank() - 1 : 1;
      return channels == wanted ? producer : nullptr;
    }
    if (producer->op != ops::nodes::aten_view && producer->op != ops::nodes::aten_permute) return nullptr;
    const auto before = dimension_before(*producer, channels);
    if (!before) return nullptr;
    channels = *before;
    reader = producer;
    value = producer->tensor("self");
  }
  return nullptr;
}

// The output channel that an element of a weight belongs to.
class ChannelOf {
 public:
  ChannelOf(const ir::Node& producer, const Absorber& absorber) {
    const ir::Shape& shape = producer.tensor("weight")->type.shape;
    for (std::size_t d = absorber.weight_axis + 1; d < shape.size(); ++d) inner_ *= static_cast<std::size_t>(shape[d]);
    size_ = static_cast<std::size_t>(shape[absorber.weight_axis]);
    if (absorber.weight_axis == 0) return;
    rows_ = static_cast<std::size_t>(shape[0] / producer.integer("groups"));
    grouped_ = true;
  }
  std::size_t operator()(std::size_t element) const {
    const std::size_t channel = element / inner_ % size_;
    return grouped_ ? element / (inner_ * size_) / rows_ * size_ + channel : channel;
  }

 private:
  std::size_t inner_ = 1, size_ = 1;
  std::size_t rows_ = 1;  // of the weight per group, where its first axis is the input's
  bool grouped_ = false;
};

bool takes_factors(const ir::Node& producer) {
  return !producer.has("activation_min") && !producer.has("activation_max") &&
         is_constant_or_absent(producer.tensor("weight")) && is_constant_or_absent(producer.tensor("bias"));
}

void fold(ir::Graph& graph, ir::Node& producer, ir::Node& norm, const Affine& affine) {
  const ir::Value* weight = producer.tensor("weight");
  const std::size_t channels = affine.factor.size();
  const auto old_bias = channel_values(producer.tensor("bias"), channels, 0);
  const auto old_weight = weight->data.as<float>();
  const ChannelOf channel_of(producer, *absorber_of(&producer));
  std::vector<float> new_weight(old_weight.size());
  for (std::size_t i = 0; i < new_weight.size(); ++i) {
    new_weight[i] = static_cast<float>(static_cast<double>(old_weight[i]) * affine.factor.at(channel_of(i)));
  }
  std::vector<float> new_bias(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    new_bias[c] = static_cast<float>(old_bias[c] * affine.factor[c] + affine.term[c]);
  }
  producer.set("weight", graph.add_constant(weight->name + "_folded", weight->type,
                                            ir::Bytes::of(std::span<const float>(new_weight))));
  producer.set("bias",
               graph.add_constant(producer.name + "_bias_folded", ir::float_type({static_cast<std::int64_t>(channels)}),
                                  ir::Bytes::of(std::span<const float>(new_bias))));
  graph.replace_uses(norm.result(), norm.tensor("input"));
  graph.erase(&norm);
}

// ---- what is left ---------------------------------------------------------------------------------------------------

bool is_dequantized(const ir::Value* value) {
  return value->producer != nullptr && ops::nodes::is_conversion(value->producer->op);
}

// As [N, C, H, W], of more dimensions all in between as H. Between the conversions of a quantized model there may be
// only one node.
std::optional<ir::Shape> image_of(const ir::Value* value) {
  ir::Shape shape = value->type.shape;
  if (shape.size() < 2 || (shape.size() != 4 && is_dequantized(value))) return std::nullopt;
  for (; shape.size() > 4; shape.erase(shape.begin() + 3)) shape[2] *= shape[3];
  while (shape.size() < 4) shape.insert(shape.begin() + 2, 1);
  return shape;
}

ir::Value* viewed(ir::Graph& graph, ir::Value* value, const ir::Shape& shape, ir::Node& norm) {
  if (value->type.shape == shape) return value;
  return graph
      .add_node(norm.name + "_view", ops::nodes::aten_view, {{"self", value}, {"size", shape}}, {ir::float_type(shape)},
                norm.location, &norm)
      ->result();
}

// A quantized model says how its activations are stored; a factor that it left in float is stored exactly.
ir::Value* exact_weight(ir::Graph& graph, const ir::Node& norm, const std::vector<double>& factors) {
  ir::QuantParams quant;
  quant.qmin = -127;
  quant.axis = 0;
  std::vector<std::int8_t> values;
  for (const double factor : factors) {
    quant.scales.push_back(factor == 0 ? 1.0 : std::abs(factor) / 127);
    quant.zero_points.push_back(0);
    values.push_back(static_cast<std::int8_t>(factor == 0 ? 0 : factor < 0 ? -127 : 127));
  }
  return graph.add_constant(norm.name + "_weight",
                            ir::quantized_type({static_cast<std::int64_t>(factors.size()), 1, 1, 1}, std::move(quant)),
                            ir::Bytes::of(std::span<const std::int8_t>(values)));
}

void make_convolution(ir::Graph& graph, ir::Node& norm, const Affine& affine) {
  ir::Value* input = norm.tensor("input");
  const std::optional<ir::Shape> image = image_of(input);
  if (!image) return;
  const auto channels = static_cast<std::int64_t>(affine.factor.size());
  const std::vector<float> factors(affine.factor.begin(), affine.factor.end());
  const std::vector<float> terms(affine.term.begin(), affine.term.end());
  const std::vector<std::int64_t> ones = {1, 1};
  ir::Value* weight = is_dequantized(input)
                          ? exact_weight(graph, norm, affine.factor)
                          : graph.add_constant(norm.name + "_weight", ir::float_type({channels, 1, 1, 1}),
                                               ir::Bytes::of(std::span<const float>(factors)));
  ir::Value* bias =
      graph.add_constant(norm.name + "_bias", ir::float_type({channels}), ir::Bytes::of(std::span<const float>(terms)));
  ir::Node* convolution = graph.add_node(norm.name, ops::nodes::aten_conv2d,
                                         {{"input", viewed(graph, input, *image, norm)},
                                          {"weight", weight},
                                          {"bias", bias},
                                          {"stride", ones},
                                          {"padding", std::vector<std::int64_t>{0, 0}},
                                          {"dilation", ones},
                                          {"groups", channels}},
                                         {ir::float_type(*image)}, norm.location, &norm);
  graph.replace_uses(norm.result(), viewed(graph, convolution->result(), norm.result()->type.shape, norm));
  graph.erase(&norm);
}

}  // namespace

void fold_batch_norm(ir::Graph& graph) {
  for (ir::Node* node : graph.snapshot()) {
    if (node->op != ops::nodes::aten_batch_norm) continue;
    const std::optional<Affine> affine = affine_of(*node);
    if (!affine) continue;
    ir::Node* producer = producer_of(graph, *node);
    if (producer != nullptr && takes_factors(*producer)) {
      fold(graph, *producer, *node, *affine);
    } else {
      make_convolution(graph, *node, *affine);
    }
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
