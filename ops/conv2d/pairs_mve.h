// SPDX-License-Identifier: Apache-2.0
//
// Pairs of pixels for MVE's inner loop. Static, not inline: each file that includes it has its own copy, and is
// compiled as if the others did not exist.
#pragma once

#include "kernels/conv_gemm.h"
#include "ops/conv2d/kernel.h"

namespace cormorant::ops::conv2d {

// Pairs of pixels, all channels of a group. Channels after the last whole block of four take a detour via the stack.
// Changes the gemm.
template <auto kGemm>
[[gnu::always_inline]] inline void compute_by(conv::MveGemm& gemm, std::uint32_t channels, std::uint32_t block_bytes) {
  gemm.blocks = channels / 4;
  if (gemm.blocks != 0) kGemm(&gemm);
  const std::uint32_t rest = channels % 4;
  if (rest == 0) return;
  std::int8_t last[2][4];
  conv::MveGemm tail = gemm;
  tail.stream += gemm.blocks * block_bytes;
  tail.blocks = 1;
  tail.pairs = 1;
  tail.out0 = last[0];
  tail.out1 = last[1];
  for (std::uint32_t pair = 0; pair < gemm.pairs; ++pair) {
    kGemm(&tail);
    for (std::uint32_t i = 0; i < rest; ++i) {
      gemm.out0[channels - rest + i] = last[0][i];
      gemm.out1[channels - rest + i] = last[1][i];
    }
    gemm.out0 += gemm.out_step;
    gemm.out1 += gemm.out_step;
    tail.patch0 += gemm.in_step;
    tail.patch1 += gemm.in_step;
  }
}

[[maybe_unused]] static void compute(conv::MveGemm gemm, std::uint32_t channels, std::uint32_t block_bytes) {
  compute_by<conv::cormorant_conv_gemm_mve>(gemm, channels, block_bytes);
}

static conv::MveGemm gemm_of(const Convolution& c) {
  return {.stream = c.stream,
          .patch0 = nullptr,
          .patch1 = nullptr,
          .out0 = c.places.out,
          .out1 = c.places.out,
          .chunks = (c.header.geometry.patch() + 15U) / 16,
          .blocks = 0,
          .pairs = 1,
          .in_step = 0,
          .out_step = 0,
          .output = conv::output_of(c.header)};
}

// One row has its own walk: kernel_mve_row.cc.
void execute_mve_row(const void* plan);
void execute_mve_row_prelu(const void* plan);
// Layers with a residual connection: kernel_mve_sum.cc.
void execute_mve_sum(const void* plan);
// Layers with slopes: kernel_mve_prelu.cc.
void execute_mve_prelu(const void* plan);

}  // namespace cormorant::ops::conv2d
