// SPDX-License-Identifier: Apache-2.0
#include <arm_acle.h>

#include <bit>

#include "kernels/conv_clamp_dsp.h"
#include "kernels/conv_gemm.h"
#include "kernels/conv_patch.h"
#include "kernels/move.h"
#include "ops/conv2d/kernel.h"

namespace cormorant::ops::conv2d {
namespace {

inline std::uint32_t load_word(const std::int8_t* at) {  // unaligned
  std::uint32_t word;
  __builtin_memcpy(&word, at, sizeof word);
  return word;
}

// Bytes into their place among three patches of 16-bit elements.
std::uint32_t* widen(std::uint32_t* to, const std::int8_t* from, std::uint32_t quads) {
  for (; quads > 0; --quads, to += 6, from += 4) {
    const std::uint32_t four = load_word(from);
    to[0] = static_cast<std::uint32_t>(__sxtb16(static_cast<int8x4_t>(four)));
    to[3] = static_cast<std::uint32_t>(__sxtb16(static_cast<int8x4_t>(std::rotr(four, 8))));
  }
  return to;
}

std::uint32_t* fill(std::uint32_t* to, std::int8_t value, std::uint32_t quads) {
  const std::uint32_t pair = static_cast<std::uint16_t>(value) * std::uint32_t{0x10001};
  for (; quads > 0; --quads, to += 6) to[0] = to[3] = pair;
  return to;
}

void put_patch(const conv::Header& header, const conv::Pixel& pixel, std::uint32_t* to, std::int8_t* bytes) {
  const conv::Geometry& g = header.geometry;
  if (g.in_channels % 4 == 0) {  // runs are whole words
    pixel.for_runs(g, [&](const std::int8_t* from, std::uint32_t count) {
      to = from == nullptr ? fill(to, header.pad_value, count / 4) : widen(to, from, count / 4);
    });
    return;
  }
  std::int8_t* next = bytes;
  pixel.for_runs(g, [&](const std::int8_t* from, std::uint32_t count) {
    if (from == nullptr) {
      fill_bytes_dsp(next, header.pad_value, count);
    } else {
      copy_bytes_dsp(next, from, count);
    }
    next += count;
  });
  widen(to, bytes, (g.patch() + 3U) / 4);
}

void compute(const conv::Header& header, conv::DspGemm gemm, std::uint32_t block_bytes) {
  if (header.rounding == conv::Rounding::general) {
    conv::conv_gemm_dsp_plain(gemm);
    return;
  }
  const std::uint32_t channels = gemm.channels;
  gemm.channels = channels / 2 * 2;
  if (gemm.channels != 0) {
    if (header.rounding == conv::Rounding::positive) {
      conv::cormorant_conv_gemm_positive_dsp(&gemm);
    } else {
      conv::cormorant_conv_gemm_right_dsp(&gemm);
    }
  }
  if (channels % 2 == 0) return;
  gemm.stream += channels / 2 * block_bytes;
  gemm.out += channels - 1;
  gemm.channels = 1;
  conv::conv_gemm_dsp_plain(gemm);
}

void execute_packed(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  const conv::Header& header = *plan.header;
  const conv::Geometry& g = header.geometry;
  const Stream stream(Layout::dsp, g);
  const std::uint32_t quads = stream.padded_patch() / 4;
  auto* patches = reinterpret_cast<std::uint32_t*>(plan.scratch);
  std::int8_t* bytes = plan.scratch + 24 * quads;
  conv::DspGemm gemm{.stream = plan.stream(),
                     .patches = patches,
                     .out = plan.out,
                     .out_step = g.out_channels,
                     .quads = quads,
                     .channels = g.out_channels,
                     .output = conv::output_of(header)};
  conv::Pixel pixel(g, plan.input);
  std::uint32_t left = g.out_pixels();
  for (; left >= 3; left -= 3) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      put_patch(header, pixel, patches + i, bytes);
      pixel.advance(g);
    }
    compute(header, gemm, stream.block_bytes());
    gemm.out += 3U * g.out_channels;
  }
  // A pixel alone is computed by all three places, which write to the same address: what stands in the other two does
  // not matter as long as it is the same.
  gemm.out_step = 0;
  for (; left > 0; --left) {
    for (std::uint32_t i = 0; i < 3; ++i) put_patch(header, pixel, patches + i, bytes);
    pixel.advance(g);
    compute(header, gemm, stream.block_bytes());
    gemm.out += g.out_channels;
  }
  if (header.rounding != conv::Rounding::general) conv::clamp_output_dsp(header, plan.out);
}

void execute_direct(const void* raw) { conv::conv_direct(*static_cast<const conv::Direct*>(raw), conv::dot_plain); }

}  // namespace
}  // namespace cormorant::ops::conv2d

using namespace cormorant::ops::conv2d;  // NOLINT(google-build-using-namespace)
CORMORANT_KERNEL(cormorant_conv2d_dsp, kDsp.name, load_dsp, execute_packed)
CORMORANT_KERNEL(cortex_m_quantized_conv2d_out_dsp, "cortex_m::quantized_conv2d.out", load_direct, execute_direct)
