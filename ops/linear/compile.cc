// SPDX-License-Identifier: Apache-2.0
//
// aten.linear(input, weight[out, in], bias): a matrix product with a constant right side, down to
// cortex_m.quantized_linear. Matrix products with a constant become it as well (ops/batch_matmul/import.cc).
#include <algorithm>

#include "base/diagnostic.h"
#include "evaluate/onednn.h"
#include "ops/batch_matmul/products.h"
#include "ops/host/advice.h"
#include "ops/host/multiplier.h"
#include "ops/host/words.h"
#include "ops/linear/linear.h"
#include "ops/linear/prepack.h"
#include "ops/linear/reference.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace linear {
namespace {

[[noreturn]] void refuse(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

// ---- semantics ------------------------------------------------------------------------------------------------------

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const ir::TensorType& input = node.tensor("input")->type;
  const ir::TensorType& weight = node.tensor("weight")->type;
  if (input.rank() == 0 || weight.rank() != 2 || input.shape.back() != weight.shape[1]) {
    refuse(node, "the input's last dimension differs from the weight's number of columns", kInconsistent);
  }
  if (const ir::Value* bias = node.tensor("bias"); bias != nullptr && bias->type.shape != ir::Shape{weight.shape[0]}) {
    refuse(node, "the bias does not have one entry per row of the weight", kInconsistent);
  }
  ir::Shape shape = input.shape;
  shape.back() = weight.shape[0];
  return {ir::float_type(std::move(shape))};
}

std::vector<evaluate::Tensor> evaluate_linear(const ir::Node& node, const evaluate::Frame& frame) {
  const ir::Value* bias = node.tensor("bias");
  return {evaluate::with_activation(node,
                                    evaluate::linear(frame.get(node.tensor("input")), frame.get(node.tensor("weight")),
                                                     bias == nullptr ? nullptr : &frame.get(bias)))};
}

// A PReLU or leaky ReLU that passes::fuse_slopes made part of it.
bool has_slopes(const ir::Node& node) { return node.has("activation_slopes"); }

QuantRule quantize(const ir::Node& node) {
  if (node.tensor("weight")->kind != ir::ValueKind::constant) {
    return {.output = QuantRule::Reject{"its weight is computed by the model, not constant"}, .weights = {}};
  }
  QuantRule rule;
  rule.precisions = has_slopes(node) ? precisions::w8a8() : precisions::w8a8_w8a16_w4a8();
  rule.weights.push_back({.argument = "weight", .axis = 0});
  if (const ir::Value* bias = node.tensor("bias"); bias != nullptr) {
    if (bias->kind != ir::ValueKind::constant) {
      return {.output = QuantRule::Reject{"its bias is computed by the model, not constant"}, .weights = {}};
    }
    rule.weights.push_back({.argument = "bias", .axis = 0, .is_bias = true});
  }
  return rule;
}

// ---- lowering -------------------------------------------------------------------------------------------------------

// A fused clamp in the output's integers, within what the output's type holds.
struct Range {
  std::int64_t low, high;
};
Range activation_range(const ir::Node& node, const ir::QuantParams& q) {
  Range range{q.qmin, q.qmax};
  if (node.has("activation_min")) {
    range.low = quantize_value(node.number("activation_min"), q.scale(), q.zero_point(), q.qmin, q.qmax);
  }
  if (node.has("activation_max")) {
    range.high = quantize_value(node.number("activation_max"), q.scale(), q.zero_point(), q.qmin, q.qmax);
  }
  return range;
}

bool is_prepacked(const Config& config) { return config.runtime == Runtime::cormorant && !config.target.is_any(); }

// If several rows of input share each load of the weights, this is a 1 × 1 convolution over as many pixels, whose
// kernels do just that; the bytes are the same. The convolution computes blocks of rows, and leftover rows as if they
// were blocks: the cost of a block was measured, in hundredths of the cost of a row here (64 inputs, 192 outputs).
struct Block {
  std::int64_t rows, cost;
};
Block block_of(const Target& target) {
  if (target.isa == Isa::mve) return {2, 181};
  if (target.isa == Isa::dsp) return {3, 203};
  const bool baseline = !target.cpu->has_long_multiply;
  return baseline ? Block{4, 277} : Block{3, 191};
}
bool are_quicker_in_blocks(const Target& target, std::int64_t rows) {
  const Block block = block_of(target);
  return (rows / block.rows + rows % block.rows) * block.cost < rows * 100;
}
constexpr std::int64_t kLargestExtent = 65535;  // that a convolution counts

// To keep firmware small, whatever can be computed by a kernel that is there anyway.
bool are_smaller_in_blocks(const Rewriter& rewriter) {
  if (rewriter.config.target.optimize != Optimize::size) return false;
  return std::ranges::any_of(rewriter.graph.nodes(), [](const ir::Node& node) {
    return node.op.starts_with(nodes::cortex_m_quantized_conv2d) ||
           (node.op == nodes::aten_conv2d && !is_float(node) && find(node)->name == "conv2d");
  });
}

// Only convolutions unpack 4-bit weights or have multipliers for sums below zero.
bool has_nibbles(const ir::Value& weight) { return weight.type.quant && weight.type.quant->qmax <= 7; }

bool is_convolution(const Rewriter& rewriter) {
  const ir::Shape& weight = rewriter.node.tensor("weight")->type.shape;
  const std::int64_t rows = rewriter.node.result()->type.elements() / std::max<std::int64_t>(weight[0], 1);
  return is_prepacked(rewriter.config) && rows <= kLargestExtent && weight[0] <= kLargestExtent &&
         weight[1] <= kLargestExtent &&
         (has_slopes(rewriter.node) || has_nibbles(*rewriter.node.tensor("weight")) ||
          are_quicker_in_blocks(rewriter.config.target, rows) || are_smaller_in_blocks(rewriter));
}

ir::Value* relayout(const Rewriter& rewriter, ir::Value* value, ir::TensorType type) {
  return rewriter.graph
      .add_node(rewriter.node.name + "_relayout", nodes::cormorant_relayout, {{"self", value}}, {std::move(type)},
                rewriter.node.location, &rewriter.node)
      ->result();
}

// The images that the linear layer's rows are, if a view turned them into rows.
ir::Value* flattened_images(const ir::Node& node) {
  const ir::Node* view = node.tensor("input")->producer;
  if (view == nullptr || view->op != nodes::aten_view) return nullptr;
  ir::Value* images = view->tensor("self");
  const ir::Shape& shape = images->type.shape;
  const bool is_flat = images->type.rank() == 4 && images->type.dim_order.empty() &&
                       view->result()->type.shape == ir::Shape{shape[0], shape[1] * shape[2] * shape[3]};
  return is_flat && shape[2] * shape[3] > 1 ? images : nullptr;
}

// With 16-bit activations, 4-bit weights or slopes a linear layer is a convolution on every CPU: of one pixel, or of a
// window that is a whole image, so that the image need not be transposed.
ir::Value* lower_to_convolution(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  ir::Value* weight = node.tensor("weight");
  const std::int64_t outputs = weight->type.shape[0];
  const std::int64_t inputs = weight->type.shape[1];
  const std::int64_t rows = node.result()->type.elements() / outputs;
  ir::Value* images = has_words(node) || has_nibbles(*weight) || has_slopes(node) ? flattened_images(node) : nullptr;
  const auto pixels = [&](ir::TensorType type, std::int64_t channels) {
    type.shape = images == nullptr ? ir::Shape{1, channels, 1, rows} : ir::Shape{rows, channels, 1, 1};
    type.dim_order = ir::kChannelsLast;
    return type;
  };
  ir::TensorType kernel = weight->type;
  kernel.shape = {outputs, inputs, 1, 1};
  if (images != nullptr) std::copy(images->type.shape.begin() + 1, images->type.shape.end(), kernel.shape.begin() + 1);
  const std::vector<std::int64_t> ones = {1, 1};
  std::vector<ir::NamedArgument> args = {
      {"input", images != nullptr
                    ? images
                    : relayout(rewriter, node.tensor("input"), pixels(node.tensor("input")->type, inputs))},
      {"weight", rewriter.graph.add_constant(weight->name + "_kernel", std::move(kernel), weight->data)},
      {"bias", node.get("bias")},
      {"stride", ones},
      {"padding", std::vector<std::int64_t>{0, 0}},
      {"dilation", ones},
      {"groups", std::int64_t{1}}};
  for (const char* part : {"activation_slopes", "activation_min", "activation_max"}) {
    if (node.has(part)) args.push_back({part, node.get(part)});
  }
  ir::Node* convolution =
      rewriter.graph.add_node(node.name, nodes::aten_conv2d, std::move(args), {pixels(node.result()->type, outputs)},
                              node.location, &rewriter.node);
  ir::Value* lowered = find(*convolution)->lower({rewriter.graph, *convolution, rewriter.config});
  rewriter.graph.erase(convolution);
  return relayout(rewriter, lowered, node.result()->type);
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  ir::Value* weight = node.tensor("weight");
  ir::Value* bias = node.tensor("bias");
  const ir::QuantParams& input_q = node.tensor("input")->type.quant.value();
  const ir::QuantParams& weight_q = weight->type.quant.value();
  const ir::QuantParams& output_q = node.result()->type.quant.value();
  if (has_words(node)) return lower_to_convolution(rewriter);
  if (input_q.dtype != DType::i8 || weight_q.dtype != DType::i8 || output_q.dtype != DType::i8) {
    refuse(node, "linear supports only int8 activations and weights", "quantize the model to int8");
  }
  if (std::ranges::any_of(weight_q.zero_points, [](std::int32_t z) { return z != 0; })) {
    refuse(node, "the weight's zero point is not 0", "quantize weights symmetrically");
  }
  if (weight_q.per_channel() && (*weight_q.axis != 0 || !is_prepacked(rewriter.config))) {
    refuse(node, "the weight is quantized per output feature, which ExecuTorch's linear operator does not support",
           "quantize the weights of linear layers per tensor, or compile for Cormorant's own runtime and one CPU");
  }

  if (is_convolution(rewriter)) return lower_to_convolution(rewriter);

  QuantizedLinear<HostWorld> call{.input = node.tensor("input"), .weights = weight};
  call.input_offset = -input_q.zero_point();
  call.output_offset = output_q.zero_point();
  for (const double scale : weight_q.scales) {
    const Multiplier m = quantize_multiplier(input_q.scale() * scale / output_q.scale());
    if (m.shift > 20) {
      refuse(node, "the output's scale is too small for its operands' scales", "calibrate with representative data");
    }
    call.requantize_multipliers.push_back(m.multiplier);
    call.requantize_shifts.push_back(m.shift);
  }
  const Range range = activation_range(node, output_q);
  call.activation_min = range.low;
  call.activation_max = range.high;

  // CMSIS-NN's MVE form needs precomputed sums and ignores the bias; its other forms do the opposite.
  if (!rewriter.config.target.is_any() && rewriter.config.target.isa == Isa::mve) {
    const std::vector<std::int32_t> sums = folded_bias(*weight, bias, -input_q.zero_point());
    call.kernel_sum.value = rewriter.constant(
        "kernel_sum",
        ir::TensorType{
            .dtype = DType::i32, .shape = {1, weight->type.shape[0]}, .dim_order = {}, .quant = std::nullopt},
        std::span<const std::int32_t>(sums));
  } else {
    call.bias.value = bias;
  }
  return rewriter.emit(std::move(call), node.result()->type, names::cortex_m_quantized_linear_out)->result();
}

std::int64_t macs(const ir::Node& node) {
  const ir::Shape& input = node.tensor("input")->type.shape;
  return node.tensor("input")->type.elements() / std::max<std::int64_t>(input.back(), 1) * input.back() *
         node.result()->type.shape.back();
}

// As in ops/conv2d/estimate.h.
std::optional<std::int64_t> estimate(const ir::Node& node) {
  const std::string name = program_name(node.op);
  const auto* const variant = std::ranges::find(kVariants, std::string_view(name), &Variant::name);
  if (variant == std::end(kVariants)) return std::nullopt;
  struct Cost {
    std::int64_t sixteen;  // inputs of a group of features
    std::int64_t group;
  };
  const auto cost_of = [](Layout layout) -> Cost {
    switch (layout) {
      case Layout::scalar:
        return {256, 229};
      case Layout::dsp_pairs:
        return {96, 200};
      case Layout::dsp_wide:
        return {94, 180};
      case Layout::rows:
        return {40, 50};
      case Layout::mve:
        break;
    }
    return {17, 100};
  };
  const Cost cost = cost_of(variant->layout);
  const std::int64_t inputs = node.tensor("input")->type.shape.back();
  const std::int64_t outputs = node.result()->type.shape.back();
  const std::int64_t group = group_of(variant->layout);
  const std::int64_t rows = node.result()->type.elements() / std::max<std::int64_t>(outputs, 1);
  return rows * ((outputs + group - 1) / group) * (cost.sixteen * inputs / 16 + cost.group);
}

}  // namespace
}  // namespace linear

Operator linear_operator() {
  return {.name = "linear",
          .layout = MemoryOrder::contiguous,
          .forms = {{"linear.default(Tensor input, Tensor weight, Tensor? bias=None)", batch_matmul::import_linear}},
          .canonical = {"aten.linear(Tensor input, Tensor weight, Tensor? bias)"},
          .infer = linear::infer,
          .evaluate = linear::evaluate_linear,
          .quantize = linear::quantize,
          .fuses_activation = true,
          .lower = linear::lower,
          .prepack = linear::prepack,
          .macs = linear::macs,
          .estimate = linear::estimate,
          .by_others = {Precision::w8a16, Precision::w4a8}};
}

}  // namespace cormorant::ops
