// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_gemm.h"
#include "kernels/conv_patch.h"
#include "ops/conv2d/blocks.h"
#include "ops/conv2d/kernel.h"

namespace cormorant::ops::conv2d {
namespace {

// One patch into its place among N patches of words, filled up with zeros; the sum of its elements.
template <std::uint32_t N>
std::int32_t put_patch(const conv::Header& header, const conv::Pixel& pixel, std::uint32_t first, std::int32_t* to,
                       std::uint32_t elements) {
  const std::int32_t* end = to + elements * N;
  std::int32_t sum_of_all = 0;
  std::int32_t* next = to;
  pixel.for_runs(header.geometry, first, [&](const std::int8_t* from, std::uint32_t count) {
    std::int32_t* at = next;  // copies, which stay in registers
    std::int32_t sum = sum_of_all;
    if (from == nullptr) {
      const std::int32_t value = header.pad_value;
      for (; count > 0; --count, at += N, sum += value) *at = value;
    } else {
      for (; count >= 4; count -= 4, at += 4 * N, from += 4) {
        // One after the other: ARMv6-M has no registers for four.
        sum += at[0] = from[0];
        sum += at[N] = from[1];
        sum += at[2 * N] = from[2];
        sum += at[3 * N] = from[3];
      }
      for (; count > 0; --count, at += N) {
        const std::int32_t value = *from++;
        *at = value;
        sum += value;
      }
    }
    next = at;
    sum_of_all = sum;
  });
  for (; next < end; next += N) *next = 0;
  return sum_of_all;
}

// Blocks of N pixels, group by group. A pixel alone is computed N times and written to the same place.
template <std::uint32_t N, class Gemm, class Compute>
void convolve(const Convolution& c, const Stream& stream, Gemm& gemm, Compute compute) {
  const conv::Geometry& g = c.header.geometry;
  auto* patches = reinterpret_cast<std::int32_t*>(c.scratch);
  for_blocks<N>(c, [&](const conv::Pixel(&pixels)[N], std::int8_t* out, std::uint32_t out_step) {
    gemm.stream = c.stream();
    gemm.out = out;
    gemm.out_step = out_step;
    for (std::uint32_t first = 0; first < g.in_channels; first += g.group_inputs()) {
      for (std::uint32_t i = 0; i < N; ++i) {
        const std::int32_t sum = put_patch<N>(c.header, pixels[i], first, patches + i, gemm.elements);
        if constexpr (requires { gemm.excess; }) gemm.excess[i] = 128 * sum;
      }
      compute(gemm);
      gemm.stream += stream.group_bytes();
      gemm.out += g.group_outputs();
    }
  });
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

void execute_scalar(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  convolve_scalar(convolution_of(plan));
  if (plan.header->rounding != conv::Rounding::general) conv::clamp_output(*plan.header, plan.out);
}

void execute_v6m(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  convolve_v6m(convolution_of(plan));
  if (plan.header->rounding != conv::Rounding::general) conv::clamp_output(*plan.header, plan.out);
}

void execute_direct(const void* raw) { conv::conv_direct(*static_cast<const conv::Direct*>(raw), conv::dot_plain); }

}  // namespace

void convolve_scalar(const Convolution& c) {
  const conv::Geometry& g = c.header.geometry;
  const Stream stream(Layout::scalar, g);
  conv::ScalarGemm gemm{.stream = nullptr,
                        .patches = reinterpret_cast<const std::int32_t*>(c.scratch),
                        .out = nullptr,
                        .out_step = 0,
                        .elements = stream.padded_patch(),
                        .channels = g.group_outputs(),
                        .output = conv::output_of(c.header)};
  if constexpr (kHasLongMultiply) {
    if (gemm.output.rounding != conv::Rounding::general) {
      convolve<3>(c, stream, gemm, [&](const conv::ScalarGemm& block) { compute_pairs(block, stream.block_bytes()); });
      return;
    }
  }
  convolve<3>(c, stream, gemm, conv::conv_gemm_scalar_plain);
}

void convolve_v6m(const Convolution& c) {
  const conv::Geometry& g = c.header.geometry;
  const Stream stream(Layout::v6m, g);
  conv::V6mGemm gemm{.stream = nullptr,
                     .patches = reinterpret_cast<const std::int32_t*>(c.scratch),
                     .out = nullptr,
                     .out_step = 0,
                     .elements = stream.padded_patch(),
                     .channels = g.group_outputs(),
                     .output = conv::output_of(c.header),
                     .excess = {}};
  if (gemm.output.rounding == conv::Rounding::general) {
    convolve<4>(c, stream, gemm, conv::conv_gemm_v6m_plain);
    return;
  }
  convolve<4>(c, stream, gemm, [](const conv::V6mGemm& block) { conv::cormorant_conv_gemm_right_v6m(&block); });
}

CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, scalar)

}  // namespace cormorant::ops::conv2d
