// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d/convolution.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/checked64.h"
#include "base/diagnostic.h"
#include "evaluate/onednn.h"
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/import.h"
#include "ops/host/advice.h"
#include "ops/host/multiplier.h"

namespace cormorant::ops::conv2d {
namespace {

[[noreturn]] void fail(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

// Lowering is asked of quantized nodes only.
const ir::QuantParams& quant_of(const ir::Value& value) {
  if (!value.type.quant.has_value())
    throw std::logic_error("lowering a convolution whose '" + value.name + "' is in float");
  return *value.type.quant;
}

// A constant's elements in logical order, whatever the memory order.
template <class T>
std::vector<T> logical_elements(const ir::Value& value) {
  const auto data = value.data.as<T>();
  const ir::Shape& shape = value.type.shape;
  if (value.type.dim_order.empty()) return {data.begin(), data.end()};
  std::vector<std::int64_t> strides(shape.size(), 1);
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[value.type.dim_order[i]] = stride;
    stride *= shape[value.type.dim_order[i]];
  }
  std::vector<T> elements;
  elements.reserve(data.size());
  ir::Shape at(shape.size(), 0);
  for (std::size_t n = 0; n < data.size(); ++n) {
    std::int64_t from = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) from += at[i] * strides[i];
    elements.push_back(data[static_cast<std::size_t>(from)]);
    for (std::size_t i = shape.size(); i > 0; --i) {  // the next place, the last dimension first
      if (++at[i - 1] < shape[i - 1]) break;
      at[i - 1] = 0;
    }
  }
  return elements;
}

}  // namespace

std::optional<conv::Geometry> geometry_of(const ir::Shape& in, const ir::Shape& out, const ir::Shape& kernel,
                                          const std::vector<std::int64_t>& stride,
                                          const std::vector<std::int64_t>& dilation,
                                          const std::vector<std::int64_t>& top_left) {
  for (const auto* numbers : {&in, &out, &kernel, &stride, &dilation, &top_left}) {
    if (std::any_of(numbers->begin(), numbers->end(), [](std::int64_t n) { return n < 0 || n > 0xffff; })) return {};
  }
  const auto u16 = [](std::int64_t n) { return static_cast<std::uint16_t>(n); };
  const conv::Geometry geometry = {.batch = u16(in[0]),
                                   .in_height = u16(in[2]),
                                   .in_width = u16(in[3]),
                                   .in_channels = u16(in[1]),
                                   .out_height = u16(out[2]),
                                   .out_width = u16(out[3]),
                                   .out_channels = u16(out[1]),
                                   .kernel_height = u16(kernel[0]),
                                   .kernel_width = u16(kernel[1]),
                                   .stride_height = u16(stride[0]),
                                   .stride_width = u16(stride[1]),
                                   .dilation_height = u16(dilation[0]),
                                   .dilation_width = u16(dilation[1]),
                                   .pad_top = u16(top_left[0]),
                                   .pad_left = u16(top_left[1]),
                                   .outputs_per_group = u16(in[1] == 0 ? 0 : out[1] / in[1])};
  if (!conv::is_sound(geometry)) return {};
  return geometry;
}

bool is_depthwise(const ir::Node& node) {
  const std::int64_t groups = node.integer("groups");
  return groups > 1 && node.tensor("input")->type.rank() == 4 && groups == node.tensor("input")->type.shape[1];
}

std::vector<ir::TensorType> infer_convolution(const ir::Node& node) {
  const ir::Shape& in = node.tensor("input")->type.shape;
  const ir::Shape& weight = node.tensor("weight")->type.shape;
  const auto& stride = node.integers("stride");
  const auto& padding = node.integers("padding");
  const auto& dilation = node.integers("dilation");
  const std::int64_t groups = node.integer("groups");
  if (in.size() != 4 || weight.size() != 4) {
    fail(node,
         "a 2-D convolution of " + text(in) + " with weights " + text(weight) + " needs four dimensions on both sides",
         "give the input a batch dimension");
  }
  if (groups < 1 || (Checked64(weight[1]) * groups).get() != in[1] || weight[0] % groups != 0) {
    fail(node,
         "input " + text(in) + " does not fit weights " + text(weight) + " in " + std::to_string(groups) + " groups",
         "weights are [outputs, inputs / groups, height, width]");
  }
  if (const ir::Value* bias = node.tensor("bias"); bias != nullptr && bias->type.shape != ir::Shape{weight[0]}) {
    fail(node, "the bias does not have one entry per output", kInconsistent);
  }
  ir::Shape out = {in[0], weight[0], 0, 0};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t before = padding.at(i), after = padding.size() == 4 ? padding[2 + i] : before;
    if (stride[i] < 1 || dilation[i] < 1 || before < 0 || after < 0) {
      fail(node, "stride and dilation must be positive, padding not negative", "");
    }
    if (weight[2 + i] < 1) fail(node, "the kernel of weights " + text(weight) + " is empty", "");
    const Checked64 room = Checked64(before) + after + in[2 + i] - Checked64(dilation[i]) * (weight[2 + i] - 1) - 1;
    if (!room.is_within(0, std::numeric_limits<std::int64_t>::max() - 1)) {
      fail(node, "the kernel of weights " + text(weight) + " is larger than the padded input " + text(in), "");
    }
    out[2 + i] = *room.get() / stride[i] + 1;
  }
  return {ir::float_type(std::move(out))};
}

