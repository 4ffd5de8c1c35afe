// SPDX-License-Identifier: Apache-2.0
//
// aten.conv_transpose2d -> cortex_m.quantized_transpose_conv2d. The canonical node is aten.conv_transpose2d(input,
// weight, bias, stride, padding, output_padding, groups, dilation), lists of two; weights are [inputs, outputs /
// groups, height, width]. ExecuTorch's kernel supports neither groups nor dilation: for it the weights are padded with
// zeros.
#include <algorithm>

#include "base/checked64.h"
#include "base/diagnostic.h"
#include "evaluate/onednn.h"
#include "ops/conv2d/convolution.h"
#include "ops/conv2d/import.h"
#include "ops/conv2d/lower_float.h"
#include "ops/host/advice.h"
#include "ops/host/check.h"
#include "ops/op.h"
#include "ops/transpose_conv2d/prepack.h"
#include "ops/transpose_conv2d/subpixel.h"
#include "ops/transpose_conv2d/transpose_conv2d.h"

namespace cormorant::ops {
namespace {

using namespace transpose_conv2d;  // NOLINT(google-build-using-namespace)

[[noreturn]] void fail(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

// The plane that is convolved: the input's pixels stride apart, with as many zeros around them as the kernel covers.
ir::TensorType plane_type(const ir::Shape& in, const ir::Shape& out, const ir::Shape& weight,
                          const std::vector<std::int64_t>& dilation) {
  const auto size = [&](std::size_t i) {
    return (Checked64(dilation[i]) * (weight[2 + i] - 1) + out[2 + i]).get().value_or(-1);
  };
  return ir::float_type({in[0], in[1], size(0), size(1)});
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const ir::Shape& in = node.tensor("input")->type.shape;
  const ir::Shape& weight = node.tensor("weight")->type.shape;
  const auto& stride = node.integers("stride");
  const auto& padding = node.integers("padding");
  const auto& dilation = node.integers("dilation");
  const auto& more = node.integers("output_padding");
  const std::int64_t groups = node.integer("groups");
  if (in.size() != 4 || weight.size() != 4) fail(node, "a transposed convolution needs four dimensions", "");
  if (groups < 1 || in[1] != weight[0] || weight[0] % groups != 0) {
    fail(node, "the input's channels do not match the weights",
         "weights are [inputs, outputs / groups, height, width]");
  }
  const auto outputs = (Checked64(weight[1]) * groups).get();
  if (!outputs) fail(node, "it has too many output channels", "");
  if (const ir::Value* bias = node.tensor("bias"); bias != nullptr && bias->type.shape != ir::Shape{*outputs}) {
    fail(node, "the bias does not have one entry per output", kInconsistent);
  }
  ir::Shape out = {in[0], *outputs, 0, 0};
  for (std::size_t i = 0; i < 2; ++i) {
    if (stride[i] < 1 || dilation[i] < 1 || padding[i] < 0) {
      fail(node, "stride and dilation must be positive, padding not negative", "");
    }
    if (more[i] < 0 || more[i] >= std::max(stride[i], dilation[i])) {
      fail(node, "output_padding must be smaller than stride or dilation", "");
    }
    if (weight[2 + i] < 1 || in[2 + i] < 1) fail(node, "its input or its kernel is empty", "");
    const Checked64 reach = Checked64(dilation[i]) * (weight[2 + i] - 1);
    const Checked64 size = Checked64(in[2 + i] - 1) * stride[i] - Checked64(2) * padding[i] + reach + more[i] + 1;
    if (!size.is_within(1, kLargestInteger)) {
      fail(node, "its padding leaves no output, or the output is larger than any memory", "");
    }
    out[2 + i] = *size.get();
  }
  if (!plane_type(in, out, weight, dilation).is_possible()) {
    fail(node, "its input with zeros between the pixels is larger than 2 GB", "use a smaller stride or dilation");
  }
  return {ir::float_type(std::move(out))};
}

// A convolution of the input with stride − 1 zeros between its pixels, and the kernel reversed.
std::vector<evaluate::Tensor> evaluate_transposed(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("input"));
  const evaluate::Tensor& weight = frame.get(node.tensor("weight"));
  const auto& stride = node.integers("stride");
  const auto& dilation = node.integers("dilation");
  const auto& padding = node.integers("padding");
  const std::int64_t groups = node.integer("groups");
  const ir::Shape& in = input.shape;
  const ir::Shape out = infer(node).front().shape;
  const std::int64_t kernel[] = {weight.shape[2], weight.shape[3]};
  // The first pixel is `before` from the edge of the plane that is convolved without padding.
  std::int64_t before[2];
  for (std::size_t i = 0; i < 2; ++i) before[i] = dilation[i] * (kernel[i] - 1) - padding[i];
  const ir::TensorType zeros = plane_type(in, out, weight.shape, dilation);
  const std::int64_t size[] = {zeros.shape[2], zeros.shape[3]};
  std::vector<float> plane(static_cast<std::size_t>(zeros.elements()), 0.0F);
  const float* from = input.values().data();
  for (std::int64_t p = 0; p < in[0] * in[1]; ++p) {
    for (std::int64_t y = 0; y < in[2]; ++y) {
      for (std::int64_t x = 0; x < in[3]; ++x, ++from) {
        const std::int64_t row = before[0] + y * stride[0];
        const std::int64_t column = before[1] + x * stride[1];
        if (row < 0 || row >= size[0] || column < 0 || column >= size[1]) continue;
        plane[static_cast<std::size_t>((p * size[0] + row) * size[1] + column)] = *from;
      }
    }
  }
  const std::int64_t inputs = in[1] / groups;
  const std::int64_t outputs = weight.shape[1];
  const std::int64_t taps = kernel[0] * kernel[1];
  std::vector<float> turned(weight.values().size());
  for (std::int64_t i = 0; i < in[1]; ++i) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      for (std::int64_t t = 0; t < taps; ++t) {
        const std::int64_t channel = i / inputs * outputs + o;
        turned[static_cast<std::size_t>((channel * inputs + i % inputs) * taps + taps - 1 - t)] =
            weight.values()[static_cast<std::size_t>((i * outputs + o) * taps + t)];
      }
    }
  }
  const ir::Value* bias = node.tensor("bias");
  evaluate::Tensor result =
      evaluate::convolution({{in[0], in[1], size[0], size[1]}, std::move(plane)},
                            {{outputs * groups, inputs, kernel[0], kernel[1]}, std::move(turned)},
                            bias == nullptr ? nullptr : &frame.get(bias), {{1, 1}, {0, 0}, dilation, groups});
  return {evaluate::with_activation(node, std::move(result))};
}

