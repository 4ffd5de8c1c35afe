// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/conv2d/kernel.h"
#include "ops/conv2d/nibbles.h"

namespace cormorant::ops::conv2d {

Error load_mve_nibbles(Call& call);
Error load_dsp_nibbles(Call& call);
Error load_scalar_nibbles(Call& call);
Error load_v6m_nibbles(Call& call);

namespace nibbles {

// Words of eight weights each.
template <bool kHasOffset>
inline void unpack_words(std::uint8_t* to, const std::uint8_t* from, std::uint32_t bytes) {
  auto* out = reinterpret_cast<std::uint32_t*>(to);
  const auto* in = reinterpret_cast<const std::uint32_t*>(from);
  for (std::uint32_t left = bytes / 4; left > 0; --left) {
    const std::uint32_t eight = *in++;
    const std::uint32_t low = eight & 0x0f0f0f0fU, high = (eight >> 4) & 0x0f0f0f0fU;
    *out++ = kHasOffset ? with_offset(low) : as_bytes(low);
    *out++ = kHasOffset ? with_offset(high) : as_bytes(high);
  }
}

inline void copy_words(std::uint8_t* to, const std::uint8_t* from, std::uint32_t bytes) {
  auto* out = reinterpret_cast<std::uint32_t*>(to);
  const auto* in = reinterpret_cast<const std::uint32_t*>(from);
  for (std::uint32_t left = bytes / 4; left > 0; --left) *out++ = *in++;
}

// Records of `blocks` blocks. Kept out of line: the caller's frame is beneath the kernel's.
template <auto Unpack>
[[gnu::noinline]] void unpack(const Stream& stream, std::uint8_t* to, const std::uint8_t* from, std::uint32_t blocks) {
  const std::uint32_t head = stream.bytes.weights_at();
  const std::uint32_t tail = stream.bytes.block_bytes() - head - stream.weights();
  for (; blocks > 0; --blocks) {
    copy_words(to, from, head);
    Unpack(to + head, from + head, stream.packed_weights());
    from += head + stream.packed_weights();
    to += head + stream.weights();
    copy_words(to, from, tail);
    from += tail;
    to += tail;
  }
}

// All but MVE only saturate: the caller clamps the whole output once. Inlined, to save stack.
template <const Variant& V, auto Convolve, auto Unpack>
[[gnu::always_inline]] inline void convolve(const PackedPlan& plan) {
  conv::Header header = *plan.header;
  conv::Geometry& g = header.geometry;
  const Stream stream(V, g);
  const std::uint32_t channels = g.out_channels, pass = stream.pass() * stream.bytes.block();
  auto* workspace = reinterpret_cast<std::uint8_t*>(plan.scratch);
  Convolution part{header, workspace, plan.input, plan.scratch + stream.pass_bytes(), dense_places(g, plan.out)};
  const std::uint8_t* from = plan.stream();
  for (std::uint32_t first = 0; first < channels; first += pass) {
    const std::uint32_t count = channels - first < pass ? channels - first : pass;
    const std::uint32_t blocks = (count + stream.bytes.block() - 1) >> stream.bytes.block_bits();
    unpack<Unpack>(stream, workspace, from, blocks);
    from += blocks * stream.block_bytes();
    g.outputs_per_group = g.out_channels = static_cast<std::uint16_t>(count);
    Convolve(part);
    part.places.out += pass;
  }
}

}  // namespace nibbles
}  // namespace cormorant::ops::conv2d
