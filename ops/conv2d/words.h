// SPDX-License-Identifier: Apache-2.0
//
// Convolution with 16-bit activations and 8-bit weights (8w16a): what compiler and kernels agree on. Linear layers are
// such convolutions, too. The arithmetic is that of TFLite's int16x8 reference: a 64-bit sum, then
//     m' = multiplier < 0x7FFF0000 ? (multiplier + 2^15) >> 16 : 0x7FFF,  n = 15 − shift
//     result = clamp((sum · m' + 2^(n − 1)) >> n)
// Zero points are 0, so padding is 0 and no offset is folded.
//
// If no sum can leave 32 bits and 16 <= n <= 32, which the compiler sees from the weights, packed kernels compute the
// same with 32 bits: with q = m' · 2^(32 − n) the result is the upper half of sum · q, rounded, which is one
// instruction on DSP (SMMULR) and MVE (VRMULH). Everything else is computed by cormorant::conv2d.words, on any CPU.
//
// A packed constant is a header and a stream of records, one per block of channels of a group:
//   words          bias int64, m' int32, n int32, weights as they are (ky, kx, channel), padded to 4
//   mve_words      bias[4] int32, weights: 8 elements of each channel in turn, q[4] int32
//   dsp_words      bias[2], q[2], weights: elements k, k + 1 of both channels, as SXTB16 takes them apart
//   scalar_words   bias[2], q[2], weights: element k of both channels
//   v6m_words      bias, m', n, weights + 128
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/conv2d/conv2d.h"

namespace cormorant::ops::conv2d::words {

struct Header {
  conv::Geometry geometry;
  std::int16_t activation_min = -32768;
  std::int16_t activation_max = 32767;
  std::uint32_t reserved = 0;
  std::uint32_t stream_bytes = 0;
};
static_assert(sizeof(Header) == 48 && offsetof(Header, geometry) == offsetof(conv::Header, geometry));

enum class Layout : std::uint8_t { plain, mve, dsp, scalar, v6m };

struct Variant {
  const char* name;  // of the program
  Layout layout;
};
inline constexpr Variant kPlain{names::cormorant_conv2d_words, Layout::plain};
inline constexpr Variant kMve{names::cormorant_conv2d_mve_words, Layout::mve};
inline constexpr Variant kDsp{names::cormorant_conv2d_dsp_words, Layout::dsp};
inline constexpr Variant kScalar{names::cormorant_conv2d_scalar_words, Layout::scalar};
inline constexpr Variant kV6m{names::cormorant_conv2d_v6m_words, Layout::v6m};
inline constexpr const Variant* kVariants[] = {&kPlain, &kMve, &kDsp, &kScalar, &kV6m};

constexpr const Variant& fast_variant(const Target& target) {
  if (target.isa == Isa::mve) return kMve;
  if (target.isa == Isa::dsp) return kDsp;
  return is_baseline(target) ? kV6m : kScalar;
}

// m' and n; the packed kernels' q is m' · 2^(32 − n).
struct Factor {
  std::int32_t multiplier;
  std::int32_t shift;  // n
  [[nodiscard]] constexpr bool is_fast() const { return shift >= 16 && shift <= 32; }
  [[nodiscard]] constexpr std::int32_t high() const {
    return static_cast<std::int32_t>(std::int64_t{multiplier} << (32 - shift));
  }
};
constexpr Factor factor_of(Multiplier m) {
  const std::int32_t reduced = m.multiplier < 0x7FFF0000 ? (m.multiplier + (1 << 15)) >> 16 : 0x7FFF;
  return {reduced, 15 - m.shift};
}
// The specification. Sums of our own compiler fit; those of a damaged constant's bias wrap like the hardware's.
constexpr std::int64_t rescaled(std::int64_t sum, const Factor& f) {
  const std::uint64_t product = static_cast<std::uint64_t>(sum) * static_cast<std::uint64_t>(f.multiplier);
  return static_cast<std::int64_t>(product + (std::uint64_t{1} << (f.shift - 1))) >> f.shift;
}
constexpr std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// The same image with bytes as channels: the loops for bytes copy patches and find pixels.
constexpr conv::Geometry in_bytes(const conv::Geometry& g) {
  conv::Geometry bytes = g;
  bytes.in_channels = static_cast<std::uint16_t>(2 * g.in_channels);
  bytes.out_channels = static_cast<std::uint16_t>(2 * g.out_channels);
  bytes.inputs_per_group = static_cast<std::uint16_t>(2 * g.inputs_per_group);
  bytes.outputs_per_group = static_cast<std::uint16_t>(2 * g.outputs_per_group);
  return bytes;
}

constexpr bool is_computable(const conv::Geometry& g) {
  return conv::is_sound(g) && conv::has_sound_groups(g) && g.in_channels < 0x8000 && g.out_channels < 0x8000 &&
         wide_product(g.taps(), g.in_channels) <= conv::kMaxPatch / 2;
}

// The packed stream after the header.
struct Stream {
  Layout layout;
  std::uint32_t patch;
  std::uint32_t channels;  // outputs of a group
  std::uint32_t groups;

