// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_gemm.h"
#include "kernels/conv_patch.h"
#include "ops/conv2d/kernel.h"

namespace cormorant::ops::conv2d {
namespace {

// One patch into its place among N patches of words, filled up with zeros; the sum of its elements.
template <std::uint32_t N>
std::int32_t put_patch(const conv::Header& header, const conv::Pixel& pixel, std::int32_t* to, std::uint32_t elements) {
  std::int32_t sum = 0;
  const std::int32_t* end = to + elements * N;
  pixel.for_runs(header.geometry, [&](const std::int8_t* from, std::uint32_t count) {
    if (from == nullptr) {
      const std::int32_t value = header.pad_value;
      for (; count > 0; --count, to += N, sum += value) *to = value;
      return;
    }
    for (; count >= 4; count -= 4, to += 4 * N, from += 4) {
      const std::int32_t values[] = {from[0], from[1], from[2], from[3]};
      to[0] = values[0];
      to[N] = values[1];
      to[2 * N] = values[2];
      to[3 * N] = values[3];
      sum += values[0] + values[1] + values[2] + values[3];
    }
    for (; count > 0; --count, to += N) {
      const std::int32_t value = *from++;
      *to = value;
      sum += value;
    }
  });
  for (; to < end; to += N) *to = 0;
  return sum;
}

// Blocks of N pixels. A pixel alone is computed N times and written to the same place.
template <std::uint32_t N, class Gemm, class Compute>
void convolve(const PackedPlan& plan, Gemm& gemm, Compute compute) {
  const conv::Header& header = *plan.header;
  const conv::Geometry& g = header.geometry;
  auto* patches = reinterpret_cast<std::int32_t*>(plan.scratch);
  conv::Pixel pixel(g, plan.input);
  for (std::uint32_t left = g.out_pixels(); left > 0;) {
    const std::uint32_t pixels = left >= N ? N : 1;
    for (std::uint32_t i = 0; i < N; ++i) {
      const std::int32_t sum = put_patch<N>(header, pixel, patches + i, gemm.elements);
      if constexpr (requires { gemm.excess; }) gemm.excess[i] = 128 * sum;
      if (pixels == N || i + 1 == N) pixel.advance(g);
    }
    gemm.out_step = pixels == 1 ? 0 : g.out_channels;
    compute(gemm);
    gemm.out += pixels * g.out_channels;
    left -= pixels;
  }
}

// The pairs of channels in assembly, a channel that is left over not.
void compute_pairs(conv::ScalarGemm gemm, std::uint32_t block_bytes) {
  const std::uint32_t channels = gemm.channels;
  gemm.channels = channels / 2 * 2;
  if (gemm.channels != 0) {
    if (gemm.output.rounding == conv::Rounding::positive) {
      conv::cormorant_conv_gemm_positive_scalar(&gemm);
    } else {
      conv::cormorant_conv_gemm_right_scalar(&gemm);
    }
  }
  if (channels % 2 == 0) return;
  gemm.stream += channels / 2 * block_bytes;
  gemm.out += channels - 1;
  gemm.channels = 1;
  conv::conv_gemm_scalar_plain(gemm);
}

void execute_packed(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  const conv::Geometry& g = plan.header->geometry;
  const Stream stream(Layout::scalar, g);
  conv::ScalarGemm gemm{.stream = plan.stream(),
                        .patches = reinterpret_cast<const std::int32_t*>(plan.scratch),
                        .out = plan.out,
                        .out_step = 0,
                        .elements = stream.padded_patch(),
                        .channels = g.out_channels,
                        .output = conv::output_of(*plan.header)};
  if constexpr (kHasLongMultiply) {
    if (gemm.output.rounding != conv::Rounding::general) {
      convolve<3>(plan, gemm, [&](const conv::ScalarGemm& block) { compute_pairs(block, stream.block_bytes()); });
      conv::clamp_output(*plan.header, plan.out);
      return;
    }
  }
  convolve<3>(plan, gemm, conv::conv_gemm_scalar_plain);
}

void execute_v6m(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  const conv::Geometry& g = plan.header->geometry;
  conv::V6mGemm gemm{.stream = plan.stream(),
                     .patches = reinterpret_cast<const std::int32_t*>(plan.scratch),
                     .out = plan.out,
                     .out_step = 0,
                     .elements = Stream(Layout::v6m, g).padded_patch(),
                     .channels = g.out_channels,
                     .output = conv::output_of(*plan.header),
                     .excess = {}};
  if (gemm.output.rounding == conv::Rounding::general) {
    convolve<4>(plan, gemm, conv::conv_gemm_v6m_plain);
    return;
  }
  convolve<4>(plan, gemm, [](const conv::V6mGemm& block) { conv::cormorant_conv_gemm_right_v6m(&block); });
  conv::clamp_output(*plan.header, plan.out);
}

void execute_direct(const void* raw) { conv::conv_direct(*static_cast<const conv::Direct*>(raw), conv::dot_plain); }

}  // namespace
}  // namespace cormorant::ops::conv2d

using namespace cormorant::ops::conv2d;  // NOLINT(google-build-using-namespace)
CORMORANT_KERNEL(cormorant_conv2d_scalar, kScalar.name, load_scalar, execute_packed)
CORMORANT_KERNEL(cormorant_conv2d_v6m, kV6m.name, load_v6m, execute_v6m)
CORMORANT_KERNEL(cortex_m_quantized_conv2d_out_scalar, "cortex_m::quantized_conv2d.out", load_direct, execute_direct)
