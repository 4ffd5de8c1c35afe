// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d/prepack.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/requantize_v6m.h"
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/convolution.h"
#include "ops/conv2d/nibbles.h"
#include "ops/nodes.h"

namespace cormorant::ops::conv2d {
namespace {

void put_word(std::vector<std::byte>& to, std::uint32_t at, std::int32_t value) {
  std::memcpy(to.data() + at, &value, sizeof value);
}

void put_byte(std::vector<std::byte>& to, std::uint32_t at, std::int32_t value) {
  to[at] = static_cast<std::byte>(value & 0xff);
}

// A line has the same bytes as a column, and a dilated window over a column overlaps with the next ones in every
// dilation-th row, which kernels exploit.
bool is_dilated_line(const conv::Geometry& g) {
  return g.in_height == 1 && g.out_height == 1 && g.kernel_height == 1 && g.pad_top == 0 && g.dilation_width != 1;
}
void turn(conv::Geometry& g) {
  std::swap(g.in_height, g.in_width);
  std::swap(g.out_height, g.out_width);
  std::swap(g.kernel_height, g.kernel_width);
  std::swap(g.stride_height, g.stride_width);
  std::swap(g.dilation_height, g.dilation_width);
  std::swap(g.pad_top, g.pad_left);
}

void set_groups(conv::Geometry& g, std::uint32_t groups) {
  g.groups = static_cast<std::uint16_t>(groups);
  g.inputs_per_group = static_cast<std::uint16_t>(g.in_channels / groups);
  g.outputs_per_group = static_cast<std::uint16_t>(g.out_channels / groups);
}

// Merges groups, with zero weights between them: worth it if a group's channels fill no block or vector. The estimate
// is the inner loop's: a block of channels costs its patch and some overhead, and so does copying it.
std::uint32_t merged_groups(const Variant& variant, const conv::Geometry& g) {
  std::uint32_t best = 1;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint32_t merged = 1; merged <= g.groups; ++merged) {
    if (g.groups % merged != 0) continue;
    conv::Geometry candidate = g;
    set_groups(candidate, g.groups / merged);
    if (!is_computable(variant, candidate)) continue;
    const Stream stream(variant.layout, candidate);
    const std::uint32_t patch = stream.padded_patch();
    std::uint64_t cost = 0;  // instructions per pixel
    const conv2d::Layout kind = without_slopes(variant.layout);
    if (kind == Layout::mve) {
      // Channels past the last block of four are computed by a separate call.
      cost = stream.group_blocks() * (7 * patch / 16 + 14) + (stream.channels % 4 != 0 ? 60 : 0);
      cost += walk_of(candidate) == Walk::rows ? 10 : 15 + g.kernel_width * (8 + candidate.group_inputs() / 4);
    } else if (kind == Layout::halves) {
      cost = stream.group_blocks() * (9 * patch / 4 + 30) + g.taps() * 6 + 4 * patch + 12;
    } else if (variant.layout == Layout::dsp && has_pairs(candidate)) {
      cost = 17 * ((g.taps() + 1) / 2) + 40;
    } else if (variant.grouped) {
      const std::uint32_t copied = candidate.group_inputs() % 4 == 0 ? 2 : 4;
      cost = stream.group_blocks() * (2 * patch + 30) + g.taps() * 5 + copied * patch + 15;
    } else {
      cost = stream.group_blocks() * (2 * patch + 30) + g.taps() * 20 + 3 * patch;
    }
    cost *= candidate.groups;
    if (cost < least - least / 8) {  // zeros take flash, so the gain must be more than small
      least = cost;
      best = merged;
    }
  }
  return best;
}

// What Layout::halves requires of weights.
bool has_small_pairs(const Stream& layout, const std::vector<std::byte>& stream) {
  const auto magnitude = [&](std::uint32_t at) { return std::abs(std::to_integer<std::int8_t>(stream[at])); };
  for (std::uint32_t c = 0; c < layout.channels * layout.groups; ++c) {
    for (std::uint32_t k = 0; k < layout.padded_patch(); k += 2) {
      const std::uint32_t at = layout.weight_index(c, k);
      if (magnitude(at) + magnitude(at + 1) > kLargestPair) return false;
    }
  }
  return true;
}

// Marks the channels of which no sum can reach kSmallSumV6m: they are requantized with fewer instructions.
void mark_small_sums(const Unpacked& u, const Stream& layout, std::vector<std::byte>& stream) {
  for (std::uint32_t c = 0; c < u.geometry.out_channels; ++c) {
    std::int64_t largest = std::abs(std::int64_t{u.bias[c]});
    for (std::uint32_t k = 0; k < layout.padded_patch(); ++k) {
      largest += std::int64_t{128} * std::abs(std::to_integer<std::int8_t>(stream[layout.weight_index(c, k)]));
    }
    put_byte(stream, layout.small_index(c), !u.is_general[c] && largest < kSmallSumV6m ? 1 : 0);
  }
}

}  // namespace

