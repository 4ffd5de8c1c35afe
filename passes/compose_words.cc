// SPDX-License-Identifier: Apache-2.0
//
// Operators without kernels for 16-bit activations are composed of those that have them: with 16 bits an extra rounding
// does not matter. A transposed convolution is one convolution whose channels are shuffled to pixels, a PReLU with
// slopes per channel the sum of the positive part and of the negative part times the slope.
#include <algorithm>
#include <cmath>

#include "evaluate/tensor.h"
#include "ops/nodes.h"
#include "ops/transpose_conv2d/subpixel.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

using Arguments = std::vector<ir::NamedArgument>;

bool has_words(const ir::Node& node) {
  const auto& quant = node.result()->type.quant;
  return quant && quant->dtype == DType::i16;
}

// Adds nodes before the one that they replace.
struct Writer {
  ir::Graph& graph;
  ir::Node& node;

  ir::Value* add(const std::string& suffix, const char* op, Arguments args, ir::TensorType type) const {
    return graph.add_node(node.name + suffix, op, std::move(args), {std::move(type)}, node.location, &node)->result();
  }
  // In the result's parameters.
  [[nodiscard]] ir::TensorType result_as(ir::Shape shape) const {
    return ir::quantized_type(std::move(shape), *node.result()->type.quant);
  }
  void copy_activation(Arguments& to) const {
    for (const char* bound : {"activation_min", "activation_max"}) {
      if (node.has(bound)) to.push_back({bound, node.get(bound)});
    }
  }
};

// One number per output channel becomes one per row and column of a stride, too.
template <class T>
std::vector<T> repeated(std::vector<T> from, std::int64_t times) {
  std::vector<T> all;
  for (std::int64_t k = 0; k < times; ++k) all.insert(all.end(), from.begin(), from.end());
  return all;
}

ir::QuantParams repeated(ir::QuantParams quant, std::int64_t times) {
  if (!quant.per_channel()) return quant;
  quant.axis = 0;
  quant.scales = repeated(quant.scales, times);
  quant.zero_points = repeated(quant.zero_points, times);
  return quant;
}

// [inputs, outputs, height, width] to [stride · stride · outputs, inputs, taps, taps], turned around.
ir::Value* convolution_weights(const Writer& writer, const ops::transpose_conv2d::Subpixel& by) {
  const ir::Value& old = *writer.node.tensor("weight");
  const ir::Shape& shape = old.type.shape;
  const auto from = old.data.as<std::int8_t>();
  const auto& [y, x] = by;
  const ir::Shape to = {y.stride * x.stride * shape[1], shape[0], y.taps, x.taps};
  std::vector<std::int8_t> weights;
  for (std::int64_t channel = 0; channel < to[0]; ++channel) {
    const std::int64_t o = channel % shape[1], rx = channel / shape[1] % x.stride, ry = channel / shape[1] / x.stride;
    for (std::int64_t i = 0; i < to[1]; ++i) {
      for (std::int64_t v = 0; v < y.taps; ++v) {
        for (std::int64_t u = 0; u < x.taps; ++u) {
          const std::int64_t row = ry + y.stride * (y.taps - 1 - v), column = rx + x.stride * (x.taps - 1 - u);
          const bool is_tap = row < shape[2] && column < shape[3];
          const std::int64_t at = ((i * shape[1] + o) * shape[2] + row) * shape[3] + column;
          weights.push_back(is_tap ? from[static_cast<std::size_t>(at)] : std::int8_t{0});
        }
      }
    }
  }
  return writer.graph.add_constant(old.name + "_subpixel",
                                   ir::quantized_type(to, repeated(*old.type.quant, y.stride * x.stride)),
                                   ir::Bytes::of(std::span<const std::int8_t>(weights)));
}

ir::Value* convolution_bias(const Writer& writer, std::int64_t times) {
  if (!writer.node.has("bias")) return nullptr;
  const ir::Value& old = *writer.node.tensor("bias");
  const auto from = old.data.as<std::int32_t>();
  const std::vector<std::int32_t> all = repeated(std::vector<std::int32_t>(from.begin(), from.end()), times);
  return writer.graph.add_constant(
      old.name + "_subpixel",
      ir::quantized_type({static_cast<std::int64_t>(all.size())}, repeated(*old.type.quant, times)),
      ir::Bytes::of(std::span<const std::int32_t>(all)));
}

