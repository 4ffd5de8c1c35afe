// SPDX-License-Identifier: Apache-2.0
//
// What lies around the DSP variants' inner loops: three pixels at a time, their patches widened, all channels.
// Everything is a template over the loops, so that a variant that is compiled for size shares no function with others.
#pragma once

#include <arm_acle.h>

#include <bit>

#include "kernels/conv_clamp_dsp.h"
#include "kernels/conv_gemm.h"
#include "kernels/conv_patch.h"
#include "kernels/move.h"
#include "ops/conv2d/blocks.h"
#include "ops/conv2d/kernel.h"

namespace cormorant::ops::conv2d {

// Loops has kLayout and the functions plain (any rounding), right, positive and both (kernels/conv_gemm.h).
template <class Loops>
struct DspConvolution {
  static std::uint32_t load_word(const std::int8_t* at) {  // unaligned
    std::uint32_t word;
    __builtin_memcpy(&word, at, sizeof word);
    return word;
  }

  // Bytes into their place among three patches of 16-bit elements.
  static std::uint32_t* widen(std::uint32_t* to, const std::int8_t* from, std::uint32_t quads) {
    for (; quads > 0; --quads, to += 6, from += 4) {
      const std::uint32_t four = load_word(from);
      to[0] = static_cast<std::uint32_t>(__sxtb16(static_cast<int8x4_t>(four)));
      to[3] = static_cast<std::uint32_t>(__sxtb16(static_cast<int8x4_t>(std::rotr(four, 8))));
    }
    return to;
  }

  static std::uint32_t* fill(std::uint32_t* to, std::int8_t value, std::uint32_t quads) {
    const std::uint32_t pair = static_cast<std::uint16_t>(value) * std::uint32_t{0x10001};
    for (; quads > 0; --quads, to += 6) to[0] = to[3] = pair;
    return to;
  }

  // Of the group whose first channel is `first`.
  static void put_patch(const conv::Header& header, const conv::Pixel& pixel, std::uint32_t first, std::uint32_t* to,
                        std::int8_t* bytes) {
    const conv::Geometry& g = header.geometry;
    if (g.group_inputs() % 4 == 0) {  // runs are whole words
      pixel.for_runs(g, first, [&](const std::int8_t* from, std::uint32_t count) {
        to = from == nullptr ? fill(to, header.pad_value, count / 4) : widen(to, from, count / 4);
      });
      return;
    }
    std::int8_t* next = bytes;
    pixel.for_runs(g, first, [&](const std::int8_t* from, std::uint32_t count) {
      if (from == nullptr) {
        fill_bytes_dsp(next, header.pad_value, count);
      } else {
        copy_bytes_dsp(next, from, count);
      }
      next += count;
    });
    widen(to, bytes, (g.patch() + 3U) / 4);
  }

  static auto loop_for(conv::Rounding rounding) {
    if (rounding == conv::Rounding::positive) return Loops::positive;
    return rounding == conv::Rounding::right ? Loops::right : Loops::both;
  }

  // Pairs of channels, a channel that is left over in plain loops.
  static void compute(const conv::Header& header, conv::DspGemm gemm, const Stream& stream) {
    const std::uint32_t channels = gemm.channels;
    gemm.channels = channels / 2 * 2;
    if (gemm.channels != 0) loop_for(header.rounding)(&gemm);
    if (header.rounding == conv::Rounding::general) compute_marked(gemm, stream, Loops::plain);
    if (channels % 2 == 0) return;
    gemm.stream += channels / 2 * stream.block_bytes();
    gemm.out += channels - 1;
    gemm.channels = 1;
    Loops::plain(gemm);
  }

  // Three pixels of a row at a time. A pixel alone is computed by all three places, which write to the same address:
  // what stands in the other two does not matter as long as it is the same.
  static void run(const Convolution& c) {
    const conv::Geometry& g = c.header.geometry;
    const Stream stream(Loops::kLayout, g);
    const std::uint32_t quads = stream.padded_patch() / 4;
    auto* patches = reinterpret_cast<std::uint32_t*>(c.scratch);
    std::int8_t* bytes = c.scratch + 24 * quads;
    conv::DspGemm gemm{.stream = nullptr,
                       .patches = patches,
                       .out = nullptr,
                       .out_step = 0,
                       .quads = quads,
                       .channels = g.group_outputs(),
                       .output = conv::output_of(c.header)};
    for_blocks<3>(c, [&](const conv::Pixel(&pixels)[3], std::int8_t* out, std::uint32_t out_step) {
      gemm.stream = c.stream;
      gemm.out = out;
      gemm.out_step = out_step;
      for (std::uint32_t first = 0; first < g.in_channels; first += g.group_inputs()) {
        for (std::uint32_t i = 0; i < 3; ++i) put_patch(c.header, pixels[i], first, patches + i, bytes);
        compute(c.header, gemm, stream);
        gemm.stream += stream.group_bytes();
        gemm.out += g.group_outputs();
      }
    });
  }
};

template <void (*Convolve)(const Convolution&)>
void execute_packed_dsp(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  Convolve(convolution_of(plan));
  conv::clamp_output_dsp(*plan.header, plan.out);
}

}  // namespace cormorant::ops::conv2d
