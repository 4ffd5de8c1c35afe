// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolution with 16-bit activations and 8-bit weights, one output per input channel. The arithmetic, the
// header and what the compiler proves are those of ops/conv2d/words.h; what it cannot prove, and several outputs per
// input, are computed there as grouped convolutions. The loops over pixels are those for bytes (execute.h). One record
// per block of channels:
//   mve_words      8 channels: biases of 0 2 4 6, then of 1 3 5 7, weights[taps][8] int8, q in the biases' order
//   dsp_words      4 channels: bias[4], q[4], weights[taps][4] as 16-bit integers
//   scalar_words   4 channels: bias[4], q[4], weights[taps][4] int8
//   v6m_words      the same with m' + n · 2^16 in the place of q
#pragma once

#include "ops/conv2d/words.h"
#include "ops/depthwise_conv2d/depthwise_conv2d.h"

namespace cormorant::ops::depthwise::words {

using conv2d::words::Factor;
using conv2d::words::Header;
using conv2d::words::in_bytes;

enum class Layout : std::uint8_t { mve, dsp, scalar, v6m };

struct Variant {
  const char* name;  // of the program
  Layout layout;
};
inline constexpr Variant kMve{names::cormorant_depthwise_conv2d_mve_words, Layout::mve};
inline constexpr Variant kDsp{names::cormorant_depthwise_conv2d_dsp_words, Layout::dsp};
inline constexpr Variant kScalar{names::cormorant_depthwise_conv2d_scalar_words, Layout::scalar};
inline constexpr Variant kV6m{names::cormorant_depthwise_conv2d_v6m_words, Layout::v6m};

constexpr const Variant& choose_variant(const Target& target) {
  if (target.isa == Isa::mve) return kMve;
  if (target.isa == Isa::dsp) return kDsp;
  return conv2d::is_baseline(target) ? kV6m : kScalar;
}

constexpr bool is_computable(const conv::Geometry& g) {
  return conv::is_sound(g) && g.groups == 1 && g.in_channels == g.out_channels && g.in_channels < 0x8000 &&
         wide_product(g.taps(), g.in_channels) <= conv::kMaxPatch / 2;
}

struct Stream {
  Layout layout;
  std::uint32_t taps;
  std::uint32_t channels;

  constexpr Stream(Layout l, const conv::Geometry& g) : layout(l), taps(g.taps()), channels(g.out_channels) {}

  [[nodiscard]] constexpr std::uint32_t block() const { return layout == Layout::mve ? 8 : 4; }
  [[nodiscard]] constexpr std::uint32_t blocks() const { return (channels + block() - 1) / block(); }
  [[nodiscard]] constexpr std::uint32_t weight_bytes() const { return layout == Layout::dsp ? 2 : 1; }
  [[nodiscard]] constexpr std::uint32_t block_bytes() const { return block() * (8 + taps * weight_bytes()); }
  [[nodiscard]] constexpr std::uint64_t bytes() const { return wide_product(blocks(), block_bytes()); }
  [[nodiscard]] constexpr std::uint32_t record(std::uint32_t channel) const {
    return channel / block() * block_bytes();
  }
  [[nodiscard]] constexpr std::uint32_t slot(std::uint32_t channel) const {
    const std::uint32_t lane = channel % block();
    return layout == Layout::mve ? lane % 2 * 4 + lane / 2 : lane;
  }
  [[nodiscard]] constexpr std::uint32_t bias_index(std::uint32_t channel) const {
    return record(channel) + 4 * slot(channel);
  }
  [[nodiscard]] constexpr std::uint32_t factor_index(std::uint32_t channel) const {
    return record(channel) + (layout == Layout::mve ? 8 * (4 + taps) : 16) + 4 * slot(channel);
  }
  [[nodiscard]] constexpr std::uint32_t weight_index(std::uint32_t channel, std::uint32_t tap) const {
    return record(channel) + 32 + (tap * block() + channel % block()) * weight_bytes();
  }
  [[nodiscard]] constexpr std::int32_t stored_factor(const Factor& factor) const {
    return layout == Layout::v6m ? factor.multiplier | factor.shift << 16 : factor.high();
  }
  [[nodiscard]] constexpr Factor factor_of(std::int32_t stored) const {
    if (layout == Layout::v6m) return {stored & 0x7fff, stored >> 16};
    return {stored, 32};
  }
};

// The variant for bytes whose scratch and loop over pixels this one uses.
constexpr const depthwise::Variant& bytes_variant(Layout layout) {
  return layout == Layout::mve ? kMveKxk : layout == Layout::dsp ? depthwise::kDsp : depthwise::kScalar;
}
constexpr CheckedSize scratch_bytes(Layout layout, const conv::Geometry& g) {
  return depthwise::scratch_bytes(bytes_variant(layout), in_bytes(g));
}

}  // namespace cormorant::ops::depthwise::words
