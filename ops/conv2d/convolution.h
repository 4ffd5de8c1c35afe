// SPDX-License-Identifier: Apache-2.0
//
// The compiler's side of aten.conv2d, shared by the folders that lower it: conv2d and depthwise_conv2d. The canonical
// node is aten.conv2d(input, weight, bias, stride, padding, dilation, groups), lists of two, `padding` symmetric. Host
// only.
#pragma once

#include <functional>

#include "kernels/conv_geometry.h"
#include "ops/op.h"

namespace cormorant::ops::conv2d {

// ---- aten
inline constexpr const char* kCanonical =
    "aten.conv2d(Tensor input, Tensor weight, Tensor? bias, int[2] stride, int[2] padding, int[2] dilation, int "
    "groups)";
bool is_depthwise(const ir::Node& node);  // one input channel per group, and more than one group
std::vector<ir::TensorType> infer_convolution(const ir::Node& node);
std::vector<evaluate::Tensor> evaluate_convolution(const ir::Node& node, const evaluate::Frame& frame);
QuantRule quantize_convolution(const ir::Node& node);
std::int64_t count_macs(const ir::Node& node);  // of aten, cortex_m and cormorant nodes

// None if a number exceeds 16 bits, or a window is larger than kernels count: no network for a microcontroller does.
std::optional<conv::Geometry> geometry_of(const ir::Shape& in, const ir::Shape& out, const ir::Shape& kernel,
                                          const std::vector<std::int64_t>& stride,
                                          const std::vector<std::int64_t>& dilation,
                                          const std::vector<std::int64_t>& top_left);

// ---- lowering: what both cortex_m operators need of a quantized aten.conv2d
struct Lowered {
  std::vector<std::int8_t> weights;  // OIHW, in that memory order
  ir::Shape weight_shape;
  ir::Value* bias = nullptr;         // null where the model has none
  ir::Value* multipliers = nullptr;  // with slopes two rows: for sums from zero on, and for sums below
  ir::Value* shifts = nullptr;
  std::int64_t input_offset = 0;
  std::int64_t output_offset = 0;
  std::int64_t activation_min = -128;
  std::int64_t activation_max = 127;
  conv::Geometry geometry;
};
Lowered lower_parameters(const Rewriter& rewriter);
// The same except for the geometry, for weights whose output channels are dimension `axis`: of a grouped transposed
// convolution, those of one group.
Lowered lower_constants(const Rewriter& rewriter, std::int32_t axis, std::int64_t channels);
ir::Value* zero_bias(const Rewriter& rewriter, std::int64_t channels);

// Bytes of the scratch argument of a cortex_m node: what ExecuTorch's kernels require if the program is for them,
// nothing if it is for ours.
std::int64_t scratch_of(const Rewriter& rewriter, const std::function<std::uint32_t(Isa)>& upstream_scratch_bytes);

ir::Value* lower_to_conv2d(const Rewriter& rewriter, Lowered lowered);

// ---- prepacking: a cortex_m node, before its constants are laid out
struct Unpacked {
  ir::Value* input = nullptr;  // of an absorbed cortex_m.pad, where there is one
  conv::Geometry geometry;
  conv::Header header;             // all but stream_bytes
  std::vector<std::int32_t> bias;  // input_offset · Σ weights folded in
  std::vector<std::int32_t> multipliers;
  std::vector<std::int32_t> negative_multipliers;  // of sums below zero; none where the layer has no slopes
  std::vector<std::int32_t> shifts;
  std::vector<bool> is_constant;    // channels whose result is that of their bias: their weights count as zeros
  std::vector<bool> is_general;     // channels that are not simple (kernels/conv_geometry.h)
  bool has_lowest_weights = false;  // several weights of −128 in a channel

  [[nodiscard]] std::int32_t weight(std::uint32_t channel, std::int32_t of_model) const {
    return is_constant[channel] ? 0 : of_model;
  }
};
// (channel, k) -> weight; k counts in the order of the channel's window.
using WeightAt = std::function<std::int32_t(std::uint32_t, std::uint32_t)>;
// `kernel` is height and width. None if the geometry or a folded bias leaves its range.
std::optional<Unpacked> unpack(const Rewriter& rewriter, const ir::Shape& kernel, std::uint32_t window,
                               const WeightAt& weight);
// The same for a geometry that is known.
std::optional<Unpacked> unpack_as(const Rewriter& rewriter, const conv::Geometry& geometry, std::uint32_t window,
                                  const WeightAt& weight);
// The packed constant: header, then the stream.
std::vector<std::byte> packed_bytes(conv::Header header, const std::vector<std::byte>& stream);
ir::Value* packed_constant(const Rewriter& rewriter, std::vector<std::byte> bytes);

}  // namespace cormorant::ops::conv2d
