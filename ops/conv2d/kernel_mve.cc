// SPDX-License-Identifier: Apache-2.0
#include <arm_mve.h>

#include "kernels/conv_gemm.h"
#include "kernels/conv_patch.h"
#include "kernels/move.h"
#include "ops/conv2d/kernel.h"

namespace cormorant::ops::conv2d {
namespace {

// Pairs of pixels, all channels. Channels behind the last whole block of four take a detour over the stack.
void compute(conv::MveGemm gemm, std::uint32_t channels, std::uint32_t block_bytes) {
  gemm.blocks = channels / 4;
  if (gemm.blocks != 0) cormorant_conv_gemm_mve(&gemm);
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
    cormorant_conv_gemm_mve(&tail);
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

// Pixels in place. Output rows whose input pixels follow each other at equal distances are one row: all of them, where
// the stride is 1.
void execute_1x1(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  const conv::Geometry& g = plan.header->geometry;
  const std::uint32_t block_bytes = Stream(Layout::mve, g).block_bytes();
  const std::uint32_t depth = g.in_channels;
  const std::uint32_t chunks = (depth + 15U) / 16;
  const bool one_row = conv::is_pointwise(g);
  const std::uint32_t rows = one_row ? 1 : std::uint32_t{g.batch} * g.out_height;
  const std::uint32_t columns = one_row ? g.out_pixels() : g.out_width;
  const std::uint32_t step = one_row ? depth : std::uint32_t{g.stride_width} * depth;
  const std::uint32_t row_bytes = std::uint32_t{g.in_width} * depth;
  // A pixel from which whole vectors can be read lies this far before the end of the input.
  const std::int8_t* last_whole = plan.input + std::uint32_t{g.batch} * g.in_height * row_bytes - 16 * chunks;
  conv::MveGemm gemm{.stream = plan.stream(),
                     .patch0 = plan.input,
                     .patch1 = nullptr,
                     .out0 = plan.out,
                     .out1 = nullptr,
                     .chunks = chunks,
                     .blocks = 0,
                     .pairs = 0,
                     .in_step = 2 * step,
                     .out_step = 2U * g.out_channels,
                     .output = conv::output_of(*plan.header)};
  const std::int8_t* row = plan.input;
  for (std::uint32_t y = 0, image_y = 0; y < rows; ++y) {
    gemm.patch0 = row;
    std::uint32_t left = columns;
    gemm.pairs = left / 2;
    // In an input shorter than a vector `last_whole` lies before its first pixel.
    while (gemm.pairs > 0 && row + (2 * gemm.pairs - 1) * step > last_whole) --gemm.pairs;
    if (gemm.pairs > 0) {
      gemm.patch1 = gemm.patch0 + step;
      gemm.out1 = gemm.out0 + g.out_channels;
      compute(gemm, g.out_channels, block_bytes);
      left -= 2 * gemm.pairs;
      gemm.out0 += gemm.pairs * gemm.out_step;
      gemm.patch0 += gemm.pairs * gemm.in_step;
    }
    gemm.pairs = 1;
    for (const std::int8_t* pixel = gemm.patch0; left > 0; --left, pixel += step) {  // one at a time, computed twice
      gemm.patch0 = pixel;
      if (depth % 16 != 0) {
        copy_bytes_mve(plan.scratch, pixel, depth);
        gemm.patch0 = plan.scratch;
      }
      gemm.patch1 = gemm.patch0;
      gemm.out1 = gemm.out0;
      compute(gemm, g.out_channels, block_bytes);
      gemm.out0 += g.out_channels;
    }
    row += g.stride_height * row_bytes;
    if (++image_y == g.out_height) {
      image_y = 0;
      row = plan.input + (y + 1) / g.out_height * g.in_height * row_bytes;
    }
  }
}

// `rows` runs of `count` bytes, `stride` apart, packed without gaps. Vectors are written whole: what a run spoils of
// the 15 bytes behind it the next run mends.
void copy_rows(std::int8_t* to, const std::int8_t* from, std::uint32_t rows, std::uint32_t count,
               std::uint32_t stride) {
  if (count <= 16) {
    const mve_pred16_t lanes = vctp8q(count);
    for (; rows > 0; --rows, to += count, from += stride) vstrbq_s8(to, vldrbq_z_s8(from, lanes));
    return;
  }
  for (; rows > 0; --rows, from += stride - count) {
    std::uint32_t left = count;
    for (; left >= 16; left -= 16, to += 16, from += 16) vstrbq_s8(to, vldrbq_s8(from));
    if (left != 0) vstrbq_s8(to, vldrbq_z_s8(from, vctp8q(left)));
    to += left;
    from += left;
  }
}

// What the window sees of a column: for each row `channels · kernel_width` bytes from x = left on.
void copy_column(const conv::Header& header, const std::int8_t* image, std::int32_t left, std::int8_t* to) {
  const conv::Geometry& g = header.geometry;
  const std::uint32_t channels = g.in_channels;
  const std::uint32_t run = channels * g.kernel_width;
  const std::uint32_t rows = column_rows(g);
  const std::uint32_t row_bytes = std::uint32_t{g.in_width} * channels;
  const std::uint32_t above = g.pad_top < rows ? g.pad_top : rows;
  const std::uint32_t inside = g.in_height < rows - above ? g.in_height : rows - above;
  const bool whole = left >= 0 && left + g.kernel_width <= g.in_width && g.dilation_width == 1;
  fill_bytes_mve(to, header.pad_value, whole ? above * run : (above + inside) * run);
  std::int8_t* first = to + above * run;
  if (whole) {
    copy_rows(first, image + static_cast<std::uint32_t>(left) * channels, inside, run, row_bytes);
  } else {
    for (std::uint32_t y = 0; y < inside; ++y) {
      std::int32_t x = left;
      for (std::uint32_t kx = 0; kx < g.kernel_width; ++kx, x += g.dilation_width) {
        if (x < 0 || x >= g.in_width) continue;
        copy_bytes_mve(first + y * run + kx * channels,
                       image + y * row_bytes + static_cast<std::uint32_t>(x) * channels, channels);
      }
    }
  }
  fill_bytes_mve(first + inside * run, header.pad_value, (rows - above - inside) * run);
}

// Column by column, pixels from top to bottom.
void by_columns(const PackedPlan& plan, conv::MveGemm& gemm) {
  const conv::Header& header = *plan.header;
  const conv::Geometry& g = header.geometry;
  const std::uint32_t block_bytes = Stream(Layout::mve, g).block_bytes();
  const std::uint32_t step = std::uint32_t{g.stride_height} * g.kernel_width * g.in_channels;
  const std::uint32_t row_bytes = std::uint32_t{g.out_width} * g.out_channels;
  gemm.in_step = 2 * step;
  gemm.out_step = 2 * row_bytes;
  const std::int8_t* image = plan.input;
  std::int8_t* out = plan.out;
  for (std::uint32_t n = 0; n < g.batch; ++n) {
    std::int32_t left = -std::int32_t{g.pad_left};
    for (std::uint32_t x = 0; x < g.out_width; ++x, left += g.stride_width) {
      copy_column(header, image, left, plan.scratch);
      gemm.patch0 = plan.scratch;
      gemm.patch1 = plan.scratch + step;
      gemm.out0 = out + x * g.out_channels;
      gemm.out1 = gemm.out0 + row_bytes;
      gemm.pairs = g.out_height / 2U;
      if (gemm.pairs > 0) compute(gemm, g.out_channels, block_bytes);
      if (g.out_height % 2U != 0) {  // the last of an odd number of pixels is computed twice
        gemm.patch0 = gemm.patch1 = plan.scratch + (g.out_height - 1U) * step;
        gemm.out0 = gemm.out1 = out + (g.out_height - 1U) * row_bytes + x * g.out_channels;
        gemm.pairs = 1;
        compute(gemm, g.out_channels, block_bytes);
      }
    }
    image += std::uint32_t{g.in_height} * g.in_width * g.in_channels;
    out += g.out_height * row_bytes;
  }
}

void fill_patch(const conv::Header& header, const conv::Pixel& pixel, std::int8_t* to) {
  pixel.for_runs(header.geometry, [&](const std::int8_t* from, std::uint32_t count) {
    if (from == nullptr) {
      fill_bytes_mve(to, header.pad_value, count);
    } else {
      copy_bytes_mve(to, from, count);
    }
    to += count;
  });
}

// Patch by patch.
void by_pixels(const PackedPlan& plan, conv::MveGemm& gemm) {
  const conv::Header& header = *plan.header;
  const conv::Geometry& g = header.geometry;
  const std::uint32_t block_bytes = Stream(Layout::mve, g).block_bytes();
  gemm.patch0 = plan.scratch;
  gemm.patch1 = plan.scratch + 16 * gemm.chunks;
  gemm.pairs = 1;
  conv::Pixel pixel(g, plan.input);
  for (std::uint32_t left = g.out_pixels(); left > 0;) {
    fill_patch(header, pixel, plan.scratch);
    gemm.out1 = gemm.out0;
    if (left > 1) {
      pixel.advance(g);
      fill_patch(header, pixel, plan.scratch + 16 * gemm.chunks);
      gemm.out1 += g.out_channels;
      pixel.advance(g);
      left -= 2;
    } else {
      gemm.patch1 = gemm.patch0;
      left = 0;
    }
    compute(gemm, g.out_channels, block_bytes);
    gemm.out0 = gemm.out1 + g.out_channels;
  }
}

void execute_kxk(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  const conv::Geometry& g = plan.header->geometry;
  conv::MveGemm gemm{.stream = plan.stream(),
                     .patch0 = nullptr,
                     .patch1 = nullptr,
                     .out0 = plan.out,
                     .out1 = plan.out,
                     .chunks = (g.patch() + 15U) / 16,
                     .blocks = 0,
                     .pairs = 1,
                     .in_step = 0,
                     .out_step = 0,
                     .output = conv::output_of(*plan.header)};
  if (copies_columns(g)) {
    by_columns(plan, gemm);
  } else {
    by_pixels(plan, gemm);
  }
}

std::int32_t dot(const std::int8_t* x, const std::int8_t* w, std::uint32_t count, std::int32_t offset) {
  std::int32_t products = 0;
  std::int32_t weights = 0;
  for (auto left = static_cast<std::int32_t>(count); left > 0; left -= 16, x += 16, w += 16) {
    const mve_pred16_t lanes = vctp8q(static_cast<std::uint32_t>(left));
    const int8x16_t ws = vldrbq_z_s8(w, lanes);
    products = vmladavaq_s8(products, vldrbq_z_s8(x, lanes), ws);
    weights = vaddvaq_s8(weights, ws);
  }
  return products + offset * weights;
}

void execute_direct(const void* raw) { conv::conv_direct(*static_cast<const conv::Direct*>(raw), dot); }

}  // namespace
}  // namespace cormorant::ops::conv2d

using namespace cormorant::ops::conv2d;  // NOLINT(google-build-using-namespace)
CORMORANT_KERNEL(cormorant_conv2d_mve_1x1, kMve1x1.name, load_mve_1x1, execute_1x1)
CORMORANT_KERNEL(cormorant_conv2d_mve_kxk, kMveKxk.name, load_mve_kxk, execute_kxk)
CORMORANT_KERNEL(cortex_m_quantized_conv2d_out_mve, "cortex_m::quantized_conv2d.out", load_direct, execute_direct)
