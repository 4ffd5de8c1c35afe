// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_gemm.h"
#include "kernels/conv_patch.h"
#include "ops/conv2d/kernel.h"

namespace cormorant::ops::conv2d {
namespace {

// One patch into its place among N patches of 32-bit elements; the sum of its elements. Elements behind the patch are
// multiplied by weights of zero (v6m: of 128, so that they must be zero themselves).
template <std::uint32_t N>
std::int32_t fill_patch(const conv::Header& header, const conv::Pixel& pixel, std::int32_t* to,
                        std::uint32_t elements) {
  std::int32_t sum = 0;
  const std::int32_t* end = to + elements * N;
  pixel.for_runs(header.geometry, [&](const std::int8_t* from, std::uint32_t count) {
    if (from == nullptr) {
      const std::int32_t value = header.pad_value;
      for (; count > 0; --count, to += N, sum += value) *to = value;
    } else {
      for (; count > 0; --count, to += N) {
        const std::int32_t value = *from++;
        *to = value;
        sum += value;
      }
    }
  });
  for (; to < end; to += N) *to = 0;
  return sum;
}

// Behind the last pixel a block of N is filled up with that pixel once more.
template <std::uint32_t N, class Gemm, class Compute>
void convolve(const PackedPlan& plan, Gemm& gemm, Compute compute) {
  const conv::Header& header = *plan.header;
  const conv::Geometry& g = header.geometry;
  auto* patches = reinterpret_cast<std::int32_t*>(plan.scratch);
  conv::Pixel pixel(g, plan.input);
  std::int8_t* out = plan.out;
  for (std::uint32_t left = g.out_pixels(); left > 0;) {
    for (std::uint32_t i = 0; i < N; ++i) {
      const std::int32_t sum = fill_patch<N>(header, pixel, patches + i, gemm.elements);
      if constexpr (requires { gemm.excess; }) gemm.excess[i] = 128 * sum;
      gemm.out[i] = out;
      if (left > 1 || i == N - 1) {
        pixel.advance(g);
        out += g.out_channels;
      }
      if (left > 1) {
        --left;
      } else if (i == N - 1) {
        left = 0;
      }
    }
    compute(gemm);
  }
}

void execute_packed(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  const conv::Geometry& g = plan.header->geometry;
  conv::ScalarGemm gemm{.stream = plan.stream(),
                        .patches = reinterpret_cast<const std::int32_t*>(plan.scratch),
                        .out = {},
                        .elements = Stream(Layout::scalar, g).padded_patch(),
                        .channels = g.out_channels,
                        .output = conv::output_of(*plan.header)};
  convolve<3>(plan, gemm, conv::conv_gemm_scalar);
}

void execute_v6m(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  const conv::Geometry& g = plan.header->geometry;
  conv::V6mGemm gemm{.stream = plan.stream(),
                     .patches = reinterpret_cast<const std::int32_t*>(plan.scratch),
                     .excess = {},
                     .out = {},
                     .elements = Stream(Layout::v6m, g).padded_patch(),
                     .channels = g.out_channels,
                     .output = conv::output_of(*plan.header)};
  convolve<4>(plan, gemm, conv::conv_gemm_v6m_scalar);
}

void execute_direct(const void* raw) { conv::conv_direct(*static_cast<const conv::Direct*>(raw), conv::dot_plain); }

}  // namespace
}  // namespace cormorant::ops::conv2d

using namespace cormorant::ops::conv2d;  // NOLINT(google-build-using-namespace)
CORMORANT_KERNEL(cormorant_conv2d_scalar, kScalar.name.data(), load_scalar, execute_packed)
CORMORANT_KERNEL(cormorant_conv2d_v6m, kV6m.name.data(), load_v6m, execute_v6m)
CORMORANT_KERNEL(cortex_m_quantized_conv2d_out_scalar, "cortex_m::quantized_conv2d.out", load_direct, execute_direct)
