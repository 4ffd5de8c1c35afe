// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d/prepack.h"

#include <algorithm>
#include <cstring>

#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/convolution.h"

namespace cormorant::ops::conv2d {
namespace {

void put_word(std::vector<std::byte>& to, std::uint32_t at, std::int32_t value) {
  std::memcpy(to.data() + at, &value, sizeof value);
}

void put_byte(std::vector<std::byte>& to, std::uint32_t at, std::int32_t value) {
  to[at] = static_cast<std::byte>(value & 0xff);
}

}  // namespace

ir::Value* prepack_with(const Rewriter& rewriter, const Variant* forced) {
  const ir::Node& node = rewriter.node;
  const ir::Value& weight = *node.tensor("weight");
  const ir::Shape& ohwi = weight.type.shape;
  if (ohwi[3] != node.tensor("input")->type.shape[1]) return nullptr;  // grouped
  const auto weights = weight.data.as<std::int8_t>();
  const auto window = static_cast<std::uint32_t>(ohwi[1] * ohwi[2] * ohwi[3]);
  const auto weight_at = [&](std::uint32_t c, std::uint32_t k) -> std::int32_t {
    return weights[std::size_t{c} * window + k];
  };
  const std::optional<Unpacked> u = unpack(rewriter, {ohwi[1], ohwi[2]}, window, weight_at);
  if (!u) return nullptr;
  const Variant& variant = forced != nullptr ? *forced : choose_variant(rewriter.config.target, u->geometry);
  if (!is_computable(variant, u->geometry)) return nullptr;

  const Stream layout(variant.layout, u->geometry);
  if (layout.bytes() > 0x7fff0000U) return nullptr;
  // Channels and elements that only fill up have weights of zero.
  std::vector<std::byte> stream(layout.bytes(), std::byte{0});
  for (std::uint32_t c = 0; c < layout.channels; ++c) {
    put_word(stream, layout.bias_index(c), u->bias[c]);
    put_word(stream, layout.multiplier_index(c), u->multipliers[c]);
    put_byte(stream, layout.right_shift_index(c), std::min(u->shifts[c], 0));
    put_byte(stream, layout.left_shift_index(c), std::max(u->shifts[c], 0));
    for (std::uint32_t k = 0; k < window; ++k) {
      put_byte(stream, layout.weight_index(c, k), weight_at(c, k) + layout.weight_offset());
    }
  }
  return rewriter
      .emit(PackedConv2d<HostWorld>{.input = u->input,
                                    .packed = packed_constant(rewriter, u->header, std::move(stream)),
                                    .scratch = {.bytes = scratch_bytes(variant, u->geometry)}},
            node.result()->type, variant.name)
      ->result();
}

ir::Value* prepack(const Rewriter& rewriter) { return prepack_with(rewriter, nullptr); }

}  // namespace cormorant::ops::conv2d
