// SPDX-License-Identifier: Apache-2.0
//
// The specification, as plain loops: every input pixel adds its window to the accumulators of the output. The packed
// forms are conv2d's reference, phase by phase.
#include <vector>

#include "base/fixed_point.h"
#include "ops/conv2d/packed_reference.h"
#include "ops/depthwise_conv2d/packed_reference.h"
#include "ops/host/references.h"
#include "ops/transpose_conv2d/kernel.h"

namespace cormorant::ops::transpose_conv2d {
namespace {

void execute_direct(const void* raw) {
  const auto& d = *static_cast<const conv::Direct*>(raw);
  const conv::Geometry& g = d.geometry;
  const std::uint32_t inputs = d.group_channels;
  const std::uint32_t outputs = g.out_channels / (g.in_channels / inputs);  // of a group
  const std::size_t pixels = std::size_t{g.out_height} * g.out_width;
  std::vector<std::uint32_t> sums(pixels * g.out_channels);  // wrap, as the hardware does
  for (std::uint32_t n = 0; n < g.batch; ++n) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = d.bias == nullptr ? 0U : static_cast<std::uint32_t>(d.bias[i % g.out_channels]);
    }
    const std::int8_t* x = d.input + std::size_t{n} * g.in_height * g.in_width * g.in_channels;
    for (std::int32_t iy = 0; iy < g.in_height; ++iy) {
      for (std::int32_t ix = 0; ix < g.in_width; ++ix, x += g.in_channels) {
        for (std::int32_t ky = 0; ky < g.kernel_height; ++ky) {
          for (std::int32_t kx = 0; kx < g.kernel_width; ++kx) {
            const std::int32_t y = iy * g.stride_height + ky * g.dilation_height - g.pad_top;
            const std::int32_t column = ix * g.stride_width + kx * g.dilation_width - g.pad_left;
            if (y < 0 || y >= g.out_height || column < 0 || column >= g.out_width) continue;
            std::uint32_t* at = sums.data() + (std::size_t(y) * g.out_width + std::size_t(column)) * g.out_channels;
            for (std::uint32_t c = 0; c < g.out_channels; ++c) {
              const auto tap = (std::size_t{c} * g.kernel_height + std::size_t(ky)) * g.kernel_width + std::size_t(kx);
              for (std::uint32_t i = 0; i < inputs; ++i) {
                const std::int32_t value = x[c / outputs * inputs + i] + d.input_offset;
                at[c] += static_cast<std::uint32_t>(value * d.weights[tap * inputs + i]);
              }
            }
          }
        }
      }
    }
    std::int8_t* out = d.out + n * sums.size();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::size_t c = i % g.out_channels;
      const std::int32_t value = requantize(static_cast<std::int32_t>(sums[i]), d.multipliers[c], d.shifts[c]);
      out[i] = static_cast<std::int8_t>(clamp(value + d.output_offset, d.activation_min, d.activation_max));
    }
  }
}

template <const Variant& V>
void execute_packed(const void* raw) {
  for_phases(*static_cast<const PackedPlan*>(raw), [](const conv2d::Convolution& c) {
    const conv::Geometry& g = c.header.geometry;
    std::vector<std::int8_t> dense(std::size_t{g.out_pixels()} * g.out_channels);
    const conv2d::PackedPlan plan{&c.header, c.input, c.scratch, dense.data()};
    if (V.nibbles_phase != nullptr) {
      conv2d::reference_nibbles(*V.nibbles_phase, plan);
    } else if (V.phase != nullptr) {
      conv2d::reference_packed(V.phase->layout, plan);
    } else {
      depthwise::reference_packed(*V.depthwise_phase, plan);
    }
    const std::int8_t* from = dense.data();
    for (std::uint32_t n = 0; n < g.batch; ++n) {
      for (std::uint32_t y = 0; y < g.out_height; ++y) {
        for (std::uint32_t x = 0; x < g.out_width; ++x, from += g.out_channels) {
          std::int8_t* to = c.places.out + n * c.places.image + y * c.places.row + x * c.places.pixel;
          for (std::uint32_t i = 0; i < g.out_channels; ++i) to[i] = from[i];
        }
      }
    }
  });
}

}  // namespace

constexpr auto* execute_scalar = execute_packed<kScalar>;
constexpr auto* execute_v6m = execute_packed<kV6m>;
constexpr auto* execute_scalar_depthwise = execute_packed<kScalarDepthwise>;
constexpr auto* execute_dsp = execute_packed<kDsp>;
constexpr auto* execute_dsp_depthwise = execute_packed<kDspDepthwise>;
constexpr auto* execute_mve = execute_packed<kMve>;
constexpr auto* execute_scalar_nibbles = execute_packed<kScalarNibbles>;
constexpr auto* execute_dsp_nibbles = execute_packed<kDspNibbles>;
constexpr auto* execute_mve_nibbles = execute_packed<kMveNibbles>;
CORMORANT_REFERENCES(transpose_conv2d, CORMORANT_TRANSPOSE_CONV2D_KERNELS)

}  // namespace cormorant::ops::transpose_conv2d