std::optional<std::vector<std::byte>> pack(const Variant& variant, Unpacked& u, std::uint32_t inputs,
                                           const WeightAt& weight_at, Optimize optimize) {
  const std::uint32_t window = u.geometry.taps() * inputs;
  set_groups(u.geometry, u.geometry.in_channels / inputs);
  const std::uint32_t outputs = u.geometry.group_outputs();
  const std::uint32_t merged = optimize == Optimize::size ? 1 : merged_groups(variant, u.geometry);
  set_groups(u.geometry, u.geometry.groups / merged);
  u.header.geometry = u.geometry;
  if (!is_computable(variant, u.geometry) || !row_scratch_bytes(variant, u.geometry).fits()) return {};
  if (has_slopes(variant.layout) == u.negative_multipliers.empty()) return {};
  if (variant.layout == Layout::dsp_wide && !conv::is_simple(u.header.rounding)) return {};

  const Stream layout(variant.layout, u.geometry);
  if (layout.bytes() > 0x7fff0000U) return {};
  std::vector<std::byte> stream(layout.bytes(), std::byte{0});
  for (std::uint32_t c = 0; c < u.geometry.out_channels; ++c) {
    put_word(stream, layout.bias_index(c), u.bias[c] * layout.scale());
    put_word(stream, layout.multiplier_index(c), u.multipliers[c]);
    if (layout.is_sloped()) put_word(stream, layout.negative_multiplier_index(c), u.negative_multipliers[c]);
    const conv::Shifts shifts = conv::split_shift(u.shifts[c]);
    put_byte(stream, layout.right_shift_index(c), shifts.right);
    put_byte(stream, layout.left_shift_index(c), shifts.left);
    // Elements of the other groups in the patch have weights of zero.
    const auto put_weight = [&](std::uint32_t k, std::int32_t weight) {
      const std::int32_t stored = weight * layout.scale() + layout.weight_offset();
      put_byte(stream, layout.weight_index(c, k), stored);
      if (layout.weight_bytes() == 2) put_byte(stream, layout.weight_index(c, k) + 1, stored >> 8);
    };
    for (std::uint32_t k = 0; k < u.geometry.patch(); ++k) put_weight(k, 0);
    const std::uint32_t first = c / outputs % merged * inputs;
    for (std::uint32_t k = 0; k < window; ++k) {
      const std::uint32_t at = k / inputs * (inputs * merged) + first + k % inputs;
      put_weight(variant.by_columns ? place_by_columns(u.geometry, at) : at, u.weight(c, weight_at(c, k)));
    }
  }
  if (layout.kind() == Layout::halves && !has_small_pairs(layout, stream)) return {};
  if (layout.layout == Layout::halves) mark_small_sums(u, layout, stream);
  return packed_bytes(u.header, stream);
}

bool has_nibbles(std::span<const std::int8_t> weights) {
  return std::ranges::all_of(weights, [](std::int8_t w) { return w >= -8 && w <= 7; });
}

std::vector<std::byte> halved(const nibbles::Record& record, std::uint32_t count,
                              const std::vector<std::byte>& packed) {
  conv::Header header;
  std::memcpy(&header, packed.data(), sizeof header);
  std::vector<std::byte> records;
  const std::byte* from = packed.data() + sizeof header;
  for (; count > 0; --count) {
    records.insert(records.end(), from, from + record.head);
    from += record.head;
    std::vector<std::byte> weights(record.packed_weights());
    for (std::uint32_t k = 0; k < record.weights; ++k) {
      const auto weight = static_cast<std::uint32_t>(*from++);  // an offset of 128 is none of the lower bits
      weights[k / 8 * 4 + k % 4] |= static_cast<std::byte>((weight & 15U) << (k % 8 < 4 ? 0 : 4));
    }
    records.insert(records.end(), weights.begin(), weights.end());
    records.insert(records.end(), from, from + record.tail);
    from += record.tail;
  }
  return packed_bytes(header, records);
}

