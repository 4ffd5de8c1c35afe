// SPDX-License-Identifier: Apache-2.0
//
// Operator::overlap of the packed convolutions: the geometry stands in the constant's header. Programs that name
// ExecuTorch's operators may run with kernels of others, of whose order nothing is known. Host only.
#pragma once

#include <cstring>

#include "kernels/conv_overlap.h"
#include "ops/op.h"

namespace cormorant::ops::conv2d {

// order_of(variant, geometry) as in overlap.h.
template <class Variants, class OrderOf>
std::optional<std::uint64_t> packed_overlap(const ir::Node& node, std::string_view argument, const Variants& variants,
                                            OrderOf order_of) {
  if (argument != "input") return std::nullopt;
  const std::string name = program_name(node.op);
  for (const auto* variant : variants) {
    if (variant->name != name) continue;
    const std::span<const std::byte> packed = node.tensor("packed")->data.bytes;
    if (packed.size() < sizeof(conv::Header)) return std::nullopt;
    conv::Header header;
    std::memcpy(&header, packed.data(), sizeof header);
    const std::optional<conv::Order> order = order_of(*variant, header.geometry);
    if (!order) return std::nullopt;
    return conv::overlap_distance(header.geometry, *order);
  }
  return std::nullopt;
}

}  // namespace cormorant::ops::conv2d
