// SPDX-License-Identifier: Apache-2.0
//
// The same packed constants as conv2d.dsp, with one inner loop for all kinds of rounding that only shift right, and
// compiled for size (firmware/CMakeLists.txt).
#include "ops/conv2d/execute_dsp.h"

namespace cormorant::ops::conv2d {
namespace {

struct Small {
  static constexpr Layout kLayout = Layout::dsp;
  static constexpr auto plain = conv::conv_gemm_dsp_plain;
  static constexpr auto right = conv::cormorant_conv_gemm_right_dsp;
  static constexpr auto positive = conv::cormorant_conv_gemm_right_dsp;
};

void convolve(const Convolution& c) { DspConvolution<Small>::run(c); }

}  // namespace

constexpr auto* execute_dsp_small = execute_packed_dsp<convolve>;
CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, dsp_small)

}  // namespace cormorant::ops::conv2d