namespace {

// Whether the input is what a group of rows passes to its operators.
bool is_row(const ir::Value& input) {
  return input.producer != nullptr && input.producer->op.starts_with(nodes::cormorant_rows_);
}

}  // namespace

ir::Value* prepack_with(const Rewriter& rewriter, const Variant* forced) {
  const ir::Node& node = rewriter.node;
  const ir::Value& weight = *node.tensor("weight");
  const ir::Shape& ohwi = weight.type.shape;
  const auto weights = weight.data.as<std::int8_t>();
  const auto inputs = static_cast<std::uint32_t>(ohwi[3]);
  const auto window = static_cast<std::uint32_t>(ohwi[1] * ohwi[2]) * inputs;
  const ir::Shape& in = node.tensor("input")->type.shape;
  const ir::Shape& out = node.result()->type.shape;
  // From a text that contradicts itself: the runtime reports it.
  if (inputs == 0 || in.size() != 4 || out.size() != 4 || out[1] != ohwi[0] || in[1] % ohwi[3] != 0) return nullptr;
  const auto weight_at = [&](std::uint32_t c, std::uint32_t k) -> std::int32_t {
    return weights[std::size_t{c} * window + k];
  };
  std::optional<Unpacked> u = unpack(rewriter, {ohwi[1], ohwi[2]}, window, weight_at);
  if (!u) return nullptr;
  if (is_dilated_line(u->geometry)) turn(u->geometry);
  const bool is_sloped = !u->negative_multipliers.empty();
  if (forced == nullptr && in[1] == ohwi[3] && !is_sloped && has_nibbles(weights)) {
    const nibbles::Variant& packed_as = nibbles::choose_variant(rewriter.config.target);
    Unpacked copy = *u;
    const auto bytes = pack(packed_as.bytes, copy, inputs, weight_at, rewriter.config.target.optimize);
    if (bytes && nibbles::is_computable(packed_as, copy.geometry) &&
        nibbles::scratch_bytes(packed_as, copy.geometry).fits()) {
      const nibbles::Stream stream(packed_as, copy.geometry);
      return rewriter
          .emit(PackedConv2d<HostWorld>{.input = u->input,
                                        .packed = packed_constant(
                                            rewriter, halved(stream.record(), stream.bytes.blocks(), *bytes)),
                                        .scratch = {.bytes = nibbles::scratch_bytes(packed_as, copy.geometry).value()}},
                node.result()->type, packed_as.name)
          ->result();
    }
  }
  const Variant* variant = forced;
  if (variant == nullptr) {
    const bool is_grouped = in[1] != ohwi[3];
    variant = is_sloped ? &choose_prelu_variant(rewriter.config.target, u->geometry, is_row(*u->input), is_grouped)
                        : &choose_variant(rewriter.config.target, u->geometry, u->header.rounding, is_row(*u->input),
                                          is_grouped);
  }
  const Unpacked as_it_was = *u;
  std::optional<std::vector<std::byte>> bytes = pack(*variant, *u, inputs, weight_at, rewriter.config.target.optimize);
  if (!bytes && forced == nullptr && without_slopes(variant->layout) == Layout::halves) {
    variant = &variant_for_any_weights(rewriter.config.target, is_sloped);
    *u = as_it_was;
    bytes = pack(*variant, *u, inputs, weight_at, rewriter.config.target.optimize);
  }
  if (!bytes) return nullptr;
  return rewriter
      .emit(PackedConv2d<HostWorld>{.input = u->input,
                                    .packed = packed_constant(rewriter, std::move(*bytes)),
                                    .scratch = {.bytes = row_scratch_bytes(*variant, u->geometry).value()}},
            node.result()->type, variant->name)
      ->result();
}

ir::Value* prepack(const Rewriter& rewriter) { return prepack_with(rewriter, nullptr); }

}  // namespace cormorant::ops::conv2d