QuantRule quantize(const ir::Node& node) {
  for (const char* argument : {"weight", "bias"}) {
    const ir::Value* value = node.tensor(argument);
    if (value != nullptr && value->kind != ir::ValueKind::constant) {
      return {.output = QuantRule::Reject{std::string("its ") + argument + " is computed by the model, not constant"},
              .weights = {}};
    }
  }
  const ir::Shape& weight = node.tensor("weight")->type.shape;
  if (!conv2d::geometry_of(node.tensor("input")->type.shape, node.result()->type.shape, {weight[2], weight[3]},
                           node.integers("stride"), node.integers("dilation"), node.integers("padding"))) {
    return {.output = QuantRule::Reject{"one of its dimensions is too large for the int8 kernels"}, .weights = {}};
  }
  QuantRule rule;
  // Dimension 1 is the output channels only if there is one group.
  std::optional<std::int32_t> axis;
  if (node.integer("groups") == 1) axis = 1;
  rule.weights.push_back({.argument = "weight", .axis = axis, .is_bias = false});
  if (node.has("bias")) rule.weights.push_back({.argument = "bias", .axis = 0, .is_bias = true});
  if (subpixel_of(node)) rule.precisions = precisions::w8a8_w8a16();  // as a convolution: passes/compose_words.cc
  if (node.integer("groups") == 1) rule.precisions.push_back(Precision::w4a8);
  return rule;
}

