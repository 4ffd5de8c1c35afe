// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_direct.h"
#include "kernels/move.h"
#include "ops/depthwise_conv2d/execute.h"

namespace cormorant::ops::depthwise {
namespace {

struct Scalar {
  static void fill(std::int8_t* to, std::int8_t value, std::uint32_t count) { fill_bytes_scalar(to, value, count); }
  static void spread(std::int8_t* to, const std::int8_t* from, std::uint32_t count, std::uint32_t times) {
    spread_plain(to, from, count, times);
  }
};

// `Blocks` computes whole blocks of four channels.
template <void (*Blocks)(const conv::DepthwisePixel*)>
void convolve(const conv2d::Convolution& c) {
  const bool general = c.header.rounding == conv::Rounding::general;
  for_pixels<Scalar>(c, kScalar, [general](const conv::DepthwisePixel& pixel) {
    const std::uint32_t whole = general ? 0 : pixel.channels & ~3U;
    if (whole != 0) Blocks(&pixel);
    if (whole != pixel.channels) conv::depthwise_pixel_plain_scalar(pixel, whole);
  });
}

void execute_scalar(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  depthwise::convolve_scalar(conv2d::convolution_of(plan));
  if (plan.header->rounding != conv::Rounding::general) conv::clamp_output(*plan.header, plan.out);
}

constexpr auto kBlocks =
    kHasLongMultiply ? conv::cormorant_depthwise_pixel_thumb2 : conv::cormorant_depthwise_pixel_v6m;

void execute_direct(const void* raw) { conv::depthwise_direct(*static_cast<const conv::Direct*>(raw)); }

}  // namespace

void convolve_scalar(const conv2d::Convolution& c) { convolve<kBlocks>(c); }

CORMORANT_KERNELS(CORMORANT_DEPTHWISE_CONV2D_KERNELS, scalar)

}  // namespace cormorant::ops::depthwise
