// SPDX-License-Identifier: Apache-2.0
//
// Operator::overlap of the packed convolutions: the geometry is in the constant's header. Programs that name
// ExecuTorch's operators may run with other kernels, about whose order nothing is known. Host only.
#pragma once

#include <cstring>

#include "kernels/conv_overlap.h"
#include "ops/op.h"

namespace cormorant::ops::conv2d {

// A program that is compiled again, or a text, may have any header: its numbers count only if they are the tensors'.
template <class Variant>
bool fits(const Variant& variant, const conv::Geometry& g, const ir::Node& node) {
  const auto has = [&](const ir::Value* image, std::uint32_t channels, std::uint32_t height, std::uint32_t width) {
    return static_cast<std::uint64_t>(image->type.elements()) ==
           std::uint64_t{g.batch} * channels * (std::uint64_t{height} * width);
  };
  return is_computable(variant, g) && has(node.tensor("input"), g.in_channels, g.in_height, g.in_width) &&
         has(node.results.at(0), g.out_channels, g.out_height, g.out_width);
}

// Calls read(variant, header) with the variant that a packed node names, and its header; none for another node, or if
// the header is not one that such a node can have.
template <class Variants, class Read>
auto with_packed(const ir::Node& node, const Variants& variants, Read read)
    -> std::optional<decltype(read(*variants[0], conv::Header{}))> {
  const std::string name = program_name(node.op);
  for (const auto* variant : variants) {
    if (variant->name != name) continue;
    const std::span<const std::byte> packed = node.tensor("packed")->data.bytes;
    if (packed.size() < sizeof(conv::Header)) return std::nullopt;
    conv::Header header;
    std::memcpy(&header, packed.data(), sizeof header);
    if (!fits(*variant, header.geometry, node)) return std::nullopt;
    return read(*variant, header);
  }
  return std::nullopt;
}

// order_of(variant, header) as in overlap.h.
template <class Variants, class OrderOf>
std::optional<std::uint64_t> packed_overlap(const ir::Node& node, std::string_view argument, const Variants& variants,
                                            OrderOf order_of) {
  if (argument != "input") return std::nullopt;
  const auto order = with_packed(node, variants, [&](const auto& variant, const conv::Header& header) {
    const std::optional<conv::Order> found = order_of(variant, header);
    return found ? std::optional<std::uint64_t>(conv::overlap_distance(header.geometry, *found)) : std::nullopt;
  });
  return order.value_or(std::nullopt);
}

}  // namespace cormorant::ops::conv2d
