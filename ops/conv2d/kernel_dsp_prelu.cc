// SPDX-License-Identifier: Apache-2.0
//
// Layers with a PReLU. A separate file, so that programs without one are compiled as if it did not exist.
#include "ops/conv2d/execute_dsp.h"

namespace cormorant::ops::conv2d {
namespace {

struct Prelu {
  static constexpr Layout kLayout = Layout::dsp_prelu;
  static constexpr auto plain = conv::conv_gemm_prelu_dsp_plain;
  static constexpr auto right = conv::cormorant_conv_gemm_prelu_dsp;
  static constexpr auto positive = conv::cormorant_conv_gemm_prelu_dsp;
};

void convolve(const Convolution& c) {
  if (c.header.geometry.groups == 1) {
    DspConvolution<Prelu>::run(c);
  } else {
    DspConvolution<Prelu>::run_groups(c);
  }
}

}  // namespace

void execute_dsp_prelu(const void* raw) { execute_packed_dsp<convolve>(raw); }

}  // namespace cormorant::ops::conv2d
