// SPDX-License-Identifier: Apache-2.0
//
// Lays constants out for a packed kernel from ExecuTorch's order (HWO), during execution: see ops/conv2d/repack.h.
// There are few of them, so all are laid out at once.
#pragma once

#include "ops/conv2d/repack.h"
#include "ops/depthwise_conv2d/kernel.h"

namespace cormorant::ops::depthwise {

// Writes one channel's weights, byte by byte, to its place in a block; returns their sum.
template <Layout kLayout>
std::int32_t put_weights(const Stream& stream, std::uint8_t* to, std::uint32_t lane, const std::int8_t* from,
                         std::uint32_t step) {
  std::int32_t sum = 0;
  for (std::uint32_t tap = 0; tap < stream.taps; ++tap, from += step) {
    const std::int32_t weight = *from;
    sum += weight;
    std::uint32_t at = 0;
    if constexpr (kLayout == Layout::mve) {
      at = (stream.by_columns ? tap % 3 * 3 + tap / 3 : tap) * 16 + lane;
    } else if constexpr (kLayout == Layout::dsp) {
      at = conv::pair_weight_index(stream.taps, tap, lane);
    } else {
      at = tap * 4 + lane;
    }
    to[at] = static_cast<std::uint8_t>(weight);
  }
  return sum;
}

// clear(at, bytes) sets bytes to zero: the last block may have surplus channels. Kept out of line: the caller's frame
// is beneath the kernel's.
template <Layout kLayout, class Clear>
[[gnu::noinline]] void repack(const conv::Direct& d, const Stream& stream, Clear clear) {
  constexpr std::uint32_t kBlock = kLayout == Layout::mve ? 16 : 4;
  const std::uint32_t channels = d.geometry.out_channels;
  std::uint8_t* record = d.workspace;
  std::uint32_t channel = 0;
  for (std::uint32_t first = 0; first < stream.channels; first += kBlock, record += stream.block_bytes()) {
    if (stream.channels - first < kBlock) clear(record, stream.block_bytes());
    std::uint8_t* const multipliers = record + (4 + stream.taps) * kBlock;
    std::uint8_t* const shifts = multipliers + 4 * kBlock;
    for (std::uint32_t lane = 0; lane < kBlock && first + lane < stream.channels; ++lane) {
      const std::uint32_t slot = stream.slot(lane);
      const std::int32_t sum = put_weights<kLayout>(stream, record + 4 * kBlock, lane, d.weights + channel, channels);
      conv2d::put_word(record + 4 * slot, conv2d::folded_bias(d, channel, sum));
      conv2d::put_word(multipliers + 4 * slot, d.multipliers[channel]);
      const conv::Shifts stored = stream.stored_shifts(d.shifts[channel], !d.is_simple(channel));
      shifts[slot] = static_cast<std::uint8_t>(stored.right);
      shifts[kBlock + slot] = static_cast<std::uint8_t>(stored.left);
      if (++channel == channels) channel = 0;  // vectors of several pixels have every channel several times
    }
  }
}

// Calls Convolve(convolution) with the constants laid out for `variant`. A template argument, not a pointer, so that
// the stack analysis knows what this calls.
template <Layout kLayout, auto Convolve, class Clear>
[[gnu::noinline]] void convolve_repacked(const conv::Direct& d, const Variant& variant, Clear clear) {
  conv::Header header = conv2d::header_of(d);
  header.has_lowest_weights = (d.variant & conv::kLowestWeights) != 0 ? 1 : 0;
  const Stream stream(variant, d.geometry);
  repack<kLayout>(d, stream, clear);
  auto* scratch =
      reinterpret_cast<std::int8_t*>(d.workspace + whole_vectors(static_cast<std::uint32_t>(stream.bytes())));
  Convolve(conv2d::Convolution{header, d.workspace, d.input, scratch, conv2d::dense_places(d.geometry, d.out)});
}

}  // namespace cormorant::ops::depthwise