std::vector<evaluate::Tensor> evaluate_convolution(const ir::Node& node, const evaluate::Frame& frame) {
  const ir::Value* bias = node.tensor("bias");
  evaluate::Tensor out = evaluate::convolution(
      frame.get(node.tensor("input")), frame.get(node.tensor("weight")), bias == nullptr ? nullptr : &frame.get(bias),
      {node.integers("stride"), node.integers("padding"), node.integers("dilation"), node.integer("groups")});
  return {evaluate::with_activation(node, std::move(out))};
}

QuantRule quantize_convolution(const ir::Node& node) {
  if (node.tensor("weight")->kind != ir::ValueKind::constant) {
    return {.output = QuantRule::Reject{"its weights are computed by the model, not constant"}, .weights = {}};
  }
  if (node.tensor("bias") != nullptr && node.tensor("bias")->kind != ir::ValueKind::constant) {
    return {.output = QuantRule::Reject{"its bias is computed by the model, not constant"}, .weights = {}};
  }
  const ir::Shape& out = node.result()->type.shape;
  const ir::Shape& weight = node.tensor("weight")->type.shape;
  if (!geometry_of(node.tensor("input")->type.shape, out, {weight[2], weight[3]}, node.integers("stride"),
                   node.integers("dilation"), node.integers("padding"))) {
    return {.output = QuantRule::Reject{"one of its dimensions is too large for the int8 kernels"}, .weights = {}};
  }
  QuantRule rule;
  // With groups only depthwise convolutions have kernels for 4-bit weights.
  const bool has_nibbles = node.integer("groups") == 1 || is_depthwise(node);
  rule.precisions = has_nibbles ? precisions::w8a8_w8a16_w4a8() : precisions::w8a8_w8a16();
  if (node.has("activation_slopes")) rule.precisions = precisions::w8a8();
  rule.weights.push_back({.argument = "weight", .axis = 0, .is_bias = false});
  if (node.has("bias")) rule.weights.push_back({.argument = "bias", .axis = 0, .is_bias = true});
  return rule;
}

std::int64_t count_macs(const ir::Node& node) {
  const std::int64_t outputs = node.result()->type.elements();
  if (node.op.starts_with("cormorant.")) {
    const conv::Header header = node.tensor("packed")->data.as<conv::Header>()[0];
    const bool depthwise = node.op.starts_with("cormorant.depthwise");
    return outputs * static_cast<std::int64_t>(depthwise ? header.geometry.taps() : header.geometry.patch());
  }
  return outputs * node.tensor("weight")->type.elements() / node.result()->type.shape.at(1);
}

namespace {

std::vector<double> slopes_of(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  if (!node.has("activation_slopes")) return {};
  if (rewriter.config.runtime != Runtime::cormorant || rewriter.config.target.is_any()) {
    fail(node, "a convolution with slopes has no operator in ExecuTorch",
         "compile the model, not a text of a later stage");
  }
  return std::get<std::vector<double>>(node.get("activation_slopes"));
}

}  // namespace

