// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_clamp_dsp.h"
#include "kernels/conv_gemm_words.h"
#include "ops/conv2d/blocks.h"
#include "ops/conv2d/nibbles_kernel.h"
#include "ops/conv2d/words_kernel.h"

namespace cormorant::ops::conv2d::words {
namespace {

inline std::uint32_t load_pair(const std::int8_t* at) {  // at a whole element
  std::uint32_t pair;
  __builtin_memcpy(&pair, at, sizeof pair);
  return pair;
}

// Writes one patch to its place among three, pairs of elements adjacent, padded with zeros.
void put_patch(const conv::Geometry& bytes, const conv::Pixel& pixel, std::uint32_t first, std::uint32_t* to,
               std::uint32_t elements) {
  const std::uint32_t* const end = to + elements / 2 * 3;
  if (bytes.group_inputs() % 4 == 0) {  // runs are whole pairs
    pixel.for_runs(bytes, first, [&](const std::int8_t* from, std::uint32_t count) {
      std::uint32_t* at = to;
      std::uint32_t pairs = count / 4;
      if (from == nullptr) {
        for (; pairs > 0; --pairs, at += 3) *at = 0;
      } else {
        for (; pairs >= 2; pairs -= 2, at += 6, from += 8) {
          const std::uint32_t a = load_pair(from), b = load_pair(from + 4);
          at[0] = a;
          at[3] = b;
        }
        if (pairs != 0) {
          *at = load_pair(from);
          at += 3;
        }
      }
      to = at;
    });
    for (; to < end; to += 3) *to = 0;
    return;
  }
  // Element by element: the second of a pair completes the word.
  std::uint32_t half = 0;
  bool is_second = false;
  const auto put = [&](std::uint32_t element) {
    if (is_second) {
      *to = half | element << 16;
      to += 3;
    } else {
      half = element & 0xffffU;
    }
    is_second = !is_second;
  };
  pixel.for_runs(bytes, first, [&](const std::int8_t* from, std::uint32_t count) {
    const auto* x = reinterpret_cast<const std::int16_t*>(from);
    for (std::uint32_t left = count / 2; left > 0; --left) {
      put(x == nullptr ? 0U : static_cast<std::uint16_t>(*x++));
    }
  });
  while (to < end) put(0);
}

void compute(conv::DspGemm gemm, const Stream& stream, bool positive) {
  const std::uint32_t channels = gemm.channels;
  gemm.channels = channels / 2 * 2;
  if (gemm.channels != 0) {
    (positive ? conv::cormorant_conv_gemm_words_positive_dsp : conv::cormorant_conv_gemm_words_dsp)(&gemm);
  }
  if (channels % 2 == 0) return;
  gemm.stream += channels / 2 * stream.block_bytes();
  gemm.out += 2 * (channels - 1);
  gemm.channels = 1;
  conv::conv_gemm_words_dsp_plain(gemm, positive);
}

void execute_dsp(const void* raw) {
  const auto& plan = *static_cast<const Plan*>(raw);
  const conv::Header header = header_in_bytes(*plan.header);
  const Convolution c = convolution_in_bytes(plan, header);
  const conv::Geometry& g = header.geometry;
  const Stream stream(Layout::dsp, plan.header->geometry);
  auto* patches = reinterpret_cast<std::uint32_t*>(plan.scratch);
  const bool positive = plan.header->activation_min >= 0;
  conv::DspGemm gemm{.stream = nullptr,
                     .patches = patches,
                     .out = nullptr,
                     .out_step = 0,
                     .quads = stream.padded_patch() / 4,
                     .channels = plan.header->geometry.group_outputs(),
                     .output = {}};
  for_blocks<3>(c, [&](const conv::Pixel(&pixels)[3], std::int8_t* out, std::uint32_t out_step) {
    gemm.stream = c.stream;
    gemm.out = out;
    gemm.out_step = out_step;
    for (std::uint32_t first = 0; first < g.in_channels; first += g.group_inputs()) {
      for (std::uint32_t i = 0; i < 3; ++i) put_patch(g, pixels[i], first, patches + i, stream.padded_patch());
      compute(gemm, stream, positive);
      gemm.stream += stream.group_bytes();
      gemm.out += g.group_outputs();
    }
  });
  clamp_output(*plan.header, plan.out);
}

}  // namespace
}  // namespace cormorant::ops::conv2d::words

namespace cormorant::ops::conv2d {
namespace {

void execute_dsp_nibbles(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  nibbles::convolve<nibbles::kDsp, convolve_dsp, nibbles::unpack_words<false>>(convolution_of(plan));
  conv::clamp_output_dsp(*plan.header, plan.out);
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, dsp_words)

}  // namespace cormorant::ops::conv2d
