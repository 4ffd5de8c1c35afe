// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d/execute_dsp.h"

namespace cormorant::ops::conv2d {
namespace {

// The loops for one width of weights.
struct Bytes {
  static constexpr Layout kLayout = Layout::dsp;
  static constexpr auto plain = conv::conv_gemm_dsp_plain;
  static constexpr auto right = conv::cormorant_conv_gemm_right_dsp;
  static constexpr auto positive = conv::cormorant_conv_gemm_positive_dsp;
};
struct Pairs {
  static constexpr Layout kLayout = Layout::dsp_wide;
  static constexpr auto plain = conv::conv_gemm_dsp_wide_plain;
  static constexpr auto right = conv::cormorant_conv_gemm_right_dsp_wide;
  static constexpr auto positive = conv::cormorant_conv_gemm_positive_dsp_wide;
};

void execute_direct(const void* raw) { conv::conv_direct(*static_cast<const conv::Direct*>(raw), conv::dot_plain); }

}  // namespace

// As functions, or their loops stand in the code twice.
[[gnu::noinline]] void convolve_dsp(const Convolution& c) { DspConvolution<Bytes>::run(c); }
[[gnu::noinline]] void convolve_dsp_wide(const Convolution& c) { DspConvolution<Pairs>::run(c); }

constexpr auto* execute_dsp = execute_packed_dsp<convolve_dsp>;
constexpr auto* execute_dsp_wide = execute_packed_dsp<convolve_dsp_wide>;
CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, dsp)

}  // namespace cormorant::ops::conv2d
