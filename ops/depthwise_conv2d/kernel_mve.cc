// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_direct.h"
#include "kernels/move.h"
#include "ops/depthwise_conv2d/execute.h"

namespace cormorant::ops::depthwise {
namespace {

// Copies the input row of window row `index` (counted from the padding's first row on) to its place in the ring.
void put_row(const conv::Header& header, const Rows& rows, const std::int8_t* image, std::uint32_t index,
             std::int8_t* to) {
  const conv::Geometry& g = header.geometry;
  const std::int32_t y = static_cast<std::int32_t>(index) - g.pad_top;
  if (y < 0 || y >= g.in_height) {
    fill_bytes_mve(to, header.pad_value, rows.row);
    return;
  }
  const std::uint32_t before = g.pad_left < rows.width ? g.pad_left : rows.width;
  const std::uint32_t inside = g.in_width < rows.width - before ? g.in_width : rows.width - before;
  const std::int8_t* from = image + static_cast<std::uint32_t>(y) * g.in_width * g.in_channels;
  if (before != 0) fill_bytes_mve(to, header.pad_value, before * rows.pixel);
  to += before * rows.pixel;
  if (rows.pixel == g.in_channels) {
    copy_bytes_mve(to, from, inside * rows.pixel);
    to += inside * rows.pixel;
  } else {
    for (std::uint32_t x = 0; x < inside; ++x, to += rows.pixel, from += g.in_channels)
      copy_bytes_mve(to, from, g.in_channels);
  }
  const std::uint32_t after = rows.width - before - inside;
  if (after != 0) fill_bytes_mve(to, header.pad_value, after * rows.pixel);
}

// Row by row. A unit is what the loop calls a pixel: one, or several packed into a vector.
void execute_3x3(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  const conv::Header& header = *plan.header;
  const conv::Geometry& g = header.geometry;
  const Rows rows(kMve3x3, g);
  const bool packed = packs_pixels(kMve3x3, g);
  const std::uint32_t row_bytes = std::uint32_t{g.out_width} * g.out_channels;
  const std::uint32_t unit = packed ? 16 : g.in_channels;  // bytes of output
  const std::uint32_t written = packed ? 16 : rows.pixel;  // bytes that are stored for it
  const std::uint32_t units = packed ? (row_bytes + 15) / 16 : g.out_width;
  const std::uint32_t unit_step = packed ? 16 : g.stride_width * rows.pixel;  // bytes of input from one to the next
  const bool is_positive =
      header.rounding == conv::Rounding::positive && header.activation_min == -128 && header.activation_max == 127;
  const auto compute =
      is_positive ? conv::cormorant_depthwise_3x3_positive_mve : conv::cormorant_depthwise_3x3_general_mve;
  conv::MveDepthwise3x3 row{.stream = plan.stream(),
                            .taps = {},
                            .out = nullptr,
                            .blocks = written / 16,
                            .pixels = 0,
                            .tap_step = unit_step - written,
                            .out_step = static_cast<std::int32_t>(unit - written),
                            .offset = header.output_offset,
                            .min = header.activation_min,
                            .max = header.activation_max};
  const std::int8_t* image = plan.input;
  std::int8_t* out = plan.out;
  std::uint32_t left = g.out_pixels() * g.out_channels;  // bytes of output to come
  for (std::uint32_t n = 0; n < g.batch; ++n) {
    std::uint32_t have = 0;  // rows of this image that were copied
    for (std::uint32_t y = 0; y < g.out_height; ++y) {
      const std::uint32_t top = y * g.stride_height;
      if (have < top) have = top;
      for (; have < top + 3; ++have) put_row(header, rows, image, have, plan.scratch + have % 3 * rows.row);
      for (std::uint32_t ky = 0; ky < 3; ++ky) {
        const std::int8_t* start = plan.scratch + (top + ky) % 3 * rows.row;
        for (std::uint32_t kx = 0; kx < 3; ++kx) row.taps[3 * ky + kx] = start + kx * rows.pixel;
      }
      // Units whose stores would reach beyond the output are computed one by one, to scratch.
      std::uint32_t safe = left < written ? 0 : (left - written) / unit + 1;
      if (safe > units) safe = units;
      row.pixels = safe;
      row.out = out;
      if (safe != 0) compute(&row);
      for (std::uint32_t i = safe; i < units; ++i) {
        for (const std::int8_t*& tap : row.taps) tap += (i == safe ? safe : 1) * unit_step;
        row.pixels = 1;
        row.out = plan.scratch + 3 * rows.row;
        compute(&row);
        const std::uint32_t rest = row_bytes - i * unit;
        copy_bytes_mve(out + i * unit, row.out, rest < unit ? rest : unit);
      }
      out += row_bytes;
      left -= row_bytes;
    }
    image += std::uint32_t{g.in_height} * g.in_width * g.in_channels;
  }
}

void execute_packed(const void* raw) {
  for_pixels(*static_cast<const PackedPlan*>(raw), conv::depthwise_pixel_mve, fill_bytes_mve);
}

void execute_direct(const void* raw) { conv::depthwise_direct(*static_cast<const conv::Direct*>(raw)); }

}  // namespace
}  // namespace cormorant::ops::depthwise

using namespace cormorant::ops::depthwise;  // NOLINT(google-build-using-namespace)
CORMORANT_KERNEL(cormorant_depthwise_conv2d_mve_3x3, kMve3x3.name, load_mve_3x3, execute_3x3)
CORMORANT_KERNEL(cormorant_depthwise_conv2d_mve_kxk, kMveKxk.name, load_mve_kxk, execute_packed)
CORMORANT_KERNEL(cortex_m_quantized_depthwise_conv2d_out_mve, "cortex_m::quantized_depthwise_conv2d.out", load_direct,
                 execute_direct)
CORMORANT_KERNEL(cortex_m_quantized_depthwise_conv2d_nhwc_out_mve, "cortex_m::quantized_depthwise_conv2d_nhwc.out",
                 load_direct_nhwc, execute_direct)
