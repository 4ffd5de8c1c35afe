// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d/bands.h"

#include <cstddef>
#include <cstring>
#include <vector>

#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/overlap.h"
#include "ops/conv2d/overlap_hook.h"

namespace cormorant::ops::conv2d {
namespace {

constexpr std::uint32_t kLowestBand = 4;  // rows: below, time is lost faster than memory is won
constexpr std::uint32_t kMostBands = 255;
constexpr std::int64_t kStretchCycles = 330;  // what each costs besides its pixels

std::uint32_t rows_of(const Variant& variant, const conv::Header& header) {
  const std::optional<conv::Order> order = order_of(variant, header);
  return order ? order->rows : 0;
}

}  // namespace

std::optional<Bands> next_bands(const ir::Node& node) {
  const auto find = [](const Variant& variant, conv::Header header) -> std::optional<Bands> {
    const conv::Geometry& g = header.geometry;
    const std::uint32_t now = rows_of(variant, header);
    if (now == 0) return std::nullopt;
    const auto bands_of = [&](std::uint32_t rows) { return (g.out_height + rows - 1) / rows; };
    for (std::uint32_t bands = bands_of(now) + 1; bands <= kMostBands; ++bands) {
      header.bands = static_cast<std::uint8_t>(bands);
      const std::uint32_t rows = rows_of(variant, header);
      if (rows < kLowestBand) break;
      if (rows == now) continue;
      const std::int64_t columns = std::int64_t{g.batch} * g.groups * g.out_width * g.dilation_height;
      return Bands{header.bands, kStretchCycles * columns * (bands_of(rows) - bands_of(now))};
    }
    return std::nullopt;
  };
  return with_packed(node, kVariants, find).value_or(std::nullopt);
}

void set_bands(ir::Graph& graph, ir::Node& node, std::uint8_t count) {
  const ir::Value& old = *node.tensor("packed");
  std::vector<std::byte> bytes(old.data.bytes.begin(), old.data.bytes.end());
  bytes[offsetof(conv::Header, bands)] = std::byte{count};
  node.set("packed", graph.add_constant(old.name, old.type, ir::Bytes::own(std::move(bytes))));
}

}  // namespace cormorant::ops::conv2d
