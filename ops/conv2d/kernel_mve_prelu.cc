// SPDX-License-Identifier: Apache-2.0
//
// Layers with a PReLU. A separate file, so that programs without one are compiled as if it did not exist.
#include <arm_mve.h>

#include "ops/conv2d/pairs_mve.h"
#include "ops/conv2d/walk_mve.h"

namespace cormorant::ops::conv2d {
namespace {

struct Prelu {
  [[gnu::noinline]] static void compute(conv::MveGemm gemm, std::uint32_t channels, std::uint32_t block_bytes) {
    conv2d::compute_by<conv::cormorant_conv_gemm_prelu_mve>(gemm, channels, block_bytes);
  }
  static conv::MveGemm gemm_of(const Convolution& c) { return conv2d::gemm_of(c); }
  static Stream stream_of(const conv::Geometry& g) { return {Layout::mve_prelu, g}; }
};

}  // namespace

void execute_mve_prelu(const void* raw) { walk<Prelu>(convolution_of(*static_cast<const PackedPlan*>(raw))); }

}  // namespace cormorant::ops::conv2d
