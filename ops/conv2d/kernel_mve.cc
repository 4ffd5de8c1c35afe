// SPDX-License-Identifier: Apache-2.0
#include <arm_mve.h>

#include "ops/conv2d/pairs_mve.h"
#include "ops/conv2d/repack.h"
#include "ops/conv2d/walk_mve.h"

namespace cormorant::ops::conv2d {
namespace {

struct Bytes {
  static void compute(const conv::MveGemm& gemm, std::uint32_t channels, std::uint32_t block_bytes) {
    conv2d::compute(gemm, channels, block_bytes);
  }
  static conv::MveGemm gemm_of(const Convolution& c) { return conv2d::gemm_of(c); }
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

// Copies vectors of a row of weights to their channel's places.
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