ir::Value* transposed_convolution(const Writer& writer) {
  const ir::Node& node = writer.node;
  const auto by = ops::transpose_conv2d::subpixel_of(node);
  if (!by) return nullptr;
  const auto& [y, x] = *by;
  const ir::Shape& out = node.result()->type.shape;
  const std::int64_t pixels = y.stride * x.stride;
  Arguments args = {{"input", node.tensor("input")},
                    {"weight", convolution_weights(writer, *by)},
                    {"bias", convolution_bias(writer, pixels)},
                    {"stride", std::vector<std::int64_t>{1, 1}},
                    {"padding", std::vector<std::int64_t>{y.padding, x.padding}},
                    {"dilation", std::vector<std::int64_t>{1, 1}},
                    {"groups", std::int64_t{1}}};
  writer.copy_activation(args);
  ir::Value* value = writer.add("", ops::nodes::aten_conv2d, std::move(args),
                                writer.result_as({out[0], pixels * out[1], y.count, x.count}));
  const auto view = [&](const char* suffix, const ir::Shape& shape) {
    value = writer.add(suffix, ops::nodes::aten_view, {{"self", value}, {"size", shape}}, writer.result_as(shape));
  };
  if (pixels != 1) {
    view("_pixels", {out[0], y.stride, x.stride, out[1], y.count, x.count});
    value = writer.add("_shuffled", ops::nodes::aten_permute,
                       {{"self", value}, {"dims", std::vector<std::int64_t>{0, 3, 4, 1, 5, 2}}},
                       writer.result_as({out[0], out[1], y.count, y.stride, x.count, x.stride}));
    view("_image", {out[0], out[1], y.count * y.stride, x.count * x.stride});
  }
  for (const std::int64_t dim : {2, 3}) {
    const auto& axis = dim == 2 ? y : x;
    ir::Shape shape = value->type.shape;
    std::int64_t& size = shape[static_cast<std::size_t>(dim)];
    const std::int64_t wanted = out[static_cast<std::size_t>(dim)];
    if (size == wanted) continue;
    size = wanted;
    value = writer.add(
        dim == 2 ? "_rows" : "_columns", ops::nodes::aten_slice,
        {{"self", value}, {"dim", dim}, {"start", axis.cut}, {"end", axis.cut + wanted}, {"step", std::int64_t{1}}},
        writer.result_as(shape));
  }
  return value;
}

ir::Value* slopes_of(const Writer& writer) {
  const ir::Value& old = *writer.node.tensor("weight");
  const evaluate::Tensor slopes = evaluate::constant_tensor(old);
  double largest = 0;
  for (const float slope : slopes.values()) largest = std::max(largest, std::abs(static_cast<double>(slope)));
  constexpr double kLast = 32767;
  const double scale = static_cast<float>(largest > 0 ? largest / kLast : 1);
  std::vector<std::int16_t> words;
  for (const float slope : slopes.values()) {
    const double level = std::round(static_cast<double>(slope) / scale);
    words.push_back(static_cast<std::int16_t>(std::clamp(level, -kLast, kLast)));
  }
  ir::Shape shape(writer.node.result()->type.rank(), 1);
  if (shape.size() >= 2) shape[1] = static_cast<std::int64_t>(words.size());
  ir::QuantParams quant = ir::per_tensor_i8(scale, 0);
  quant.dtype = DType::i16;
  quant.qmin = -32768;
  quant.qmax = 32767;
  return writer.graph.add_constant(old.name + "_words", ir::quantized_type(shape, quant),
                                   ir::Bytes::of(std::span<const std::int16_t>(words)));
}

ir::Value* prelu(const Writer& writer) {
  const ir::Node& node = writer.node;
  ir::Value* self = node.tensor("self");
  if (node.tensor("weight")->kind != ir::ValueKind::constant || !self->type.quant) return nullptr;
  const auto part = [&](const char* suffix, ir::Argument min, ir::Argument max) {
    return writer.add(suffix, ops::nodes::aten_clamp,
                      {{"self", self}, {"min", std::move(min)}, {"max", std::move(max)}}, self->type);
  };
  ir::Value* above = part("_above", 0.0, {});
  ir::Value* below = part("_below", {}, 0.0);
  ir::Value* sloped =
      writer.add("_sloped", ops::nodes::aten_mul, {{"self", below}, {"other", slopes_of(writer)}}, node.result()->type);
  Arguments args = {{"self", above}, {"other", sloped}, {"alpha", 1.0}};
  writer.copy_activation(args);
  return writer.add("", ops::nodes::aten_add, std::move(args), node.result()->type);
}

}  // namespace

void compose_words(ir::Graph& graph) {
  for (ir::Node* node : graph.snapshot()) {
    if (!has_words(*node)) continue;
    const Writer writer{graph, *node};
    ir::Value* made = node->op == ops::nodes::aten_conv_transpose2d ? transposed_convolution(writer)
                      : node->op == ops::nodes::aten_prelu          ? prelu(writer)
                                                                    : nullptr;
    if (made == nullptr) continue;
    graph.replace_uses(node->result(), made);
    graph.erase(node);
  }
}

}  // namespace cormorant::passes