Lowered lower_constants(const Rewriter& rewriter, std::int32_t axis, std::int64_t channels) {
  const ir::Node& node = rewriter.node;
  const ir::Value& weight = *node.tensor("weight");
  const ir::QuantParams& in = quant_of(*node.tensor("input"));
  const ir::QuantParams& out = quant_of(*node.result());
  const ir::QuantParams& scales = quant_of(weight);
  if (in.dtype != DType::i8 || out.dtype != DType::i8 || scales.dtype != DType::i8) {
    fail(node, "this convolution is not quantized to int8", "quantize activations and weights to int8");
  }
  if (std::any_of(scales.zero_points.begin(), scales.zero_points.end(), [](std::int32_t z) { return z != 0; })) {
    fail(node, "the weights' zero point is not 0", "quantize the weights symmetrically");
  }
  if (scales.per_channel() && scales.axis != axis) {
    fail(node, "the weights are quantized per channel along dimension " + std::to_string(*scales.axis),
         "quantize them along dimension " + std::to_string(axis) + ", the output channels");
  }
  Lowered lowered;
  lowered.weights = logical_elements<std::int8_t>(weight);
  lowered.weight_shape = weight.type.shape;
  std::vector<std::int32_t> multipliers;
  std::vector<std::int32_t> negative_multipliers;
  std::vector<std::int32_t> shifts;
  const std::vector<double> slopes = slopes_of(rewriter);
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const double scale = scales.per_channel() ? scales.scales.at(c % scales.scales.size()) : scales.scale();
    const double factor = in.scale() * scale / out.scale();
    const double slope = slopes.empty() ? 1 : slopes.at(c % slopes.size());
    const SignedMultipliers m = multipliers_by_sign(factor, factor * slope);
    if (m.shift > 30) {
      fail(node, "the output's scale is too small for its operands' scales", "calibrate with representative data");
    }
    multipliers.push_back(m.positive);
    if (!slopes.empty()) negative_multipliers.push_back(m.negative);
    shifts.push_back(m.shift);
  }
  const ir::TensorType per_channel = {.dtype = DType::i32, .shape = {channels}, .dim_order = {}, .quant = {}};
  ir::TensorType rows = per_channel;
  if (!slopes.empty()) rows.shape = {2, channels};
  multipliers.insert(multipliers.end(), negative_multipliers.begin(), negative_multipliers.end());
  lowered.multipliers = rewriter.constant<std::int32_t>("multipliers", rows, multipliers);
  lowered.shifts = rewriter.constant<std::int32_t>("shifts", per_channel, shifts);
  if (ir::Value* bias = node.tensor("bias"); bias != nullptr) {
    if (bias->type.dtype != DType::i32) fail(node, "the bias is not quantized to int32", "");
    lowered.bias = rewriter.constant<std::int32_t>("bias", per_channel, bias->data.as<std::int32_t>());
  }
  lowered.input_offset = -in.zero_point();
  lowered.output_offset = out.zero_point();
  const auto bound = [&](const char* argument, std::int32_t otherwise) {
    if (!node.has(argument)) return otherwise;
    return quantize_value(node.number(argument), out.scale(), out.zero_point(), out.qmin, out.qmax);
  };
  lowered.activation_min = bound("activation_min", out.qmin);
  lowered.activation_max = bound("activation_max", out.qmax);
  return lowered;
}

Lowered lower_parameters(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::Value& weight = *node.tensor("weight");
  Lowered lowered = lower_constants(rewriter, 0, weight.type.shape[0]);
  const auto geometry = geometry_of(node.tensor("input")->type.shape, node.result()->type.shape,
                                    {weight.type.shape[2], weight.type.shape[3]}, node.integers("stride"),
                                    node.integers("dilation"), node.integers("padding"));
  if (!geometry)
    fail(node, "one of this convolution's dimensions is too large for the int8 kernels", "keep it in float");
  lowered.geometry = *geometry;
  return lowered;
}

ir::Value* zero_bias(const Rewriter& rewriter, std::int64_t channels) {
  const std::vector<std::int32_t> zeros(static_cast<std::size_t>(channels), 0);
  return rewriter.constant<std::int32_t>(
      "zero_bias", {.dtype = DType::i32, .shape = {channels}, .dim_order = {}, .quant = {}}, zeros);
}

std::int64_t scratch_of(const Rewriter& rewriter, const std::function<std::uint32_t(Isa)>& upstream) {
  const Config& config = rewriter.config;
  if (config.runtime == Runtime::cormorant) return 0;
  if (!config.target.is_any()) return upstream(config.target.isa);
  const std::uint32_t mve = upstream(Isa::mve);
  if (upstream(Isa::dsp) != mve || upstream(Isa::scalar) != mve) {
    fail(rewriter.node, "ExecuTorch's convolution needs a scratch size that depends on the instruction set",
         "compile for one CPU instead of 'any'");
  }
  return mve;
}

