// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_gemm_words.h"
#include "ops/conv2d/blocks.h"
#include "ops/conv2d/nibbles_kernel.h"
#include "ops/conv2d/words_kernel.h"

namespace cormorant::ops::conv2d::words {
namespace {

// Writes one patch to its place among N patches of 32-bit integers, padded with zeros; returns the sum of its elements.
template <std::uint32_t N>
std::int32_t put_patch(const conv::Geometry& bytes, const conv::Pixel& pixel, std::uint32_t first, std::int32_t* to,
                       std::uint32_t elements) {
  const std::int32_t* const end = to + elements * N;
  std::uint32_t sum_of_all = 0;
  std::int32_t* next = to;
  pixel.for_runs(bytes, first, [&](const std::int8_t* from, std::uint32_t count) {
    std::int32_t* at = next;  // copies, which stay in registers
    std::uint32_t sum = sum_of_all;
    std::uint32_t left = count / 2;
    if (from == nullptr) {
      for (; left > 0; --left, at += N) *at = 0;
    } else {
      const auto* x = reinterpret_cast<const std::int16_t*>(from);
      for (; left >= 4; left -= 4, at += 4 * N, x += 4) {
        sum += static_cast<std::uint32_t>(at[0] = x[0]);
        sum += static_cast<std::uint32_t>(at[N] = x[1]);
        sum += static_cast<std::uint32_t>(at[2 * N] = x[2]);
        sum += static_cast<std::uint32_t>(at[3 * N] = x[3]);
      }
      for (; left > 0; --left, at += N) sum += static_cast<std::uint32_t>(*at = *x++);
    }
    next = at;
    sum_of_all = sum;
  });
  for (; next < end; next += N) *next = 0;
  return static_cast<std::int32_t>(sum_of_all);
}

template <std::uint32_t N, class Gemm, class Compute>
void convolve(const Plan& plan, const Stream& stream, Gemm& gemm, Compute compute) {
  const conv::Header header = header_in_bytes(*plan.header);
  const Convolution c = convolution_in_bytes(plan, header);
  const conv::Geometry& g = header.geometry;
  auto* patches = reinterpret_cast<std::int32_t*>(plan.scratch);
  for_blocks<N>(c, [&](const conv::Pixel(&pixels)[N], std::int8_t* out, std::uint32_t out_step) {
    gemm.stream = c.stream;
    gemm.out = out;
    gemm.out_step = out_step;
    for (std::uint32_t first = 0; first < g.in_channels; first += g.group_inputs()) {
      for (std::uint32_t i = 0; i < N; ++i) {
        const std::int32_t sum = put_patch<N>(g, pixels[i], first, patches + i, gemm.elements);
        if constexpr (requires { gemm.excess; }) {
          gemm.excess[i] = static_cast<std::int32_t>(128 * static_cast<std::uint32_t>(sum));
        }
      }
      compute(gemm);
      gemm.stream += stream.group_bytes();
      gemm.out += g.group_outputs();
    }
  });
  clamp_output(*plan.header, plan.out);
}

void execute_scalar(const void* raw) {
  const auto& plan = *static_cast<const Plan*>(raw);
  const conv::Geometry& g = plan.header->geometry;
  const Stream stream(Layout::scalar, g);
  conv::ScalarGemm gemm{.stream = nullptr,
                        .patches = reinterpret_cast<const std::int32_t*>(plan.scratch),
                        .out = nullptr,
                        .out_step = 0,
                        .elements = stream.padded_patch(),
                        .channels = g.group_outputs(),
                        .output = {}};
  const bool positive = plan.header->activation_min >= 0;
  convolve<3>(plan, stream, gemm, [&](const conv::ScalarGemm& all) {
    conv::ScalarGemm pairs = all;
    if constexpr (kHasLongMultiply) {
      pairs.channels = all.channels / 2 * 2;
      if (pairs.channels != 0) {
        (positive ? conv::cormorant_conv_gemm_words_positive_scalar : conv::cormorant_conv_gemm_words_scalar)(&pairs);
      }
      if (pairs.channels == all.channels) return;
      pairs.stream += pairs.channels / 2 * stream.block_bytes();
      pairs.out += 2 * pairs.channels;
      pairs.channels = 1;
    }
    conv::conv_gemm_words_scalar_plain(pairs, positive);
  });
}

void execute_v6m(const void* raw) {
  const auto& plan = *static_cast<const Plan*>(raw);
  const conv::Geometry& g = plan.header->geometry;
  const Stream stream(Layout::v6m, g);
  conv::V6mGemm gemm{.stream = nullptr,
                     .patches = reinterpret_cast<const std::int32_t*>(plan.scratch),
                     .out = nullptr,
                     .out_step = 0,
                     .elements = stream.padded_patch(),
                     .channels = g.group_outputs(),
                     .output = {},
                     .excess = {}};
  const bool positive = plan.header->activation_min >= 0;
  const auto loop = positive ? conv::cormorant_conv_gemm_words_positive_v6m : conv::cormorant_conv_gemm_words_v6m;
  convolve<4>(plan, stream, gemm, [&](const conv::V6mGemm& block) { loop(&block); });
}

}  // namespace
}  // namespace cormorant::ops::conv2d::words

namespace cormorant::ops::conv2d {
namespace {

void execute_scalar_nibbles(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  nibbles::convolve<nibbles::kScalar, convolve_halves_of_nibbles, nibbles::unpack_words<false>>(convolution_of(plan));
  conv::clamp_output(*plan.header, plan.out);
}

void execute_v6m_nibbles(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  nibbles::convolve<nibbles::kV6m, convolve_v6m, nibbles::unpack_words<true>>(convolution_of(plan));
  conv::clamp_output(*plan.header, plan.out);
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, scalar_words)

}  // namespace cormorant::ops::conv2d
