// SPDX-License-Identifier: Apache-2.0
//
// The specification of quantized convolution, grouped and depthwise included, as plain loops. Weights and parameters
// come from functions, so that every layout, packed or not, computes through the same lines.
#pragma once

#include <cstring>

#include "base/fixed_point.h"
#include "kernels/conv_geometry.h"

namespace cormorant::ops::conv2d {

struct ReferenceConvolution {
  conv::Geometry geometry;
  std::uint32_t group_channels = 1;  // input channels that one output channel sees
  std::int32_t input_offset = 0;     // added to each input
  std::int32_t outside = 0;          // what is outside the input, before input_offset
  std::int32_t output_offset = 0;
  std::int32_t activation_min = -128;
  std::int32_t activation_max = 127;
  const std::int8_t* input = nullptr;  // NHWC
  std::int8_t* out = nullptr;
};

// What a layout provides for an output channel; k counts the elements of the channel's window in the order ky, kx,
// channel.
//   std::int32_t bias(channel), multiplier(channel), shift(channel), weight(channel, k), and where layers may have
//   slopes negative_multiplier(channel)
template <class Constants>
void reference_convolution(const ReferenceConvolution& c, const Constants& constants) {
  const conv::Geometry& g = c.geometry;
  const std::uint32_t group_outputs = g.out_channels / (g.in_channels / c.group_channels);
  std::int8_t* out = c.out;
  for (std::int32_t n = 0; n < g.batch; ++n) {
    for (std::int32_t y = 0; y < g.out_height; ++y) {
      for (std::int32_t x = 0; x < g.out_width; ++x) {
        for (std::uint32_t channel = 0; channel < g.out_channels; ++channel) {
          const std::uint32_t first = channel / group_outputs * c.group_channels;
          auto sum = static_cast<std::uint32_t>(constants.bias(channel));  // wraps, as the hardware does
          std::uint32_t k = 0;
          for (std::int32_t ky = 0; ky < g.kernel_height; ++ky) {
            for (std::int32_t kx = 0; kx < g.kernel_width; ++kx) {
              const std::int32_t iy = y * g.stride_height + ky * g.dilation_height - g.pad_top;
              const std::int32_t ix = x * g.stride_width + kx * g.dilation_width - g.pad_left;
              const bool inside = iy >= 0 && iy < g.in_height && ix >= 0 && ix < g.in_width;
              for (std::uint32_t i = 0; i < c.group_channels; ++i, ++k) {
                const std::int64_t at =
                    ((std::int64_t{n} * g.in_height + iy) * g.in_width + ix) * g.in_channels + first + i;
                const std::int32_t value = (inside ? c.input[at] : c.outside) + c.input_offset;
                sum += static_cast<std::uint32_t>(value * constants.weight(channel, k));
              }
            }
          }
          const std::int32_t shift = constants.shift(channel);
          std::int32_t multiplier = constants.multiplier(channel);
          if constexpr (requires { constants.negative_multiplier(channel); }) {
            // By the sign of the number being multiplied, which is the sum's unless a shift to the left overflows.
            const bool is_negative = shift_left(static_cast<std::int32_t>(sum), shift > 0 ? shift : 0) < 0;
            if (is_negative) multiplier = constants.negative_multiplier(channel);
          }
          const std::int32_t result = requantize(static_cast<std::int32_t>(sum), multiplier, shift);
          const auto shifted = static_cast<std::int32_t>(static_cast<std::uint32_t>(result) +
                                                         static_cast<std::uint32_t>(c.output_offset));
          *out++ = static_cast<std::int8_t>(clamp(shifted, c.activation_min, c.activation_max));
        }
      }
    }
  }
}

// The parts of this that all packed layouts have in common, read from where their stream says.
template <class Stream>
struct PackedConstants {
  Stream stream;
  const std::uint8_t* data;

  [[nodiscard]] std::int32_t word(std::uint32_t at) const {
    std::int32_t value = 0;
    std::memcpy(&value, data + at, sizeof value);
    return value;
  }
  [[nodiscard]] std::int32_t byte(std::uint32_t at) const { return static_cast<std::int8_t>(data[at]); }
  [[nodiscard]] std::int32_t bias(std::uint32_t c) const { return word(stream.bias_index(c)) / stream.scale(); }
  [[nodiscard]] std::int32_t multiplier(std::uint32_t c) const { return word(stream.multiplier_index(c)); }
  [[nodiscard]] std::int32_t shift(std::uint32_t c) const {
    return byte(stream.right_shift_index(c)) + (byte(stream.left_shift_index(c)) & 31);  // above it are marks
  }
  // A weight as it is in the stream: a byte, or 16 bits of a multiple.
  [[nodiscard]] std::int32_t stored_weight(std::uint32_t at) const {
    return stream.weight_bytes() == 2 ? (byte(at + 1) * 256 + data[at]) / stream.scale() : byte(at);
  }
};

}  // namespace cormorant::ops::conv2d
