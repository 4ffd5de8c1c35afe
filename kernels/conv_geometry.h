// SPDX-License-Identifier: Apache-2.0
//
// The plain data of a convolution: its geometry, and the header that precedes every packed constant of conv2d and its
// kin. The compiler writes it, load() verifies it, kernels read it from flash: it costs no RAM. Tensors are NHWC; a
// patch is the window that one output pixel sees, its elements in the order ky, kx, channel.
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
  std::uint16_t pad_top = 0;  // bottom and right padding follow from the output's size
  std::uint16_t pad_left = 0;
  std::uint16_t groups = 1;  // of a packed convolution that is not depthwise: inputs and outputs are so many slices
  // Per group, so that targets without a divider need not divide. For a depthwise convolution the second is the number
  // of outputs per input.
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

// The window is one pixel, and none is outside the input: patches are the input's own pixels.
constexpr bool is_one_pixel(const Geometry& g) {
  return g.taps() == 1 && g.pad_top == 0 && g.pad_left == 0 && (g.out_height - 1U) * g.stride_height < g.in_height &&
         (g.out_width - 1U) * g.stride_width < g.in_width;
}
// As above, and output pixel i is input pixel i.
constexpr bool is_pointwise(const Geometry& g) {
  return is_one_pixel(g) && g.in_height == g.out_height && g.in_width == g.out_width;
}

// What the compiler has proved about requantization (docs/numerics.md):
enum class Rounding : std::uint8_t {
  // Every channel shifts right by 1 … kMaxShift, and no |accumulator| reaches 2^30.
  right = 1,
  // As `right`, and activation_min >= output_offset: results below zero are clamped, so that ties of negative numbers
  // may round either way.
  positive = 2,
  // Nothing: channels shift in either direction, and accumulators have any size. (0 and 3 were constants laid out for
  // kernels of earlier versions, which load refuses.)
  general = 4,
};
constexpr bool is_simple(Rounding rounding) { return rounding == Rounding::right || rounding == Rounding::positive; }
constexpr bool is_known(Rounding rounding) { return is_simple(rounding) || rounding == Rounding::general; }
// Offset and rounding, (2 · offset + 1) · 2^(shift − 1), can still be added to a number below 2^30.
inline constexpr std::int32_t kMaxShift = 23;

// Whether a channel can be requantized as above. Doubled, with offset and rounding added, sums must fit 32 bits;
// `magnitude` is that of the largest one.
constexpr bool is_simple_channel(std::uint32_t magnitude, std::int32_t shift) {
  return shift < 0 && shift >= -kMaxShift && magnitude < ((1U << 31) - 1024) / 2;
}
constexpr Rounding rounding_for(bool is_simple, std::int32_t activation_min, std::int32_t output_offset) {
  if (!is_simple) return Rounding::general;
  return activation_min >= output_offset ? Rounding::positive : Rounding::right;
}

// A shift as in packed constants: right <= 0, left >= 0, one of them is zero.
struct Shifts {
  std::int32_t right;
  std::int32_t left;
};
constexpr Shifts split_shift(std::int32_t shift) { return shift < 0 ? Shifts{shift, 0} : Shifts{0, shift}; }

// Constants begin at a multiple of 16, and so does what follows. A copy on the stack need not.
struct Header {
  Geometry geometry;
  std::int16_t output_offset = 0;
  std::int8_t pad_value = 0;  // the input's zero point: what is outside the input
  std::int8_t activation_min = -128;
  std::int8_t activation_max = 127;
  Rounding rounding = Rounding::general;
  std::uint8_t has_lowest_weights = 0;  // depthwise: two weights of a channel are −128; products may not fit 16 bits
  std::uint8_t bands = 0;               // in which columns are computed at least (MVE): the output may cover more input
  std::uint32_t stream_bytes = 0;       // what follows the header
};
static_assert(sizeof(Header) == 48);  // all bytes are defined, so that a compilation is reproducible

}  // namespace cormorant::conv
