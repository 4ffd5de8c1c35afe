// SPDX-License-Identifier: Apache-2.0
//
// The code around the DSP variants' inner loops: three pixels at a time, their patches widened, all channels.
// Everything is a template over the loops, so that a variant compiled for size shares no function with others.
#pragma once

#include <arm_acle.h>

#include "kernels/conv_clamp_dsp.h"
#include "kernels/conv_gemm.h"
#include "kernels/conv_pairs_dsp.h"
#include "kernels/conv_patch.h"
#include "kernels/move.h"
#include "ops/conv2d/blocks.h"
#include "ops/conv2d/kernel.h"

namespace cormorant::ops::conv2d {

// Loops has kLayout and the functions plain, right and positive (kernels/conv_gemm.h).
template <class Loops>
struct DspConvolution {
  static std::uint32_t load_word(const std::int8_t* at) {  // unaligned
    std::uint32_t word;
    __builtin_memcpy(&word, at, sizeof word);
    return word;
  }

  // The bytes 0 and 2, or 1 and 3, as halves. In assembly, since gcc 12 rotates by an instruction of its own.
  static std::uint32_t even(std::uint32_t four) {
    return static_cast<std::uint32_t>(__sxtb16(static_cast<int8x4_t>(four)));
  }
  static std::uint32_t odd(std::uint32_t four) {
    std::uint32_t halves;
    asm("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(four));
    return halves;
  }

  // Writes bytes to their place among three patches of 16-bit elements.
  static std::uint32_t* widen(std::uint32_t* to, const std::int8_t* from, std::uint32_t quads) {
    for (; quads > 0; --quads, to += 6, from += 4) {
      const std::uint32_t four = load_word(from);
      to[0] = even(four);
      to[3] = odd(four);
    }
    return to;
  }

  // The same for all three: half the instructions.
  static std::uint32_t* widen_three(std::uint32_t* to, const std::int8_t* x, const std::int8_t* y, const std::int8_t* z,
                                    std::uint32_t quads) {
    for (; quads > 0; --quads, to += 6, x += 4, y += 4, z += 4) {
      const std::uint32_t first = load_word(x), second = load_word(y), third = load_word(z);
      to[0] = even(first);
      to[1] = even(second);
      to[2] = even(third);
      to[3] = odd(first);
      to[4] = odd(second);
      to[5] = odd(third);
    }
    return to;
  }

  // Patches of three pixels at a time, if these are inside the image and rows of patches are whole words.
  static bool may_put_three(const conv::Geometry& g) { return g.in_channels % 4 == 0 && g.dilation_width == 1; }
  static bool put_three(const conv::Geometry& g, const conv::Pixel (&pixels)[3], std::uint32_t* to) {
    if (!pixels[0].is_inside(g) || !pixels[1].is_inside(g) || !pixels[2].is_inside(g)) return false;
    const std::int8_t* x = pixels[0].first_tap(g);
    const std::int8_t* y = pixels[1].first_tap(g);
    const std::int8_t* z = pixels[2].first_tap(g);
    const std::uint32_t step = std::uint32_t{g.dilation_height} * g.in_width * g.in_channels;
    const std::uint32_t quads = std::uint32_t{g.kernel_width} * g.in_channels / 4;
    for (std::uint32_t left = g.kernel_height; left > 0; --left, x += step, y += step, z += step) {
      to = widen_three(to, x, y, z, quads);
    }
    return true;
  }

  static std::uint32_t* fill(std::uint32_t* to, std::int8_t value, std::uint32_t quads) {
    const std::uint32_t pair = static_cast<std::uint16_t>(value) * std::uint32_t{0x10001};
    for (; quads > 0; --quads, to += 6) to[0] = to[3] = pair;
    return to;
  }

  static void put_patch(const conv::Header& header, const conv::Pixel& pixel, std::uint32_t* to, std::int8_t* bytes) {
    const conv::Geometry& g = header.geometry;
    if (g.group_inputs() % 4 == 0) {  // runs are whole words
      pixel.for_whole_runs(g, [&](const std::int8_t* from, std::uint32_t count) {
        to = from == nullptr ? fill(to, header.pad_value, count / 4) : widen(to, from, count / 4);
      });
      return;
    }
    std::int8_t* next = bytes;
    pixel.for_whole_runs(g, [&](const std::int8_t* from, std::uint32_t count) {
      if (from == nullptr) {
        fill_bytes_dsp(next, header.pad_value, count);
      } else {
        copy_bytes_dsp(next, from, count);
      }
      next += count;
    });
    widen(to, bytes, (g.patch() + 3U) / 4);
  }

  static std::uint32_t load_pair(const std::int8_t* at) {  // unaligned
    std::uint16_t pair;
    __builtin_memcpy(&pair, at, sizeof pair);
    return pair;
  }

  // For the group whose first channel is `first`: of three pixels if its channels are whole words, else of one.
  static void put_groups(const conv::Geometry& g, const conv::TapTable<3>& table, std::uint32_t first,
                         std::uint32_t* to) {
    const std::int8_t* const* x = table.taps_of(0);
    const std::int8_t* const* y = table.taps_of(1);
    const std::int8_t* const* z = table.taps_of(2);
    const std::uint32_t quads = g.group_inputs() / 4;
    for (std::uint32_t left = g.taps(); left > 0; --left) {
      to = widen_three(to, *x++ + first, *y++ + first, *z++ + first, quads);
    }
  }
  static void put_group(const conv::Geometry& g, const std::int8_t* const* taps, std::uint32_t first, std::uint32_t* to,
                        std::int8_t* bytes) {
    const std::uint32_t inputs = g.group_inputs();
    std::uint32_t left = g.taps();
    if (inputs == 2) {
      const auto put = [&](std::uint32_t four) {
        to[0] = even(four);
        to[3] = odd(four);
        to += 6;
      };
      for (; left > 1; left -= 2, taps += 2) put(load_pair(taps[0] + first) | load_pair(taps[1] + first) << 16);
      if (left != 0) put(load_pair(taps[0] + first));
      return;
    }
    std::int8_t* next = bytes;
    for (; left > 0; --left) {
      const std::int8_t* from = *taps++ + first;
      for (std::uint32_t i = inputs; i > 0; --i) *next++ = *from++;
    }
    widen(to, bytes, (g.patch() + 3U) / 4);
  }

  static void run_pairs(const Convolution& c) {
    const conv::Geometry& g = c.header.geometry;
    conv::TapTable<3> table(c.header, c.scratch);
    conv::DspPairs pairs{.stream = c.stream,
                         .taps = table.taps_of(0),
                         .out = nullptr,
                         .tap_pairs = (g.taps() + 1) / 2,
                         .shift = 0,
                         .group_pairs = g.groups / 2U,
                         .offset = c.header.output_offset};
    conv::Pixel pixel(g, c.input);
    std::int8_t* image = c.places.out;
    for (std::uint32_t n = g.batch; n > 0; --n, image += c.places.image) {
      std::int8_t* row = image;
      for (std::uint32_t y = g.out_height; y > 0; --y, row += c.places.row) {
        pairs.out = row;
        bool was_inside = false;  // then all taps move along
        for (std::uint32_t x = g.out_width; x > 0; --x, pixel.advance(g), pairs.out += c.places.pixel) {
          const bool is_inside = pixel.is_inside(g);
          if (was_inside && is_inside) {
            pairs.shift += std::uint32_t{g.stride_width} * g.in_channels;
          } else {
            table.look_up_pairs(g, pixel);
            pairs.shift = 0;
          }
          was_inside = is_inside;
          conv::cormorant_conv_pairs_dsp(&pairs);
        }
      }
    }
  }

  static auto loop_for(conv::Rounding rounding) {
    return rounding == conv::Rounding::positive ? Loops::positive : Loops::right;
  }

  static void compute(const conv::Header& header, const conv::DspGemm& gemm, const Stream& stream) {
    if (gemm.channels % 2 == 0) {
      loop_for(header.rounding)(&gemm);
    } else {
      compute_rest(header, gemm, stream);
    }
  }

  // Pairs of channels, then the last one in plain loops.
  [[gnu::noinline]] static void compute_rest(const conv::Header& header, conv::DspGemm gemm, const Stream& stream) {
    const std::uint32_t channels = gemm.channels;
    gemm.channels = channels / 2 * 2;
    if (gemm.channels != 0) loop_for(header.rounding)(&gemm);
    gemm.stream += channels / 2 * stream.block_bytes();
    gemm.out += channels - 1;
    gemm.channels = 1;
    Loops::plain(gemm);
  }

  // Three pixels of a row at a time. A single pixel is computed in all three places, which write to the same address;
  // the other two may hold anything, as long as it is the same.
  static void run(const Convolution& c) {
    const conv::Geometry& g = c.header.geometry;
    const Stream stream(Loops::kLayout, g);
    auto* patches = reinterpret_cast<std::uint32_t*>(c.scratch);
    std::int8_t* bytes = c.scratch + 6 * stream.padded_patch();
    conv::DspGemm gemm = gemm_of(c, stream);
    const bool has_words = may_put_three(g);
    for_blocks<3>(c, [&](const conv::Pixel(&pixels)[3], std::int8_t* out, std::uint32_t out_step) {
      gemm.out = out;
      gemm.out_step = out_step;
      if (!has_words || !put_three(g, pixels, patches)) {
        for (std::uint32_t i = 0; i < 3; ++i) put_patch(c.header, pixels[i], patches + i, bytes);
      }
      compute(c.header, gemm, stream);
    });
  }

  static void run_groups(const Convolution& c) {
    const conv::Geometry& g = c.header.geometry;
    const Stream stream(Loops::kLayout, g);
    auto* patches = reinterpret_cast<std::uint32_t*>(c.scratch);
    std::int8_t* bytes = c.scratch + 6 * stream.padded_patch();
    conv::DspGemm gemm = gemm_of(c, stream);
    conv::TapTable<3> table(c.header, bytes + gathered_bytes(g, stream.padded_patch()));
    const std::uint32_t group_bytes = stream.group_bytes();
    for_blocks<3>(c, [&](const conv::Pixel(&pixels)[3], std::int8_t* out, std::uint32_t out_step) {
      table.look_up(g, pixels);
      gemm.stream = c.stream;
      gemm.out = out;
      gemm.out_step = out_step;
      for (std::uint32_t first = 0; first < g.in_channels; first += g.group_inputs()) {
        if (g.group_inputs() % 4 == 0) {
          put_groups(g, table, first, patches);
        } else {
          for (std::uint32_t i = 0; i < 3; ++i) put_group(g, table.taps_of(i), first, patches + i, bytes);
        }
        compute(c.header, gemm, stream);
        gemm.stream += group_bytes;
        gemm.out += g.group_outputs();
      }
    });
  }

  static conv::DspGemm gemm_of(const Convolution& c, const Stream& stream) {
    return {.stream = c.stream,
            .patches = reinterpret_cast<const std::uint32_t*>(c.scratch),
            .out = nullptr,
            .out_step = 0,
            .quads = stream.padded_patch() / 4,
            .channels = stream.channels,
            .output = conv::output_of(c.header)};
  }
};

// Layers with slopes: kernel_dsp_prelu.cc.
void execute_dsp_prelu(const void* plan);

template <void (*Convolve)(const Convolution&)>
void execute_packed_dsp(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  Convolve(convolution_of(plan));
  conv::clamp_output_dsp(*plan.header, plan.out);
}

}  // namespace cormorant::ops::conv2d