using Ints = std::vector<std::int64_t>;

// The weights as OHWI: [O, kh, kw, I / groups], or with zeros for other groups and for the gaps of a dilation.
struct Weights {
  std::vector<std::int8_t> elements;
  ir::Shape shape;
};
Weights ohwi_weights(const conv2d::Lowered& lowered, std::int64_t groups, const std::vector<std::int64_t>& dilation,
                     bool filled) {
  const ir::Shape& from = lowered.weight_shape;
  const std::int64_t inputs = from[0] / groups;
  const std::int64_t outputs = from[1];
  const std::int64_t spread[] = {filled ? dilation[0] : 1, filled ? dilation[1] : 1};
  const std::int64_t seen = filled ? from[0] : inputs;
  Weights w{{}, {outputs * groups, spread[0] * (from[2] - 1) + 1, spread[1] * (from[3] - 1) + 1, seen}};
  w.elements.resize(static_cast<std::size_t>(w.shape[0] * w.shape[1] * w.shape[2] * w.shape[3]), 0);
  std::size_t next = 0;
  for (std::int64_t i = 0; i < from[0]; ++i) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      for (std::int64_t y = 0; y < from[2]; ++y) {
        for (std::int64_t x = 0; x < from[3]; ++x) {
          const std::int64_t channel = i / inputs * outputs + o;
          const std::int64_t row = (channel * w.shape[1] + y * spread[0]) * w.shape[2] + x * spread[1];
          w.elements[static_cast<std::size_t>(row * seen + (filled ? i : i % inputs))] = lowered.weights[next++];
        }
      }
    }
  }
  return w;
}

// Zeros around the weights that make CMSIS-NN's transposed convolution correct. With up to 16 input channels, or a
// stride above 2, it accumulates in a ring of rows: that needs a padding in whole strides, no more rows of padding than
// there are, and columns only as far as the last tap extends. Else it reverses the weights and convolves, which needs a
// padding smaller than the kernel. Row k of the weights goes to row k + top, so the padding grows by as much.
struct Border {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};
Border border_for_cmsis_nn(const ir::Shape& weights, const Ints& stride, const Ints& padding, const Ints& more) {
  const std::int64_t height = weights[1], width = weights[2], inputs = weights[3];
  const auto positive = [](std::int64_t n) { return std::max<std::int64_t>(0, n); };
  Border border;
  if (stride[0] <= 2 && stride[1] <= 2 && inputs > 16) {
    border.bottom = positive(padding[0] - height + 1);
    border.right = positive(padding[1] - width + 1);
    return border;
  }
  border.top = positive(padding[0] + stride[0] - height - more[0]);
  border.top += (stride[0] - (padding[0] + border.top) % stride[0]) % stride[0];
  border.bottom = positive(more[0] - padding[0]);
  if (stride[1] > stride[0]) border.left = positive(stride[1] - width);
  border.right = positive(more[1] - padding[1]);
  return border;
}

