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

}  // namespace cormorant::ops::conv2d

using namespace cormorant::ops::conv2d;  // NOLINT(google-build-using-namespace)
CORMORANT_KERNEL(cormorant_conv2d_dsp, kDsp.name, load_dsp, execute_packed_dsp<convolve_dsp>)
CORMORANT_KERNEL(cormorant_conv2d_dsp_wide, kDspWide.name, load_dsp_wide, execute_packed_dsp<convolve_dsp_wide>)
CORMORANT_KERNEL(cortex_m_quantized_conv2d_out_dsp, "cortex_m::quantized_conv2d.out", load_direct, execute_direct)
CORMORANT_KERNEL(cortex_m_quantized_conv2d_nhwc_out_dsp, "cortex_m::quantized_conv2d_nhwc.out", load_direct_nhwc,
                 execute_direct)
