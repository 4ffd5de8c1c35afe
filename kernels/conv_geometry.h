// SPDX-License-Identifier: Apache-2.0
//
// The plain data of a convolution: its geometry, and the header that stands before every packed constant of conv2d and
// its kin. The compiler writes it, load() verifies it, kernels read it from flash: it costs no RAM.
// Tensors are NHWC; a patch is the window that one output pixel sees, its elements in the order ky, kx, channel.
#pragma once

#include <cstdint>

#include "base/wide_product.h"

namespace cormorant::conv {

struct Geometry {
  std::uint16_t batch = 1;
  std::uint16_t in_height = 1;
  std::uint16_t in_width = 1;
  std::uint16_t in_channels = 1;
  std::uint16_t out_height = 1;
  std::uint16_t out_width = 1;
  std::uint16_t out_channels = 1;
  std::uint16_t kernel_height = 1;
  std::uint16_t kernel_width = 1;
  std::uint16_t stride_height = 1;
  std::uint16_t stride_width = 1;
  std::uint16_t dilation_height = 1;
  std::uint16_t dilation_width = 1;
  std::uint16_t pad_top = 0;  // those at the bottom and at the right follow from the output's size
  std::uint16_t pad_left = 0;
  std::uint16_t groups = 1;  // of a packed convolution that is not depthwise: inputs and outputs in as many slices
  // What a group has: targets without a divider need not divide. Of a depthwise convolution the second is how many
  // outputs an input has.
  std::uint16_t inputs_per_group = in_channels;
  std::uint16_t outputs_per_group = out_channels;

  [[nodiscard]] constexpr std::uint32_t group_inputs() const { return inputs_per_group; }
  [[nodiscard]] constexpr std::uint32_t group_outputs() const { return outputs_per_group; }
  [[nodiscard]] constexpr std::uint32_t taps() const { return std::uint32_t{kernel_height} * kernel_width; }
  [[nodiscard]] constexpr std::uint32_t patch() const { return taps() * group_inputs(); }
  [[nodiscard]] constexpr std::uint32_t out_pixels() const { return std::uint32_t{batch} * out_height * out_width; }
  friend constexpr bool operator==(const Geometry&, const Geometry&) = default;
};

// Positions are computed as output · stride + tap · dilation − pad in 32 bits, and a patch is counted in 32 bits.
inline constexpr std::uint32_t kMaxStep = 4096;
inline constexpr std::uint32_t kMaxPatch = 1U << 20;

constexpr bool is_sound(const Geometry& g) {
  return g.batch >= 1 && g.in_height >= 1 && g.in_width >= 1 && g.in_channels >= 1 && g.out_height >= 1 &&
         g.out_width >= 1 && g.out_channels >= 1 && g.kernel_height >= 1 && g.kernel_height < kMaxStep &&
         g.kernel_width >= 1 && g.kernel_width < kMaxStep && g.stride_height >= 1 && g.stride_height < kMaxStep &&
         g.stride_width >= 1 && g.stride_width < kMaxStep && g.dilation_height >= 1 && g.dilation_height < kMaxStep &&
         g.dilation_width >= 1 && g.dilation_width < kMaxStep && g.pad_top < kMaxStep && g.pad_left < kMaxStep &&
         wide_product(g.taps(), g.in_channels) <= kMaxPatch;
}

constexpr bool has_sound_groups(const Geometry& g) {
  return g.groups >= 1 && g.group_inputs() * g.groups == g.in_channels &&
         g.group_outputs() * g.groups == g.out_channels;
}

// The window is one pixel, and none lies outside of the input: patches are pixels of the input as it stands.
constexpr bool is_one_pixel(const Geometry& g) {
  return g.taps() == 1 && g.pad_top == 0 && g.pad_left == 0 && (g.out_height - 1U) * g.stride_height < g.in_height &&
         (g.out_width - 1U) * g.stride_width < g.in_width;
}
// Moreover output pixel i is input pixel i.
constexpr bool is_pointwise(const Geometry& g) {
  return is_one_pixel(g) && g.in_height == g.out_height && g.in_width == g.out_width;
}

// What the compiler has proved about requantization, from the strictest to the most general (docs/numerics.md):
enum class Rounding : std::uint8_t {
  // Shifts in both directions, or accumulators that come near 2^30.
  general = 0,
  // Every channel shifts right by 1 … kMaxShift, and no |accumulator| reaches 2^30.
  right = 1,
  // As `right`, and activation_min >= output_offset: results below zero are clamped, so that ties of negative numbers
  // may round either way.
  positive = 2,
};
inline constexpr std::int32_t kMaxShift = 21;  // 255 << 21 can still be added to a number below 2^30

struct alignas(16) Header {
  Geometry geometry;
  std::int16_t output_offset = 0;
  std::int8_t pad_value = 0;  // the input's zero point: what lies outside of the input
  std::int8_t activation_min = -128;
  std::int8_t activation_max = 127;
  Rounding rounding = Rounding::general;
  std::uint16_t has_lowest_weight = 0;  // depthwise: some weight is −128, so that two products may not fit 16 bits
  std::uint32_t stream_bytes = 0;       // what follows the header
};
static_assert(sizeof(Header) == 48);  // all bytes are defined, so that a compilation is reproducible

}  // namespace cormorant::conv
