// SPDX-License-Identifier: Apache-2.0
#include "ops/depthwise_conv2d/words_pack.h"

#include <algorithm>
#include <cstring>

namespace cormorant::ops::depthwise::words {
namespace {

void put_word(std::vector<std::byte>& to, std::uint32_t at, std::int32_t value) {
  std::memcpy(to.data() + at, &value, sizeof value);
}

}  // namespace

std::vector<std::byte> pack(const Variant& variant, const conv2d::words::Layer& layer, const conv::Geometry& geometry) {
  const Stream layout(variant.layout, geometry);
  std::vector<std::byte> stream(layout.bytes(), std::byte{0});
  for (std::uint32_t c = 0; c < geometry.out_channels; ++c) {
    put_word(stream, layout.bias_index(c), static_cast<std::int32_t>(layer.bias[c]));
    put_word(stream, layout.factor_index(c), layout.stored_factor(layer.factors[c]));
    for (std::uint32_t k = 0; k < layer.window; ++k) {
      const std::int32_t weight = layer.weight(c, k);
      const std::uint32_t at = layout.weight_index(c, k);
      stream[at] = static_cast<std::byte>(weight & 0xff);
      if (layout.weight_bytes() == 2) stream[at + 1] = static_cast<std::byte>(weight >> 8 & 0xff);
    }
  }
  Header header = layer.header;
  header.geometry = geometry;
  header.stream_bytes = static_cast<std::uint32_t>(stream.size());
  std::vector<std::byte> bytes(sizeof header + stream.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  std::copy(stream.begin(), stream.end(), bytes.begin() + sizeof header);
  return bytes;
}

}  // namespace cormorant::ops::depthwise::words