  constexpr Stream(Layout l, const conv::Geometry& g)
      : layout(l), patch(g.patch()), channels(g.group_outputs()), groups(g.groups) {}

  [[nodiscard]] constexpr std::uint32_t block_bits() const {
    return layout == Layout::mve ? 2 : layout == Layout::dsp || layout == Layout::scalar ? 1 : 0;
  }
  [[nodiscard]] constexpr std::uint32_t block() const { return 1U << block_bits(); }
  [[nodiscard]] constexpr std::uint32_t group_blocks() const { return (channels + block() - 1) >> block_bits(); }
  [[nodiscard]] constexpr std::uint32_t blocks() const { return groups * group_blocks(); }
  [[nodiscard]] constexpr std::uint32_t padded_patch() const {
    return round_up(patch, layout == Layout::mve ? 8 : layout == Layout::scalar ? 2 : 4);
  }
  // Before the weights: biases and, except on MVE, the factors.
  [[nodiscard]] constexpr std::uint32_t weights_at() const { return layout == Layout::v6m ? 12 : 16; }
  [[nodiscard]] constexpr std::uint32_t block_bytes() const {
    return weights_at() + block() * padded_patch() + (layout == Layout::mve ? 16 : 0);
  }
  [[nodiscard]] constexpr std::uint32_t group_bytes() const { return group_blocks() * block_bytes(); }
  [[nodiscard]] constexpr std::uint64_t bytes() const { return wide_product(blocks(), block_bytes()); }

  [[nodiscard]] constexpr std::uint32_t record(std::uint32_t channel) const {
    return (channel / channels * group_blocks() + channel % channels / block()) * block_bytes();
  }
  [[nodiscard]] constexpr std::uint32_t lane(std::uint32_t channel) const { return channel % channels % block(); }
  [[nodiscard]] constexpr std::uint32_t bias_index(std::uint32_t channel) const {
    return record(channel) + 4 * lane(channel);
  }
  // q, or m' followed by n.
  [[nodiscard]] constexpr std::uint32_t factor_index(std::uint32_t channel) const {
    switch (layout) {
      case Layout::plain:
        return record(channel) + 8;
      case Layout::v6m:
        return record(channel) + 4;
      case Layout::mve:
        return record(channel) + 16 + 4 * padded_patch() + 4 * lane(channel);
      default:
        return record(channel) + 8 + 4 * lane(channel);
    }
  }
  [[nodiscard]] constexpr bool has_shifts() const { return layout == Layout::plain || layout == Layout::v6m; }
  [[nodiscard]] constexpr std::uint32_t weight_index(std::uint32_t channel, std::uint32_t k) const {
    const std::uint32_t start = record(channel) + weights_at();
    switch (layout) {
      case Layout::mve:
        return start + (k / 8 * 4 + lane(channel)) * 8 + k % 8;
      case Layout::dsp:
      case Layout::scalar:
        return start + 2 * k + lane(channel);
      default:
        return start + k;
    }
  }
  [[nodiscard]] constexpr std::int32_t weight_offset() const { return layout == Layout::v6m ? 128 : 0; }
};

// Bytes of scratch: the patches of one block of pixels.
constexpr CheckedSize scratch_bytes(Layout layout, const conv::Geometry& g) {
  const std::uint32_t patch = Stream(layout, g).padded_patch();
  switch (layout) {
    case Layout::plain:
      return 0U;
    case Layout::mve:
      return conv2d::scratch_bytes(conv::is_one_pixel(g) ? kMve1x1 : kMveKxk, in_bytes(g));
    case Layout::dsp:
      return 3 * 2 * patch;
    case Layout::scalar:
      return 3 * 4 * patch;
    case Layout::v6m:
      break;
  }
  return 4 * 4 * patch;
}

}  // namespace cormorant::ops::conv2d::words