Weights with_border(const Weights& from, const Border& border) {
  const ir::Shape& old = from.shape;
  Weights w{{}, {old[0], old[1] + border.top + border.bottom, old[2] + border.left + border.right, old[3]}};
  w.elements.resize(static_cast<std::size_t>(w.shape[0] * w.shape[1] * w.shape[2] * w.shape[3]), 0);
  const std::int64_t row = old[2] * old[3];
  for (std::int64_t o = 0; o < old[0]; ++o) {
    for (std::int64_t y = 0; y < old[1]; ++y) {
      const std::int64_t to = ((o * w.shape[1] + y + border.top) * w.shape[2] + border.left) * old[3];
      std::copy_n(from.elements.begin() + (o * old[1] + y) * row, row, w.elements.begin() + to);
    }
  }
  return w;
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::Shape& in = node.tensor("input")->type.shape;
  const std::int64_t groups = node.integer("groups");
  const auto& stride = node.integers("stride");
  const bool upstream = rewriter.config.runtime == Runtime::executorch;
  const conv2d::Lowered lowered = conv2d::lower_constants(rewriter, 1, node.result()->type.shape[1]);
  Weights weights = ohwi_weights(lowered, groups, node.integers("dilation"), upstream);
  Ints padding = node.integers("padding"), more = node.integers("output_padding");
  if (upstream) {
    const Border border = border_for_cmsis_nn(weights.shape, stride, padding, more);
    weights = with_border(weights, border);
    padding = {padding[0] + border.top, padding[1] + border.left};
    more = {more[0] + border.top - border.bottom, more[1] + border.left - border.right};
  }
  const auto u32 = [](std::int64_t n) { return static_cast<std::uint32_t>(n); };
  const UpstreamShape shape{
      u32(in[3]),     u32(in[1]),    u32(weights.shape[0]), u32(weights.shape[1]), u32(weights.shape[2]),
      u32(stride[0]), u32(stride[1])};
  const auto scratch = [&](Isa isa) { return upstream_scratch_bytes(isa, shape).scratch; };
  const auto output_scratch = [&](Isa isa) { return upstream_scratch_bytes(isa, shape).output_scratch; };
  const ir::TensorType type = {.dtype = DType::i8, .shape = weights.shape, .dim_order = {}, .quant = {}};
  return rewriter
      .emit(
          QuantizedTransposeConv2d<HostWorld>{
              .input = node.tensor("input"),
              .weight = rewriter.constant<std::int8_t>("weight", type, weights.elements),
              .bias = {lowered.bias},
              .stride = stride,
              .padding = padding,
              .output_padding = more,
              .dilation = upstream ? std::vector<std::int64_t>{1, 1} : node.integers("dilation"),
              .input_offset = lowered.input_offset,
              .output_offset = lowered.output_offset,
              .requantize_multipliers = lowered.multipliers,
              .requantize_shifts = lowered.shifts,
              .activation_min = lowered.activation_min,
              .activation_max = lowered.activation_max,
              .scratch = {.bytes = conv2d::scratch_of(rewriter, scratch)},
              .output_scratch = {.bytes = conv2d::scratch_of(rewriter, output_scratch)}},
          node.result()->type, names::cortex_m_quantized_transpose_conv2d_out)
      ->result();
}

std::int64_t count_macs(const ir::Node& node) {
  const ir::TensorType& input = node.tensor("input")->type;
  if (node.op.starts_with("cormorant.")) return packed_macs(node);
  const std::int64_t per_pixel = node.tensor("weight")->type.elements();  // both layouts hold a pixel's products
  return input.elements() / input.shape[1] * per_pixel;
}

}  // namespace

Operator transpose_conv2d_operator() {
  using conv2d::import_transposed;
  return {
      .name = "transpose_conv2d",
      .layout = ops::MemoryOrder::channels_last,
      .forms =
          {{"conv_transpose1d.default(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] "
            "padding=0, SymInt[1] output_padding=0, SymInt groups=1, SymInt[1] dilation=1)",
            import_transposed},
           {"conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] "
            "padding=0, SymInt[2] output_padding=0, SymInt groups=1, SymInt[2] dilation=1)",
            import_transposed},
           {"conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] "
            "padding=0, SymInt[3] output_padding=0, SymInt groups=1, SymInt[3] dilation=1)",
            import_transposed}},
      .canonical = {"aten.conv_transpose2d(Tensor input, Tensor weight, Tensor? bias, int[2] stride, int[2] padding, "
                    "int[2] output_padding, int groups, int[2] dilation)"},
      .infer = infer,
      .evaluate = evaluate_transposed,
      .quantize = quantize,
      .fuses_activation = true,
      .lower = lower,
      .lower_float = conv2d::lower_float,
      .prepack = prepack,
      .macs = count_macs,
      .by_others = ops::precisions::w8a16()};
}

}  // namespace cormorant::ops
