// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d/words_lower.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/diagnostic.h"
#include "ops/host/multiplier.h"
#include "ops/host/words.h"
#include "ops/nodes.h"

namespace cormorant::ops::conv2d::words {
namespace {

[[noreturn]] void fail(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

template <class T>
void put(std::vector<std::byte>& to, std::uint32_t at, T value) {
  std::memcpy(to.data() + at, &value, sizeof value);
}

std::vector<std::byte> pack(const Variant& variant, const Layer& layer) {
  const Stream layout(variant.layout, layer.geometry);
  std::vector<std::byte> stream(layout.bytes(), std::byte{0});
  for (std::uint32_t c = 0; c < layer.geometry.out_channels; ++c) {
    const Factor& factor = layer.factors[c];
    if (variant.layout == Layout::plain) {
      put(stream, layout.bias_index(c), layer.bias[c]);
    } else {
      put(stream, layout.bias_index(c), static_cast<std::int32_t>(layer.bias[c]));
    }
    put(stream, layout.factor_index(c), layout.has_shifts() ? factor.multiplier : factor.high());
    if (layout.has_shifts()) put(stream, layout.factor_index(c) + 4, factor.shift);
    for (std::uint32_t k = 0; k < layout.padded_patch(); ++k) {
      const std::int32_t weight = k < layer.window ? layer.weight(c, k) : 0;
      put(stream, layout.weight_index(c, k), static_cast<std::uint8_t>(weight + layout.weight_offset()));
    }
  }
  Header header = layer.header;
  header.geometry = layer.geometry;
  header.stream_bytes = static_cast<std::uint32_t>(stream.size());
  std::vector<std::byte> bytes(sizeof header + stream.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  std::copy(stream.begin(), stream.end(), bytes.begin() + sizeof header);
  return bytes;
}

// A pad before the convolution that its own padding can replace; its lists are in memory order, N H W C.
const ir::Node* absorbable_pad(const Rewriter& rewriter) {
  ir::Value* input = rewriter.node.tensor("input");
  const ir::Node* pad = input->producer;
  if (pad == nullptr || pad->op != nodes::cormorant_pad_words || rewriter.graph.only_user(input) != &rewriter.node)
    return nullptr;
  const auto& pre = pad->integers("pre_pad");
  const auto& post = pad->integers("post_pad");
  const bool only_pixels = pre[0] == 0 && pre[3] == 0 && post[0] == 0 && post[3] == 0;
  return only_pixels && pad->integer("pad_value") == 0 ? pad : nullptr;
}

}  // namespace

bool Layer::is_fast() const {
  for (std::uint32_t c = 0; c < geometry.out_channels; ++c) {
    std::int64_t magnitude = std::abs(bias[c]);
    for (std::uint32_t k = 0; k < window; ++k) magnitude += std::int64_t{32768} * std::abs(weight(c, k));
    if (magnitude > 0x7fffffff || !factors[c].is_fast()) return false;
  }
  return true;
}

Layer constants_of(const Rewriter& rewriter, std::int64_t channels) {
  const ir::Node& node = rewriter.node;
  require_words(rewriter, {"input"});
  const ir::QuantParams& in = *node.tensor("input")->type.quant;
  const ir::QuantParams& out = *node.result()->type.quant;
  const auto& quantized = node.tensor("weight")->type.quant;
  const bool is_symmetric = quantized && quantized->dtype == DType::i8 &&
                            std::ranges::all_of(quantized->zero_points, [](std::int32_t zero) { return zero == 0; });
  if (!is_symmetric) {
    fail(node, "the weights are not int8 with a zero point of 0", "quantize them symmetrically to int8");
  }
  const ir::QuantParams& weights = *quantized;
  if (weights.per_channel() && weights.axis != 0) {
    fail(node, "the weights are quantized per channel along dimension " + std::to_string(*weights.axis),
         "quantize them along dimension 0, the output channels");
  }
  Layer layer;
  layer.input = node.tensor("input");
  const ir::Value* bias = node.tensor("bias");
  if (bias != nullptr && bias->type.dtype != DType::i32) fail(node, "the bias is not quantized to int32", "");
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const double scale = weights.scales[weights.per_channel() ? c : 0];
    Multiplier factor = quantize_multiplier(in.scale() * scale / out.scale());
    if (factor.multiplier == 0) factor = {0, -1};
    layer.factors.push_back(factor_of(factor));
    if (layer.factors.back().shift < 1) {
      fail(node, "the scale of the result is too small for its input's and weights'",
           "calibrate with representative data");
    }
    layer.bias.push_back(bias == nullptr ? 0 : bias->data.as<std::int32_t>()[c]);
  }
  const auto bound = [&](const char* argument, std::int32_t otherwise) {
    if (!node.has(argument)) return static_cast<std::int16_t>(otherwise);
    return static_cast<std::int16_t>(quantize_value(node.number(argument), out.scale(), 0, out.qmin, out.qmax));
  };
  layer.header.activation_min = bound("activation_min", out.qmin);
  layer.header.activation_max = bound("activation_max", out.qmax);
  return layer;
}

std::vector<std::int8_t> windows_of(const ir::Value& oihw) {
  const ir::Shape& shape = oihw.type.shape;
  const auto from = oihw.data.as<std::int8_t>();
  std::vector<std::int8_t> windows(from.size());
  const auto inputs = static_cast<std::size_t>(shape[1]), taps = static_cast<std::size_t>(shape[2] * shape[3]);
  // Memory order may be another than the logical one.
  std::vector<std::size_t> strides(4, 1);
  std::size_t stride = 1;
  for (std::size_t i = 4; i-- > 0;) {
    const std::size_t dim = oihw.type.dim_order.empty() ? i : oihw.type.dim_order[i];
    strides[dim] = stride;
    stride *= static_cast<std::size_t>(shape[dim]);
  }
  std::size_t at = 0;
  for (std::size_t o = 0; o < static_cast<std::size_t>(shape[0]); ++o) {
    for (std::size_t tap = 0; tap < taps; ++tap) {
      const std::size_t y = tap / static_cast<std::size_t>(shape[3]), x = tap % static_cast<std::size_t>(shape[3]);
      for (std::size_t i = 0; i < inputs; ++i) {
        windows[at++] = from[o * strides[0] + i * strides[1] + y * strides[2] + x * strides[3]];
      }
    }
  }
  return windows;
}

ir::Value* emit(const Rewriter& rewriter, Layer layer, ir::TensorType result, const Variant* forced) {
  if (!is_computable(layer.geometry)) {
    fail(rewriter.node, "one of this layer's dimensions is too large for the int16 kernels", "keep it in float");
  }
  const Target& target = rewriter.config.target;
  const Variant* variant = forced != nullptr                     ? forced
                           : target.is_any() || !layer.is_fast() ? &kPlain
                                                                 : &fast_variant(target);
  if (!scratch_bytes(variant->layout, layer.geometry).fits()) variant = &kPlain;
  const std::uint32_t scratch = scratch_bytes(variant->layout, layer.geometry).value();
  return rewriter
      .emit(PackedConv2d<HostWorld>{.input = layer.input,
                                    .packed = packed_constant(rewriter, pack(*variant, layer)),
                                    .scratch = {.bytes = scratch}},
            std::move(result), variant->name)
      ->result();
}

Layer layer_of(const Rewriter& rewriter, std::vector<std::int8_t>& windows) {
  const ir::Node& node = rewriter.node;
  const ir::Value& weight = *node.tensor("weight");
  const ir::Shape& oihw = weight.type.shape;
  Layer layer = constants_of(rewriter, oihw[0]);
  std::vector<std::int64_t> top_left = node.integers("padding");
  if (const ir::Node* pad = absorbable_pad(rewriter); pad != nullptr) {
    layer.input = pad->tensor("input");
    top_left[0] += pad->integers("pre_pad")[1];
    top_left[1] += pad->integers("pre_pad")[2];
  }
  const auto geometry = geometry_of(layer.input->type.shape, node.result()->type.shape, {oihw[2], oihw[3]},
                                    node.integers("stride"), node.integers("dilation"), top_left);
  if (!geometry) fail(node, "one of this convolution's dimensions is too large for the kernels", "keep it in float");
  layer.geometry = *geometry;
  const auto groups = static_cast<std::uint32_t>(node.integer("groups"));
  layer.geometry.groups = static_cast<std::uint16_t>(groups);
  layer.geometry.inputs_per_group = static_cast<std::uint16_t>(layer.geometry.in_channels / groups);
  layer.geometry.outputs_per_group = static_cast<std::uint16_t>(layer.geometry.out_channels / groups);
  windows = windows_of(weight);
  layer.window = static_cast<std::uint32_t>(oihw[1] * oihw[2] * oihw[3]);
  layer.weight = [&windows, window = layer.window](std::uint32_t c, std::uint32_t k) -> std::int32_t {
    return windows[std::size_t{c} * window + k];
  };
  return layer;
}

ir::Value* lower(const Rewriter& rewriter) {
  std::vector<std::int8_t> windows;
  Layer layer = layer_of(rewriter, windows);
  return emit(rewriter, std::move(layer), rewriter.node.result()->type);
}

}  // namespace cormorant::ops::conv2d::words
