// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/conv2d/kernel.h"
#include "ops/conv2d/nibbles.h"

namespace cormorant::ops::conv2d {

Error load_mve_nibbles(Call& call);
Error load_dsp_nibbles(Call& call);
Error load_scalar_nibbles(Call& call);
Error load_v6m_nibbles(Call& call);

// Of a packed constant with 4-bit weights. All but MVE only saturate: the caller clamps the whole output once.
[[gnu::noinline]] void convolve_mve_nibbles(const Convolution& c);
[[gnu::noinline]] void convolve_dsp_nibbles(const Convolution& c);
[[gnu::noinline]] void convolve_scalar_nibbles(const Convolution& c);
[[gnu::noinline]] void convolve_v6m_nibbles(const Convolution& c);

namespace nibbles {

// The packed shape of a variant for a geometry that it computes.
PackedShape packed_shape(const Variant& variant, const conv::Geometry& geometry);

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

// The same by MVE; defined there.
void unpack_vectors(std::uint8_t* to, const std::uint8_t* from, std::uint32_t bytes);

inline void copy_words(std::uint8_t* to, const std::uint8_t* from, std::uint32_t bytes) {
  auto* out = reinterpret_cast<std::uint32_t*>(to);
  const auto* in = reinterpret_cast<const std::uint32_t*>(from);
  for (std::uint32_t left = bytes / 4; left > 0; --left) *out++ = *in++;
}

// So many of them. Kept out of line: the caller's frame is beneath the kernel's.
template <auto Unpack>
[[gnu::noinline]] void unpack(const Record& record, std::uint8_t* to, const std::uint8_t* from, std::uint32_t count) {
  const std::uint32_t packed = record.packed_weights();
  for (; count > 0; --count) {
    copy_words(to, from, record.head);
    Unpack(to + record.head, from + record.head, packed);
    from += record.head + packed;
    to += record.head + record.weights;
    copy_words(to, from, record.tail);
    from += record.tail;
    to += record.tail;
  }
}

// Inlined, to save stack.
template <const Variant& V, auto Convolve, auto Unpack>
[[gnu::always_inline]] inline void convolve(const Convolution& whole) {
  conv::Header header = whole.header;
  conv::Geometry& g = header.geometry;
  const Stream stream(V, g);
  const std::uint32_t channels = g.out_channels, pass = stream.pass() * stream.bytes.block();
  auto* workspace = reinterpret_cast<std::uint8_t*>(whole.scratch);
  Convolution part{header, workspace, whole.input, whole.scratch + stream.pass_bytes(), whole.places};
  const std::uint8_t* from = whole.stream;
  for (std::uint32_t first = 0; first < channels; first += pass) {
    const std::uint32_t count = channels - first < pass ? channels - first : pass;
    const std::uint32_t blocks = (count + stream.bytes.block() - 1) >> stream.bytes.block_bits();
    unpack<Unpack>(stream.record(), workspace, from, blocks);
    from += blocks * stream.block_bytes();
    g.outputs_per_group = g.out_channels = static_cast<std::uint16_t>(count);
    Convolve(part);
    part.places.out += pass;
  }
}

}  // namespace nibbles
}  // namespace cormorant::ops::conv2d
