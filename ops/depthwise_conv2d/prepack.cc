// SPDX-License-Identifier: Apache-2.0
#include "ops/depthwise_conv2d/prepack.h"

#include <algorithm>
#include <cstring>

#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/convolution.h"
#include "ops/conv2d/prepack.h"
#include "ops/depthwise_conv2d/nibbles.h"

namespace cormorant::ops::depthwise {
namespace {

void put_word(std::vector<std::byte>& to, std::uint32_t at, std::int32_t value) {
  std::memcpy(to.data() + at, &value, sizeof value);
}

void put_byte(std::vector<std::byte>& to, std::uint32_t at, std::int32_t value) {
  to[at] = static_cast<std::byte>(value & 0xff);
}

}  // namespace

std::optional<std::vector<std::byte>> pack(const Variant& variant, conv2d::Unpacked& u, std::uint32_t window,
                                           const conv2d::WeightAt& weight_at) {
  if (!is_computable(variant, u.geometry) || !scratch_bytes(variant, u.geometry).fits()) return {};
  if (variant.is_3x3 && u.has_lowest_weights) return {};
  if (variant.layout == Layout::dsp_wide && !conv::is_simple(u.header.rounding)) return {};
  if (variant.is_sloped == u.negative_multipliers.empty()) return {};
  u.header.has_lowest_weights = u.has_lowest_weights ? 1 : 0;

  const Stream layout(variant, u.geometry);
  if (layout.bytes() > 0x7fff0000U) return {};
  std::vector<std::byte> stream(layout.bytes(), std::byte{0});
  for (std::uint32_t i = 0; i < layout.channels; ++i) {
    const std::uint32_t c = i % u.geometry.out_channels;
    put_word(stream, layout.bias_index(i), u.bias[c] * layout.scale());
    put_word(stream, layout.multiplier_index(i), u.multipliers[c]);
    if (layout.has_slopes) put_word(stream, layout.negative_multiplier_index(i), u.negative_multipliers[c]);
    const conv::Shifts shifts = layout.stored_shifts(u.shifts[c], u.is_general[c]);
    put_byte(stream, layout.right_shift_index(i), shifts.right);
    put_byte(stream, layout.left_shift_index(i), shifts.left);
    for (std::uint32_t k = 0; k < window; ++k) {
      const std::int32_t stored = u.weight(c, weight_at(c, k)) * layout.scale();
      put_byte(stream, layout.weight_index(i, k), stored);
      if (layout.weight_bytes() == 2) put_byte(stream, layout.weight_index(i, k) + 1, stored >> 8);
    }
  }
  return conv2d::packed_bytes(u.header, stream);
}

ir::Value* prepack_with(const Rewriter& rewriter, const Variant* forced) {
  const ir::Node& node = rewriter.node;
  const ir::Value& weight = *node.tensor("weight");
  const ir::Shape& hwo = weight.type.shape;  // after a leading 1
  const auto weights = weight.data.as<std::int8_t>();
  const auto window = static_cast<std::uint32_t>(hwo[1] * hwo[2]);
  const auto weight_at = [&](std::uint32_t c, std::uint32_t k) -> std::int32_t {
    return weights[k * static_cast<std::size_t>(hwo[3]) + c];
  };
  std::optional<conv2d::Unpacked> u = conv2d::unpack(rewriter, {hwo[1], hwo[2]}, window, weight_at);
  if (!u) return nullptr;
  const auto emit = [&](const char* name, const std::vector<std::byte>& packed, std::uint32_t scratch) {
    return rewriter
        .emit(
            conv2d::PackedConv2d<HostWorld>{
                .input = u->input, .packed = conv2d::packed_constant(rewriter, packed), .scratch = {.bytes = scratch}},
            node.result()->type, name)
        ->result();
  };
  const bool is_sloped = !u->negative_multipliers.empty();
  if (forced == nullptr && !is_sloped && conv2d::has_nibbles(weights)) {
    const nibbles::Variant& narrow = nibbles::choose_variant(rewriter.config.target, u->geometry);
    conv2d::Unpacked copy = *u;
    const std::optional<std::vector<std::byte>> bytes = pack(narrow.bytes, copy, window, weight_at);
    const CheckedSize scratch = nibbles::scratch_bytes(narrow, copy.geometry);
    if (bytes && scratch.fits()) {
      const nibbles::Stream stream(narrow, copy.geometry);
      return emit(narrow.name, conv2d::halved(stream.record(), stream.bytes.blocks(), *bytes), scratch.value());
    }
  }
  const Variant& variant =
      forced != nullptr ? *forced
      : is_sloped       ? choose_prelu_variant(rewriter.config.target)
                  : choose_variant(rewriter.config.target, u->geometry, u->has_lowest_weights, u->header.rounding);
  const std::optional<std::vector<std::byte>> bytes = pack(variant, *u, window, weight_at);
  if (!bytes) return nullptr;
  return emit(variant.name, *bytes, scratch_bytes(variant, u->geometry).value());
}

ir::Value* prepack(const Rewriter& rewriter) { return prepack_with(rewriter, nullptr); }

}  // namespace cormorant::ops::depthwise
