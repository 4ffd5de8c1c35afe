// SPDX-License-Identifier: Apache-2.0
//
// Before a convolution's constants are laid out for a kernel: an explicit pad becomes part of it, the input's offset
// goes into the bias, and what the constants prove about requantization is recorded.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "ops/conv2d/convolution.h"
#include "ops/host/channel_sums.h"
#include "ops/nodes.h"

namespace cormorant::ops::conv2d {
namespace {

// A cortex_m.pad that the convolution's own padding can replace: it pads rows and columns with the value that padding
// has, and nothing else reads its result. Its lists are in memory order, N H W C.
const ir::Node* absorbable_pad(const Rewriter& rewriter, std::int64_t pad_value) {
  ir::Value* input = rewriter.node.tensor("input");
  const ir::Node* pad = input->producer;
  if (pad == nullptr || pad->op != nodes::cortex_m_pad || rewriter.graph.only_user(input) != &rewriter.node)
    return nullptr;
  const auto& pre = pad->integers("pre_pad");
  const auto& post = pad->integers("post_pad");
  const bool only_pixels = pre[0] == 0 && pre[3] == 0 && post[0] == 0 && post[3] == 0;
  return only_pixels && pad->integer("pad_value") == pad_value ? pad : nullptr;
}

}  // namespace

std::optional<Unpacked> unpack(const Rewriter& rewriter, const ir::Shape& kernel, std::uint32_t window,
                               const WeightAt& weight) {
  const ir::Node& node = rewriter.node;
  std::vector<std::int64_t> top_left = node.integers("padding");
  ir::Value* input = node.tensor("input");
  if (const ir::Node* pad = absorbable_pad(rewriter, -node.integer("input_offset")); pad != nullptr) {
    input = pad->tensor("input");
    top_left[0] += pad->integers("pre_pad")[1];
    top_left[1] += pad->integers("pre_pad")[2];
  }
  const auto geometry = geometry_of(input->type.shape, node.result()->type.shape, kernel, node.integers("stride"),
                                    node.integers("dilation"), top_left);
  if (!geometry) return {};
  std::optional<Unpacked> u = unpack_as(rewriter, *geometry, window, weight);
  if (u) u->input = input;
  return u;
}

std::optional<Unpacked> unpack_as(const Rewriter& rewriter, const conv::Geometry& geometry, std::uint32_t window,
                                  const WeightAt& weight) {
  const ir::Node& node = rewriter.node;
  const std::int64_t input_offset = node.integer("input_offset");
  Unpacked u;
  u.input = node.tensor("input");
  u.geometry = geometry;
  u.header.geometry = u.geometry;
  u.header.output_offset = static_cast<std::int16_t>(node.integer("output_offset"));
  u.header.pad_value = static_cast<std::int8_t>(-input_offset);
  u.header.activation_min = static_cast<std::int8_t>(node.integer("activation_min"));
  u.header.activation_max = static_cast<std::int8_t>(node.integer("activation_max"));

  const auto multipliers = node.tensor("requantize_multipliers")->data.as<std::int32_t>();
  const auto shifts = node.tensor("requantize_shifts")->data.as<std::int32_t>();
  // From a text that contradicts itself: the runtime reports it.
  const std::size_t channels = u.geometry.out_channels;
  if (multipliers.size() % channels != 0 || multipliers.size() / channels > 2 || shifts.size() != channels) return {};
  const auto middle = multipliers.begin() + static_cast<std::ptrdiff_t>(channels);
  u.multipliers.assign(multipliers.begin(), middle);
  u.negative_multipliers.assign(middle, multipliers.end());
  const bool is_sloped = !u.negative_multipliers.empty();
  u.shifts.assign(shifts.begin(), shifts.end());
  const ir::Value* bias = node.tensor("bias");
  bool is_simple = true;
  for (std::uint32_t c = 0; c < u.geometry.out_channels; ++c) {
    std::int64_t sum = 0;
    std::int64_t magnitude = 0;
    std::uint32_t lowest_weights = 0;
    for (std::uint32_t k = 0; k < window; ++k) {
      const std::int32_t w = weight(c, k);
      sum += w;
      magnitude += std::abs(w);
      lowest_weights += w == -128 ? 1 : 0;
    }
    const std::int64_t folded = (bias == nullptr ? 0 : bias->data.as<std::int32_t>()[c]) + input_offset * sum;
    if (folded < std::numeric_limits<std::int32_t>::min() || folded > std::numeric_limits<std::int32_t>::max())
      return {};
    if (u.shifts[c] < -31 || u.shifts[c] > 31) return {};
    const ChannelSums sums = ChannelSums::of(folded, sum, magnitude);
    const Multiplier multiplier = {u.multipliers[c], u.shifts[c]};
    const ChannelOutput output = {u.header.output_offset, u.header.activation_min, u.header.activation_max};
    const std::optional<std::int32_t> constant =
        is_sloped ? constant_result(sums, multiplier, u.negative_multipliers[c], output)
                  : constant_result(sums, multiplier, output);
    u.is_constant.push_back(constant.has_value());
    if (constant) {
      u.bias.push_back(constant_bias(*constant, u.header.output_offset));
      u.is_general.push_back(false);
      u.multipliers[c] = kConstantMultiplier.multiplier;
      if (is_sloped) u.negative_multipliers[c] = kConstantMultiplier.multiplier;
      u.shifts[c] = kConstantMultiplier.shift;
      continue;
    }
    u.bias.push_back(static_cast<std::int32_t>(folded));
    u.has_lowest_weights = u.has_lowest_weights || lowest_weights > 1;
    const std::int64_t largest = std::min<std::int64_t>(sums.magnitude(), std::numeric_limits<std::uint32_t>::max());
    u.is_general.push_back(!conv::is_simple_channel(static_cast<std::uint32_t>(largest), u.shifts[c]));
    is_simple = is_simple && !u.is_general.back();
  }
  u.header.rounding = conv::rounding_for(is_simple, u.header.activation_min, u.header.output_offset);
  return u;
}

std::vector<std::byte> packed_bytes(conv::Header header, const std::vector<std::byte>& stream) {
  header.stream_bytes = static_cast<std::uint32_t>(stream.size());
  std::vector<std::byte> bytes(sizeof header + stream.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  std::copy(stream.begin(), stream.end(), bytes.begin() + sizeof header);
  return bytes;
}

ir::Value* packed_constant(const Rewriter& rewriter, std::vector<std::byte> bytes) {
  const ir::TensorType type = {
      .dtype = DType::i8, .shape = {static_cast<std::int64_t>(bytes.size())}, .dim_order = {}, .quant = {}};
  return rewriter.graph.add_constant(rewriter.node.name + "_packed", type, ir::Bytes::own(std::move(bytes)));
}

}  // namespace cormorant::ops::conv2d
