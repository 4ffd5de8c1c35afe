// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_direct.h"
#include "kernels/move.h"
#include "kernels/requantize_v6m.h"
#include "ops/depthwise_conv2d/execute.h"
#include "ops/depthwise_conv2d/nibbles_kernel.h"
#include "ops/depthwise_conv2d/repack.h"

namespace cormorant::ops::depthwise {
namespace {

struct Scalar {
  static void fill(std::int8_t* to, std::int8_t value, std::uint32_t count) { fill_bytes_scalar(to, value, count); }
  static void spread(std::int8_t* to, const std::int8_t* from, std::uint32_t count, std::uint32_t times) {
    spread_plain(to, from, count, times);
  }
};

// Compute whole blocks of four channels.
constexpr auto kBlocks =
    kHasLongMultiply ? conv::cormorant_depthwise_pixel_thumb2 : conv::cormorant_depthwise_pixel_small_v6m;
constexpr auto kAnyBlocks =
    kHasLongMultiply ? conv::cormorant_depthwise_pixel_any_thumb2 : conv::cormorant_depthwise_pixel_any_v6m;

// Whether kBlocks can requantize the sums of all channels.
bool suits_blocks(const conv2d::Convolution& c) {
  const conv::Geometry& g = c.header.geometry;
  if (!conv::is_simple(c.header.rounding)) return false;
  if constexpr (kHasLongMultiply) return true;
  constexpr std::int32_t kLargestProduct = 128 * 128;
  if (g.taps() >= kSmallSumV6m / kLargestProduct) return false;
  const std::int32_t limit = kSmallSumV6m - static_cast<std::int32_t>(g.taps()) * kLargestProduct;
  const Stream stream(kScalar, g);
  const std::uint8_t* record = c.stream;
  for (std::uint32_t left = stream.blocks(); left > 0; --left, record += stream.block_bytes()) {
    for (std::uint32_t lane = 0; lane < 4; ++lane) {
      const std::int32_t bias = reinterpret_cast<const std::int32_t*>(record)[lane];
      if (bias >= limit || bias <= -limit) return false;
    }
  }
  return true;
}

void execute_scalar(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  depthwise::convolve_scalar(conv2d::convolution_of(plan));
  conv::clamp_output(*plan.header, plan.out);
}

// Layers with a PReLU.
void execute_scalar_prelu(const void* raw) {
  constexpr auto kSloped =
      kHasLongMultiply ? conv::cormorant_depthwise_pixel_prelu_thumb2 : conv::cormorant_depthwise_pixel_prelu_v6m;
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  convolve_pixels<Scalar>(conv2d::convolution_of(plan), kScalarPrelu, kSloped,
                          conv::depthwise_pixel_prelu_plain_scalar);
  conv::clamp_output(*plan.header, plan.out);
}

void execute_scalar_nibbles(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  convolve_nibbles<nibbles::kScalar, depthwise::convolve_scalar, conv2d::nibbles::unpack_words<false>>(plan);
  conv::clamp_output(*plan.header, plan.out);
}

void execute_direct(const void* raw) {
  const auto& plan = *static_cast<const conv::Direct*>(raw);
  if (plan.workspace == nullptr) {
    conv::depthwise_direct(plan);
    return;
  }
  if (plan.geometry.in_channels == 1) {
    conv2d::convolve_repacked_scalar(plan, conv2d::hwo_of(plan));
    return;
  }
  convolve_repacked<Layout::quad, depthwise::convolve_scalar>(plan, kScalar, [](std::uint8_t* at, std::uint32_t bytes) {
    fill_bytes_scalar(reinterpret_cast<std::int8_t*>(at), 0, bytes);
  });
  conv::clamp_bytes(plan.out, plan.geometry.out_pixels() * plan.geometry.out_channels, plan.activation_min,
                    plan.activation_max);
}

}  // namespace

void convolve_scalar(const conv2d::Convolution& c) {
  convolve_pixels<Scalar>(c, kScalar, suits_blocks(c) ? kBlocks : kAnyBlocks, conv::depthwise_pixel_plain_scalar);
}

// How programs of other compilers are loaded here.
constexpr auto* load_upstream = kHasLongMultiply ? load_repacked_scalar : load_repacked_v6m;
constexpr auto* load_upstream_nhwc = kHasLongMultiply ? load_repacked_scalar_nhwc : load_repacked_v6m_nhwc;

CORMORANT_KERNELS(CORMORANT_DEPTHWISE_CONV2D_KERNELS, scalar)

}  // namespace cormorant::ops::depthwise
