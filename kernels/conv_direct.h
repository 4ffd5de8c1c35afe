// SPDX-License-Identifier: Apache-2.0
//
// Convolution straight from tensors as ExecuTorch lays them out, without scratch, for any geometry: for programs that
// were not prepacked. Weights of conv2d are OHWI, so that a dot product over channels is contiguous on both sides;
// those of depthwise_conv2d are HWO. The input's offset is added here, so padding is skipped.
#pragma once

#include <cstdint>

#include "kernels/conv_patch.h"
#include "kernels/requantize.h"

namespace cormorant::conv {

struct Direct {
  static constexpr std::uint32_t kStateBytes = 76;
  Geometry geometry;
  std::uint16_t group_channels;  // input channels that one output channel sees; 1 for depthwise
  std::int16_t input_offset;
  std::int16_t output_offset;
  std::int8_t activation_min;
  std::int8_t activation_max;
  const std::int8_t* input;
  const std::int8_t* weights;
  const std::int32_t* bias;  // may be null
  const std::int32_t* multipliers;
  const std::int32_t* shifts;
  std::int8_t* out;
  // If there is room for it, constants are laid out for the packed kernels during execution, `pass` channels at a time
  // (ops/conv2d/repack.h); else null.
  std::uint8_t* workspace;
  std::uint16_t pass;
  Rounding rounding;
  std::uint8_t variant;  // of a depthwise convolution: which of its packed kernels, and kLowestWeights

  // A bound on a channel's sum, for weights that have not been inspected.
  [[nodiscard]] std::uint32_t largest_sum(std::uint32_t channel) const {
    const std::int32_t b = bias == nullptr ? 0 : bias[channel];
    const std::uint32_t magnitude = b < 0 ? 0U - static_cast<std::uint32_t>(b) : static_cast<std::uint32_t>(b);
    return magnitude + 256U * 128U * geometry.taps() * group_channels;
  }
  [[nodiscard]] bool is_simple(std::uint32_t channel) const {
    return is_simple_channel(largest_sum(channel), shifts[channel]);
  }
};
inline constexpr std::uint32_t kLowestWeights = 0x80;             // added to a variant: some weight is −128
inline constexpr std::uint32_t kLargestRepackedPatch = 1U << 15;  // so that largest_sum() fits 32 bits

// dot(x, w, count, offset) = Σ (x + offset) · w
template <class Dot>
inline void conv_direct(const Direct& d, Dot&& dot) {
  const Geometry& g = d.geometry;
  const std::uint32_t group_outputs = g.out_channels / (g.in_channels / d.group_channels);
  const std::uint32_t window = g.taps() * d.group_channels;
  Pixel pixel(g, d.input);
  std::int8_t* out = d.out;
  for (std::uint32_t left = g.out_pixels(); left > 0; --left, pixel.advance(g)) {
    const std::int8_t* weights = d.weights;
    std::uint32_t first = 0;              // channel of the group
    std::uint32_t until = group_outputs;  // outputs before the next group
    for (std::uint32_t channel = 0; channel < g.out_channels; ++channel, weights += window) {
      if (channel == until) {
        first += d.group_channels;
        until += group_outputs;
      }
      std::int32_t sum = d.bias == nullptr ? 0 : d.bias[channel];
      const std::int8_t* w = weights;
      pixel.for_taps(g, [&](const std::int8_t* x) {
        if (x != nullptr) sum += dot(x + first, w, d.group_channels, d.input_offset);
        w += d.group_channels;
      });
      const std::int32_t value = requantize_for_cpu(sum, d.multipliers[channel], d.shifts[channel]) + d.output_offset;
      *out++ = static_cast<std::int8_t>(clamp(value, d.activation_min, d.activation_max));
    }
  }
}

inline std::int32_t dot_plain(const std::int8_t* x, const std::int8_t* w, std::uint32_t count, std::int32_t offset) {
  std::int32_t sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += (x[i] + offset) * w[i];
  return sum;
}

inline void depthwise_direct(const Direct& d) {
  const Geometry& g = d.geometry;
  const std::uint32_t multiplier = g.out_channels / g.in_channels;
  Pixel pixel(g, d.input);
  std::int8_t* out = d.out;
  for (std::uint32_t left = g.out_pixels(); left > 0; --left, pixel.advance(g)) {
    std::uint32_t channel = 0;
    for (std::uint32_t in = 0; in < g.in_channels; ++in) {
      for (std::uint32_t i = 0; i < multiplier; ++i, ++channel) {
        std::int32_t sum = d.bias == nullptr ? 0 : d.bias[channel];
        const std::int8_t* w = d.weights + channel;
        pixel.for_taps(g, [&](const std::int8_t* x) {
          if (x != nullptr) sum += (x[in] + d.input_offset) * *w;
          w += g.out_channels;
        });
        const std::int32_t value = requantize_for_cpu(sum, d.multipliers[channel], d.shifts[channel]) + d.output_offset;
        *out++ = static_cast<std::int8_t>(clamp(value, d.activation_min, d.activation_max));
      }
    }
  }
}

// Transposed: output y sees tap k from the input at (y + padding − k · dilation) / stride, if that is an integer.
// Weights are OHWI; the geometry's stride and padding are those of the transposed convolution.
inline void transpose_direct(const Direct& d) {
  const Geometry& g = d.geometry;
  const std::uint32_t group_outputs = g.out_channels / (g.in_channels / d.group_channels);
  const std::uint32_t window = g.taps() * d.group_channels;
  // The input under tap k, or -1.
  const auto input_at = [](std::int32_t from, std::int32_t stride, std::int32_t size) {
    if (from < 0) return std::int32_t{-1};
    const std::int32_t at = from / stride;
    return at * stride == from && at < size ? at : std::int32_t{-1};
  };
  std::int8_t* out = d.out;
  const std::int8_t* image = d.input;
  for (std::uint32_t n = 0; n < g.batch; ++n, image += std::size_t{g.in_height} * g.in_width * g.in_channels) {
    for (std::int32_t y = 0; y < g.out_height; ++y) {
      for (std::int32_t x = 0; x < g.out_width; ++x) {
        const std::int8_t* weights = d.weights;
        for (std::uint32_t channel = 0; channel < g.out_channels; ++channel, weights += window) {
          const std::uint32_t first = channel / group_outputs * d.group_channels;
          std::int32_t sum = d.bias == nullptr ? 0 : d.bias[channel];
          for (std::int32_t ky = 0; ky < g.kernel_height; ++ky) {
            const std::int32_t iy = input_at(y + g.pad_top - ky * g.dilation_height, g.stride_height, g.in_height);
            if (iy < 0) continue;
            for (std::int32_t kx = 0; kx < g.kernel_width; ++kx) {
              const std::int32_t ix = input_at(x + g.pad_left - kx * g.dilation_width, g.stride_width, g.in_width);
              if (ix < 0) continue;
              const auto pixel = static_cast<std::size_t>(iy) * g.in_width + static_cast<std::size_t>(ix);
              const auto tap = static_cast<std::size_t>(ky) * g.kernel_width + static_cast<std::size_t>(kx);
              sum += dot_plain(image + pixel * g.in_channels + first, weights + tap * d.group_channels,
                               d.group_channels, d.input_offset);
            }
          }
          const std::int32_t value =
              requantize_for_cpu(sum, d.multipliers[channel], d.shifts[channel]) + d.output_offset;
          *out++ = static_cast<std::int8_t>(clamp(value, d.activation_min, d.activation_max));
        }
      }
    }
  }
}

}  // namespace cormorant::conv