namespace {

// CMSIS-NN's MVE kernel for a single row is correct only if the window's last position ends as far after the row as the
// first begins before it, and that distance is 0, or one more than whole strides. Zeros next to the weights make it so.
struct RowBorder {
  std::int64_t left = 0, right = 0;
};
RowBorder border_for_cmsis_nn(const conv::Geometry& g, std::int64_t inputs) {
  const std::int64_t stride = g.stride_width;
  const bool is_row = g.in_height == 1 && g.kernel_height == 1 && g.dilation_width == 1 && inputs == g.in_channels &&
                      stride * g.in_channels % 4 == 0 && (g.kernel_width > 1 || g.pad_left > 0);
  if (!is_row) return {};
  const auto is_right = [&](std::int64_t distance) { return distance == 0 || (distance - 1) % stride == 0; };
  const std::int64_t right = (g.out_width - 1) * stride + g.kernel_width - g.in_width - g.pad_left;
  if (right == g.pad_left && is_right(right)) return {};
  std::int64_t distance = std::max<std::int64_t>(g.pad_left, right);
  while (!is_right(distance)) ++distance;
  return {distance - g.pad_left, distance - right};
}

void add_border(Lowered& lowered, const RowBorder& border) {
  const std::int64_t from = lowered.weight_shape[3], to = from + border.left + border.right;
  const std::int64_t rows = static_cast<std::int64_t>(lowered.weights.size()) / from;
  std::vector<std::int8_t> wide(static_cast<std::size_t>(rows * to), 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::copy_n(lowered.weights.begin() + row * from, from, wide.begin() + row * to + border.left);
  }
  lowered.weights = std::move(wide);
  lowered.weight_shape[3] = to;
  lowered.geometry.kernel_width = static_cast<decltype(lowered.geometry.kernel_width)>(to);
  lowered.geometry.pad_left = static_cast<decltype(lowered.geometry.pad_left)>(lowered.geometry.pad_left + border.left);
}

}  // namespace

ir::Value* lower_to_conv2d(const Rewriter& rewriter, Lowered lowered) {
  const ir::Node& node = rewriter.node;
  const Config& config = rewriter.config;
  std::vector<std::int64_t> padding = node.integers("padding");
  if (config.runtime == Runtime::executorch && (config.target.is_any() || config.target.isa == Isa::mve)) {
    const RowBorder border = border_for_cmsis_nn(lowered.geometry, lowered.weight_shape[1]);
    add_border(lowered, border);
    padding.back() += border.left;
  }
  const ir::Shape& oihw = lowered.weight_shape;
  const std::int64_t inputs = oihw[1];
  const std::int64_t pixels = oihw[2] * oihw[3];
  std::vector<std::int8_t> ohwi(lowered.weights.size());
  for (std::int64_t o = 0; o < oihw[0]; ++o) {
    for (std::int64_t i = 0; i < inputs; ++i) {
      for (std::int64_t p = 0; p < pixels; ++p) {
        ohwi[static_cast<std::size_t>((o * pixels + p) * inputs + i)] =
            lowered.weights[static_cast<std::size_t>((o * inputs + i) * pixels + p)];
      }
    }
  }
  const ir::TensorType type = {
      .dtype = DType::i8, .shape = {oihw[0], oihw[2], oihw[3], oihw[1]}, .dim_order = {}, .quant = {}};
  const bool grouped = inputs != lowered.geometry.in_channels;
  ir::Value* bias = lowered.bias;
  if (bias == nullptr && grouped) bias = zero_bias(rewriter, oihw[0]);  // CMSIS-NN's grouped kernel reads it always
  return rewriter
      .emit(QuantizedConv2d<HostWorld>{.input = node.tensor("input"),
                                       .weight = rewriter.constant<std::int8_t>("weight", type, ohwi),
                                       .bias = {bias},
                                       .stride = node.integers("stride"),
                                       .padding = padding,
                                       .dilation = node.integers("dilation"),
                                       .input_offset = lowered.input_offset,
                                       .output_offset = lowered.output_offset,
                                       .requantize_multipliers = lowered.multipliers,
                                       .requantize_shifts = lowered.shifts,
                                       .activation_min = lowered.activation_min,
                                       .activation_max = lowered.activation_max,
                                       .scratch = {.bytes = scratch_of(rewriter,
                                                                       [&](Isa isa) {
                                                                         return upstream_scratch_bytes(
                                                                             isa, lowered.geometry,
                                                                             static_cast<std::uint32_t>(inputs));
                                                                       })}},
            node.result()->type, names::cortex_m_quantized_conv2d_out)
      ->result();
}

}  // namespace cormorant::ops::conv2d
