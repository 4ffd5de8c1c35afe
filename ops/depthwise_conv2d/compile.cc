// SPDX-License-Identifier: Apache-2.0
//
// aten.conv2d with one input channel per group -> cortex_m.quantized_depthwise_conv2d.
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/convolution.h"
#include "ops/conv2d/lower_float.h"
#include "ops/conv2d/overlap_hook.h"
#include "ops/depthwise_conv2d/depthwise_conv2d.h"
#include "ops/depthwise_conv2d/estimate.h"
#include "ops/depthwise_conv2d/kernel.h"
#include "ops/depthwise_conv2d/overlap.h"
#include "ops/depthwise_conv2d/prepack.h"
#include "ops/depthwise_conv2d/words_pack.h"
#include "ops/host/words.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

using namespace depthwise;  // NOLINT(google-build-using-namespace)

// One output per input if the compiler can prove the fast arithmetic; everything else is a grouped convolution.
ir::Value* lower_words(const Rewriter& rewriter) {
  std::vector<std::int8_t> windows;
  conv2d::words::Layer layer = conv2d::words::layer_of(rewriter, windows);
  conv::Geometry g = layer.geometry;
  g.groups = 1;
  g.inputs_per_group = g.outputs_per_group = g.in_channels;
  const Target& target = rewriter.config.target;
  const bool is_one_to_one = layer.geometry.in_channels == layer.geometry.out_channels;
  if (!is_one_to_one || target.is_any() || !words::is_computable(g) || !layer.is_fast()) {
    return conv2d::words::emit(rewriter, std::move(layer), rewriter.node.result()->type);
  }
  const words::Variant& variant = words::choose_variant(target);
  return rewriter
      .emit(conv2d::PackedConv2d<HostWorld>{.input = layer.input,
                                            .packed = conv2d::packed_constant(rewriter, words::pack(variant, layer, g)),
                                            .scratch = {.bytes = words::scratch_bytes(variant.layout, g).value()}},
            rewriter.node.result()->type, variant.name)
      ->result();
}

ir::Value* lower(const Rewriter& rewriter) {
  if (has_words(rewriter.node)) return lower_words(rewriter);
  const ir::Node& node = rewriter.node;
  const conv2d::Lowered lowered = conv2d::lower_parameters(rewriter);
  // ExecuTorch's depthwise kernel takes one image only; its grouped convolution takes several.
  if (rewriter.config.runtime == Runtime::executorch && lowered.geometry.batch != 1) {
    return conv2d::lower_to_conv2d(rewriter, lowered);
  }
  const ir::Shape& oihw = lowered.weight_shape;
  const std::int64_t channels = oihw[0];
  const std::int64_t taps = oihw[2] * oihw[3];
  std::vector<std::int8_t> hwo(lowered.weights.size());
  for (std::int64_t o = 0; o < channels; ++o) {
    for (std::int64_t t = 0; t < taps; ++t) {
      hwo[static_cast<std::size_t>(t * channels + o)] = lowered.weights[static_cast<std::size_t>(o * taps + t)];
    }
  }
  const ir::TensorType type = {
      .dtype = DType::i8, .shape = {1, oihw[2], oihw[3], channels}, .dim_order = {}, .quant = {}};
  const auto scratch = [&](Isa isa) { return upstream_scratch_bytes(isa, lowered.geometry); };
  // CMSIS-NN's MVE kernel reads the bias whether the model has one or not.
  ir::Value* bias = lowered.bias != nullptr ? lowered.bias : conv2d::zero_bias(rewriter, channels);
  return rewriter
      .emit(QuantizedDepthwiseConv2d<HostWorld>{.input = node.tensor("input"),
                                                .weight = rewriter.constant<std::int8_t>("weight", type, hwo),
                                                .bias = {bias},
                                                .stride = node.integers("stride"),
                                                .padding = node.integers("padding"),
                                                .dilation = node.integers("dilation"),
                                                .depth_multiplier = channels / lowered.geometry.in_channels,
                                                .input_offset = lowered.input_offset,
                                                .output_offset = lowered.output_offset,
                                                .requantize_multipliers = lowered.multipliers,
                                                .requantize_shifts = lowered.shifts,
                                                .activation_min = lowered.activation_min,
                                                .activation_max = lowered.activation_max,
                                                .scratch = {.bytes = conv2d::scratch_of(rewriter, scratch)}},
            node.result()->type, names::cortex_m_quantized_depthwise_conv2d_out)
      ->result();
}

std::optional<std::uint64_t> overlap(const ir::Node& node, std::string_view argument) {
  return conv2d::packed_overlap(node, argument, kVariants, order_of);
}

std::optional<std::int64_t> estimate(const ir::Node& node) {
  return conv2d::with_packed(node, kVariants, [](const Variant& variant, const conv::Header& header) {
    return depthwise::estimated_cycles(variant, header.geometry);
  });
}

// As the load_upstream of each instruction set's kernel file.
std::vector<Kernel> loads_on(const Target& target) {
  const auto kernels = [](auto* load, auto* load_nhwc) -> std::vector<Kernel> {
    return {{names::cortex_m_quantized_depthwise_conv2d_out, load, nullptr},
            {names::cortex_m_quantized_depthwise_conv2d_nhwc_out, load_nhwc, nullptr}};
  };
  if (target.isa == Isa::mve) return kernels(load_repacked_mve, load_repacked_mve_nhwc);
  if (target.isa == Isa::dsp) return kernels(load_repacked_dsp, load_repacked_dsp_nhwc);
  if (target.cpu->has_long_multiply) return kernels(load_repacked_scalar, load_repacked_scalar_nhwc);
  return kernels(load_repacked_v6m, load_repacked_v6m_nhwc);
}

}  // namespace

Operator depthwise_conv2d_operator() {
  return {.name = "depthwise_conv2d",
          .layout = ops::MemoryOrder::channels_last,
          .forms = {},  // conv2d's
          .canonical = {conv2d::kCanonical},
          .accepts = conv2d::is_depthwise,
          .infer = conv2d::infer_convolution,
          .evaluate = conv2d::evaluate_convolution,
          .quantize = conv2d::quantize_convolution,
          .fuses_activation = true,
          .lower = lower,
          .lower_float = conv2d::lower_float,
          .loads_on = loads_on,
          .prepack = prepack,
          .overlap = overlap,
          .macs = conv2d::count_macs,
          .estimate = estimate};
}

}  // namespace cormorant::ops
