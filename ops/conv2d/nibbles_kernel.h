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

// So many of them; returns what follows. Kept out of line: the caller's frame is beneath the kernel's.
template <auto Unpack>
[[gnu::noinline]] const std::uint8_t* unpack(const Record& record, std::uint8_t* to, const std::uint8_t* from,
                                             std::uint32_t count) {
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
  return from;
}

// All but MVE only saturate: the caller clamps the whole output once. Inlined, and with little that outlives the calls,
// to save stack.
template <const Variant& V, auto Convolve, auto Unpack>
[[gnu::always_inline]] inline void convolve(const Convolution& whole) {
  constexpr std::uint32_t kBits = conv2d::Stream(V.bytes.layout, conv::Geometry{}).block_bits();
  conv::Header header = whole.header;
  conv::Geometry& g = header.geometry;
  const Record record = Stream(V, g).record();
  const std::uint32_t pass = Stream(V, g).pass() << kBits;
  Convolution part{header, reinterpret_cast<std::uint8_t*>(whole.scratch), whole.input,
                   whole.scratch + Stream(V, g).pass_bytes(), whole.places};
  const std::uint8_t* from = whole.stream;
  for (std::uint32_t left = g.out_channels; left > 0; left -= g.out_channels, part.places.out += pass) {
    g.outputs_per_group = g.out_channels = static_cast<std::uint16_t>(left < pass ? left : pass);
    const std::uint32_t blocks = (g.out_channels + (1U << kBits) - 1) >> kBits;
    from = unpack<Unpack>(record, reinterpret_cast<std::uint8_t*>(whole.scratch), from, blocks);
    Convolve(part);
  }
}

}  // namespace nibbles
}  // namespace cormorant::ops::conv2d
