// SPDX-License-Identifier: Apache-2.0
#include <arm_mve.h>

#include "ops/conv2d/repack.h"
#include "ops/conv2d/walk_mve.h"

namespace cormorant::ops::conv2d {
namespace {

struct Bytes {
  // Pairs of pixels, all channels of a group. Channels behind the last whole block of four take a detour over the
  // stack.
  static void compute(conv::MveGemm gemm, std::uint32_t channels, std::uint32_t block_bytes) {
    gemm.blocks = channels / 4;
    if (gemm.blocks != 0) cormorant_conv_gemm_mve(&gemm);
    const std::uint32_t rest = channels % 4;
    if (rest == 0) return;
    std::int8_t last[2][4];
    conv::MveGemm tail = gemm;
    tail.stream += gemm.blocks * block_bytes;
    tail.blocks = 1;
    tail.pairs = 1;
    tail.out0 = last[0];
    tail.out1 = last[1];
    for (std::uint32_t pair = 0; pair < gemm.pairs; ++pair) {
      cormorant_conv_gemm_mve(&tail);
      for (std::uint32_t i = 0; i < rest; ++i) {
        gemm.out0[channels - rest + i] = last[0][i];
        gemm.out1[channels - rest + i] = last[1][i];
      }
      gemm.out0 += gemm.out_step;
      gemm.out1 += gemm.out_step;
      tail.patch0 += gemm.in_step;
      tail.patch1 += gemm.in_step;
    }
  }

  static conv::MveGemm gemm_of(const Convolution& c) {
    return {.stream = c.stream,
            .patch0 = nullptr,
            .patch1 = nullptr,
            .out0 = c.places.out,
            .out1 = c.places.out,
            .chunks = (c.header.geometry.patch() + 15U) / 16,
            .blocks = 0,
            .pairs = 1,
            .in_step = 0,
            .out_step = 0,
            .output = conv::output_of(c.header)};
  }

  static Stream stream_of(const conv::Geometry& g) { return {Layout::mve, g}; }
};

void execute_mve_1x1(const void* raw) { by_rows<Bytes>(convolution_of(*static_cast<const PackedPlan*>(raw))); }

void execute_mve_kxk(const void* raw) { convolve_mve(convolution_of(*static_cast<const PackedPlan*>(raw))); }

std::int32_t dot(const std::int8_t* x, const std::int8_t* w, std::uint32_t count, std::int32_t offset) {
  std::int32_t products = 0;
  std::int32_t weights = 0;
  for (auto left = static_cast<std::int32_t>(count); left > 0; left -= 16, x += 16, w += 16) {
    const mve_pred16_t lanes = vctp8q(static_cast<std::uint32_t>(left));
    const int8x16_t ws = vldrbq_z_s8(w, lanes);
    products = vmladavaq_s8(products, vldrbq_z_s8(x, lanes), ws);
    weights = vaddvaq_s8(weights, ws);
  }
  return products + offset * weights;
}

void execute_direct(const void* raw) {
  const auto& plan = *static_cast<const conv::Direct*>(raw);
  if (plan.workspace == nullptr) {
    conv::conv_direct(plan, dot);
  } else {
    convolve_repacked_mve(plan, ohwi_of(plan));
  }
}

// Vectors of a row of weights to where its channel has them.
std::int32_t put_row(std::uint8_t* to, std::uint32_t lane, const std::int8_t* from, std::uint32_t step,
                     std::uint32_t count) {
  if (step != 1) return put_weights<Layout::mve>(to, lane, from, step, count);
  std::int32_t sum = 0;
  to += 16 * lane;
  for (auto left = static_cast<std::int32_t>(count); left > 0; left -= 16, from += 16, to += 64) {
    const int8x16_t weights = vldrbq_z_s8(from, vctp8q(static_cast<std::uint32_t>(left)));
    vstrbq_s8(reinterpret_cast<std::int8_t*>(to), weights);
    sum = vaddvaq_s8(sum, weights);
  }
  return sum;
}

}  // namespace

void convolve_repacked_mve(const conv::Direct& d, const Weights& weights) {
  const auto clear = [](std::uint8_t* at, std::uint32_t bytes) {
    fill_bytes_mve(reinterpret_cast<std::int8_t*>(at), 0, bytes);
  };
  convolve_repacked<Layout::mve, convolve_mve, put_row>(d, weights, clear);
}

void convolve_mve(const Convolution& c) { walk<Bytes>(c); }

// How programs of other compilers are loaded here.
constexpr auto* load_upstream = load_repacked<kMveKxk>;
constexpr auto* load_upstream_nhwc = load_repacked_nhwc<kMveKxk>;

CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, mve)

}  // namespace cormorant::ops::conv2d
