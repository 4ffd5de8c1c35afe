// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d/execute_dsp.h"
#include "ops/conv2d/repack.h"

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

void execute_direct(const void* raw) {
  const auto& plan = *static_cast<const conv::Direct*>(raw);
  if (plan.workspace == nullptr) {
    conv::conv_direct(plan, conv::dot_plain);
  } else {
    convolve_repacked_dsp(plan, ohwi_of(plan));
  }
}

}  // namespace

// As functions, or their loops would be in the code twice.
[[gnu::noinline]] void convolve_dsp(const Convolution& c) { DspConvolution<Bytes>::run(c); }
[[gnu::noinline]] void convolve_dsp_groups(const Convolution& c) {
  if (c.header.geometry.groups == 1) {
    convolve_dsp(c);
  } else if (has_pairs(c.header.geometry) && conv::is_simple(c.header.rounding)) {
    DspConvolution<Bytes>::run_pairs(c);
  } else {
    DspConvolution<Bytes>::run_groups(c);
  }
}
[[gnu::noinline]] void convolve_dsp_wide(const Convolution& c) { DspConvolution<Pairs>::run(c); }

constexpr auto* execute_dsp = execute_packed_dsp<convolve_dsp>;
constexpr auto* execute_dsp_groups = execute_packed_dsp<convolve_dsp_groups>;
constexpr auto* execute_dsp_wide = execute_packed_dsp<convolve_dsp_wide>;

void convolve_repacked_dsp(const conv::Direct& d, const Weights& weights) {
  const auto clear = [](std::uint8_t* at, std::uint32_t bytes) {
    fill_bytes_dsp(reinterpret_cast<std::int8_t*>(at), 0, bytes);
  };
  convolve_repacked<Layout::dsp, convolve_dsp, put_weights<Layout::dsp>>(d, weights, clear);
  conv::clamp_bytes_dsp(d.out, d.geometry.out_pixels() * d.geometry.out_channels, d.activation_min, d.activation_max);
}

// How programs of other compilers are loaded here.
constexpr auto* load_upstream = load_repacked<kDsp>;
constexpr auto* load_upstream_nhwc = load_repacked_nhwc<kDsp>;

CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, dsp)

}  // namespace cormorant::ops::conv2d
