// SPDX-License-Identifier: Apache-2.0
//
// Programs of other compilers, and those for any CPU, have constants as ExecuTorch lays them out. The packed kernels
// are several times faster than anything that reads these directly, and laying a weight out takes a few instructions,
// once per inference, while it serves every pixel. So it is done during execution, for as many channels at a time as
// the workspace holds: the packed kernel computes these channels of all pixels, then the next ones follow.
#pragma once

#include "ops/conv2d/kernel.h"

namespace cormorant::ops::conv2d {

// The order of a convolution's weights: OHWI, or HWO for one input channel.
struct Weights {
  const std::int8_t* first;
  std::uint32_t channel_step;
  std::uint32_t element_step;
};

inline void put_word(std::uint8_t* at, std::int32_t value) { *reinterpret_cast<std::int32_t*>(at) = value; }

inline std::int32_t folded_bias(const conv::Direct& d, std::uint32_t channel, std::int32_t sum_of_weights) {
  return (d.bias == nullptr ? 0 : d.bias[channel]) + d.input_offset * sum_of_weights;
}

inline conv::Header header_of(const conv::Direct& d) {
  conv::Header header;
  header.geometry = d.geometry;
  header.output_offset = d.output_offset;
  header.pad_value = static_cast<std::int8_t>(-d.input_offset);
  header.activation_min = d.activation_min;
  header.activation_max = d.activation_max;
  header.rounding = d.rounding;
  return header;
}

// Writes a channel's weights, byte by byte, to their place in its record; returns their sum.
template <Layout kLayout>
std::int32_t put_weights(std::uint8_t* to, std::uint32_t lane, const std::int8_t* from, std::uint32_t step,
                         std::uint32_t count) {
  std::int32_t sum = 0;
  for (std::uint32_t k = 0; k < count; ++k, from += step) {
    const std::int32_t weight = *from;
    sum += weight;
    const auto byte = static_cast<std::uint8_t>(weight);
    if constexpr (kLayout == Layout::mve) {
      to[(k / 16 * 4 + lane) * 16 + k % 16] = byte;
    } else if constexpr (kLayout == Layout::dsp) {
      to[k / 4 * 8 + k % 2 * 4 + k % 4 / 2 * 2 + lane] = byte;
    } else if constexpr (kLayout == Layout::scalar) {
      to[k * 2 + lane] = byte;
    } else {
      to[k] = static_cast<std::uint8_t>(weight + 128);
    }
  }
  return sum;
}

// `count` channels from `first` on. clear(at, bytes) sets bytes to zero: patches are padded with elements that have no
// weight, and blocks with channels that are not needed. Kept out of line: the caller's frame is beneath the kernel's.
template <Layout kLayout, auto Put, class Clear>
[[gnu::noinline]] void repack(const conv::Direct& d, const Weights& weights, const Stream& stream, std::uint32_t first,
                              std::uint32_t count, Clear clear) {
  std::uint8_t* record = d.workspace;
  const std::uint32_t block = stream.block();
  for (std::uint32_t done = 0; done < count; done += block, record += stream.block_bytes()) {
    if (stream.padded_patch() != stream.patch || count - done < block) clear(record, stream.block_bytes());
    for (std::uint32_t lane = 0; lane < block && done + lane < count; ++lane) {
      const std::uint32_t channel = first + done + lane;
      const std::int32_t sum = Put(record + stream.weights_at(), lane, weights.first + channel * weights.channel_step,
                                   weights.element_step, stream.patch);
      put_word(record + 4 * lane, folded_bias(d, channel, sum));
      put_word(record + stream.multipliers_at() + 4 * lane, d.multipliers[channel]);
      const conv::Shifts shifts = conv::split_shift(d.shifts[channel]);
      record[stream.shifts_at() + lane] = static_cast<std::uint8_t>(shifts.right);
      record[stream.shifts_at() + block + lane] = static_cast<std::uint8_t>(shifts.left);
    }
  }
}

// The functions are template arguments, not pointers, so that the stack analysis knows what this calls.
template <Layout kLayout, auto Convolve, auto Put, class Clear>
void convolve_repacked(const conv::Direct& d, const Weights& weights, Clear clear) {
  conv::Header header = header_of(d);
  conv::Geometry& g = header.geometry;
  const std::uint32_t channels = g.out_channels;
  const Places all = dense_places(g, d.out);
  g.inputs_per_group = g.in_channels;
  g.outputs_per_group = g.out_channels = d.pass;
  auto* scratch = reinterpret_cast<std::int8_t*>(d.workspace +
                                                 round_up(static_cast<std::uint32_t>(Stream(kLayout, g).bytes()), 16));
  for (std::uint32_t first = 0; first < channels; first += d.pass) {
    const std::uint32_t count = channels - first < d.pass ? channels - first : d.pass;
    g.outputs_per_group = g.out_channels = static_cast<std::uint16_t>(count);
    repack<kLayout, Put>(d, weights, Stream(kLayout, g), first, count, clear);
    Places places = all;
    places.out += first;
    Convolve(Convolution{header, d.workspace, d.input, scratch, places});
  }
}

inline Weights ohwi_of(const conv::Direct& d) { return {d.weights, d.geometry.taps() * d.group_channels, 1}; }
// For a depthwise convolution of one input channel, which is an ordinary one.
inline Weights hwo_of(const conv::Direct& d) { return {d.weights, 1, d.geometry.out_channels}; }

// The convolution of a plan that has a workspace. All but MVE clamp the whole output.
void convolve_repacked_mve(const conv::Direct& d, const Weights& weights);
void convolve_repacked_dsp(const conv::Direct& d, const Weights& weights);
void convolve_repacked_scalar(const conv::Direct& d, const Weights& weights);  // of the CPU's layout

}  // namespace cormorant::ops::conv2d
