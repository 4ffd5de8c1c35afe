// SPDX-License-Identifier: Apache-2.0
#include <arm_mve.h>

#include "kernels/conv_direct.h"
#include "kernels/move.h"
#include "ops/depthwise_conv2d/execute.h"
#include "ops/depthwise_conv2d/nibbles_kernel.h"
#include "ops/depthwise_conv2d/repack.h"

namespace cormorant::ops::depthwise {
namespace {

conv::MveRequantize requantize_of(const conv::Header& header) {
  const bool saturates = header.activation_min == -128 && header.activation_max == 127;
  if (header.rounding == conv::Rounding::positive && saturates) return conv::MveRequantize::positive;
  return conv::is_simple(header.rounding) ? conv::MveRequantize::right : conv::MveRequantize::general;
}

conv::MveDepthwise3x3 line_of(const conv2d::Convolution& c, std::uint32_t vectors) {
  const conv::Header& header = c.header;
  return {.stream = c.stream,
          .taps = {},
          .out = nullptr,
          .blocks = vectors / 16,
          .pixels = 0,
          .tap_steps = {},
          .out_step = 0,
          .offset = header.output_offset,
          .min = header.activation_min,
          .max = header.activation_max,
          .requantize = requantize_of(header)};
}

// One direction of the image: neighbours, and how far apart they are in memory.
struct Axis {
  std::uint32_t in;
  std::uint32_t out;
  std::uint32_t stride;
  std::uint32_t pad;
  std::uint32_t dilation;
  std::uint32_t in_step;
  std::uint32_t out_step;
};

struct Walk3x3 {
  const conv2d::Convolution& c;
  Scratch s;
  Axis along;
  Axis across;
  conv::MveDepthwise3x3 line;
  const std::int8_t* rows[3] = {};  // under the window, null outside the input

  [[nodiscard]] const std::int8_t* zeros() const { return c.scratch; }
  [[nodiscard]] std::int8_t* spill() const { return c.scratch + s.zeros; }
  [[nodiscard]] std::int8_t* tail() const { return spill() + s.spill; }

  // Pixels from `first` on, none of which sees the image's edge, and whose vectors stay inside the input and the
  // output.
  void run(std::uint32_t first, std::uint32_t count, std::int8_t* out) {
    const std::uint32_t start = (first * along.stride - along.pad) * along.in_step;
    for (std::uint32_t k = 0; k < 3; ++k) {
      const bool inside = rows[k] != nullptr;
      const std::int8_t* at = inside ? rows[k] + start : zeros();
      const std::uint32_t next = inside ? along.dilation * along.in_step : 0;
      for (std::uint32_t i = 0; i < 3; ++i, at += next) line.taps[3 * k + i] = at;
      line.tap_steps[k] = static_cast<std::int32_t>((inside ? along.stride * along.in_step : 0) - s.vectors);
    }
    line.pixels = count;
    line.out = out;
    conv::cormorant_depthwise_3x3_mve(&line);
  }

  // One pixel, anywhere.
  void one(std::uint32_t at, std::int8_t* out, const std::int8_t* input_end, const std::int8_t* out_end) {
    const std::uint32_t start = at * along.stride - along.pad;  // wraps before the first
    for (std::uint32_t k = 0; k < 3; ++k) {
      for (std::uint32_t i = 0; i < 3; ++i) {
        const std::int8_t* tap = zeros();
        const std::uint32_t place = start + i * along.dilation;
        if (rows[k] != nullptr && place < along.in) {
          tap = rows[k] + place * along.in_step;
          if (s.tail != 0 && tap + s.vectors > input_end) {
            tap = tail() + (s.vectors - static_cast<std::uint32_t>(input_end - tap));
          }
        }
        line.taps[3 * k + i] = tap;
      }
    }
    line.pixels = 1;
    line.out = out + s.vectors > out_end ? spill() : out;
    conv::cormorant_depthwise_3x3_mve(&line);
    if (line.out == spill()) copy_bytes_mve(out, line.out, c.header.geometry.out_channels);
  }
};

struct Mve {
  static void fill(std::int8_t* to, std::int8_t value, std::uint32_t count) { fill_bytes_mve(to, value, count); }
  // A vector of outputs takes 16 / times inputs, gathered byte by byte.
  static void spread(std::int8_t* to, const std::int8_t* from, std::uint32_t count, std::uint32_t times) {
    if (16 % times != 0) {
      spread_plain(to, from, count, times);
      return;
    }
    const std::uint32_t taken = 16 / times;
    uint8x16_t offsets = vidupq_n_u8(0, 1);
    for (std::uint32_t i = times; i > 1; i /= 2) offsets = vshrq_n_u8(offsets, 1);
    for (std::uint32_t left = count * times; left > 0; left -= left < 16 ? left : 16, to += 16, from += taken) {
      const mve_pred16_t lanes = vctp8q(left);
      vstrbq_p_s8(to, vldrbq_gather_offset_z_s8(from, offsets, lanes), lanes);
    }
  }
};

[[gnu::noinline]] void convolve_3x3(const conv2d::Convolution& c) {
  const conv::Header& header = c.header;
  const conv::Geometry& g = header.geometry;
  const Scratch s(kMve3x3, g);
  const std::uint32_t channels = g.out_channels;
  const Axis x{g.in_width, g.out_width, g.stride_width, g.pad_left, g.dilation_width, channels, channels};
  const Axis y{g.in_height,       g.out_height,          g.stride_height,       g.pad_top,
               g.dilation_height, g.in_width * channels, g.out_width * channels};
  const bool columns = walks_columns(kMve3x3, g);
  const Axis& along = columns ? y : x;
  Walk3x3 walk{c, s, along, columns ? x : y, line_of(c, s.vectors)};
  walk.line.out_step = static_cast<std::int32_t>(along.out_step - s.vectors);
  fill_bytes_mve(c.scratch, header.pad_value, s.vectors);
  const std::uint32_t image_bytes = std::uint32_t{g.in_height} * g.in_width * g.in_channels;
  const std::uint32_t input_bytes = g.batch * image_bytes;
  const std::int8_t* input_end = c.input + input_bytes;
  const std::int8_t* out_end = c.places.out + g.out_pixels() * channels;
  if (s.tail != 0) {
    const std::uint32_t copied = input_bytes < s.vectors ? input_bytes : s.vectors;
    copy_bytes_mve(walk.tail() + s.vectors - copied, input_end - copied, copied);
  }
  // Pixels before `first` and from `last` on see the image's edge.
  std::uint32_t first = (along.pad + along.stride - 1) / along.stride;
  if (first > along.out) first = along.out;
  const std::uint32_t reach = 2 * along.dilation;
  std::uint32_t last = along.in + along.pad <= reach ? 0 : (along.in + along.pad - reach - 1) / along.stride + 1;
  if (last > along.out) last = along.out;
  if (last < first) last = first;
  InputRows<Mve> spread(g, s, walk.tail() + s.tail);
  const std::int8_t* image = c.input;
  std::int8_t* out_image = c.places.out;
  for (std::uint32_t n = 0; n < g.batch; ++n, image += image_bytes, out_image += g.out_height * y.out_step) {
    spread.begin(image);
    for (std::uint32_t a = 0; a < walk.across.out; ++a) {
      const std::int8_t* furthest = image;
      std::uint32_t at = a * walk.across.stride - walk.across.pad;  // wraps before the first
      spread.begin_window(static_cast<std::int32_t>(at));
      for (std::uint32_t k = 0; k < 3; ++k, at += walk.across.dilation) {
        walk.rows[k] = at >= walk.across.in ? nullptr : s.spreads ? spread.row(at) : image + at * walk.across.in_step;
        if (walk.rows[k] != nullptr) furthest = walk.rows[k];
      }
      std::int8_t* out = out_image + a * walk.across.out_step;
      for (std::uint32_t i = 0; i < first; ++i) walk.one(i, out + i * along.out_step, input_end, out_end);
      std::uint32_t until = last;
      while (s.spill != 0 && until > first &&
             (out + (until - 1) * along.out_step + s.vectors > out_end ||
              (s.tail != 0 &&
               furthest + ((until - 1) * along.stride + reach - along.pad) * along.in_step + s.vectors > input_end))) {
        --until;
      }
      if (until > first) walk.run(first, until - first, out + first * along.out_step);
      for (std::uint32_t i = until; i < along.out; ++i) walk.one(i, out + i * along.out_step, input_end, out_end);
    }
  }
}

// Copies the input row of window row `index` (counted from the padding's first row on) to its place in the ring.
void put_row(const conv::Header& header, const NarrowRows& rows, const std::int8_t* image, std::uint32_t index,
             std::int8_t* to) {
  const conv::Geometry& g = header.geometry;
  const std::uint32_t y = index - g.pad_top;  // wraps before the first
  if (y >= g.in_height) {
    fill_bytes_mve(to, header.pad_value, rows.row);
    return;
  }
  const std::uint32_t before = g.pad_left < rows.width ? g.pad_left : rows.width;
  const std::uint32_t inside = g.in_width < rows.width - before ? g.in_width : rows.width - before;
  fill_bytes_mve(to, header.pad_value, before * g.in_channels);
  to += before * g.in_channels;
  copy_bytes_mve(to, image + y * g.in_width * g.in_channels, inside * g.in_channels);
  fill_bytes_mve(to + inside * g.in_channels, header.pad_value, (rows.width - before - inside) * g.in_channels);
}

// Row by row, a vector of pixels at a time.
[[gnu::noinline]] void convolve_3x3_narrow(const conv2d::Convolution& c) {
  const conv::Header& header = c.header;
  const conv::Geometry& g = header.geometry;
  const NarrowRows rows(g);
  const std::uint32_t row_bytes = std::uint32_t{g.out_width} * g.out_channels;
  const std::uint32_t units = (row_bytes + 15) / 16;
  conv::MveDepthwise3x3 line = line_of(c, 16);
  std::int8_t* spill = c.scratch + 3 * rows.row;
  const std::int8_t* image = c.input;
  std::int8_t* out = c.places.out;
  const std::int8_t* out_end = c.places.out + g.out_pixels() * g.out_channels;
  for (std::uint32_t n = 0; n < g.batch; ++n) {
    std::uint32_t have = 0;  // rows of this image that were copied
    for (std::uint32_t y = 0; y < g.out_height; ++y, out += row_bytes) {
      const std::uint32_t top = y * g.stride_height;
      if (have < top) have = top;
      for (; have < top + 3; ++have) put_row(header, rows, image, have, c.scratch + have % 3 * rows.row);
      for (std::uint32_t ky = 0; ky < 3; ++ky) {
        const std::int8_t* start = c.scratch + (top + ky) % 3 * rows.row;
        for (std::uint32_t kx = 0; kx < 3; ++kx) line.taps[3 * ky + kx] = start + kx * g.in_channels;
      }
      // A vector that would extend past the output goes to scratch.
      line.pixels = out + 16 * units > out_end ? units - 1 : units;
      line.out = out;
      if (line.pixels != 0) conv::cormorant_depthwise_3x3_mve(&line);
      if (line.pixels == units) continue;
      for (const std::int8_t*& tap : line.taps) tap += 16 * (units - 1);
      line.pixels = 1;
      line.out = spill;
      conv::cormorant_depthwise_3x3_mve(&line);
      copy_bytes_mve(out + 16 * (units - 1), spill, row_bytes - 16 * (units - 1));
    }
    image += std::uint32_t{g.in_height} * g.in_width * g.in_channels;
  }
}

// `kPixel` computes all channels of a pixel.
template <const Variant& V, void (*kPixel)(const conv::DepthwisePixel*, conv::MveRequantize)>
[[gnu::noinline]] void convolve_pixels_mve(const conv2d::Convolution& c) {
  const conv::Geometry& g = c.header.geometry;
  const Scratch s(V, g);
  const conv::MveRequantize requantize = requantize_of(c.header);
  std::int8_t* spill = c.scratch + s.taps + s.zeros;
  const std::int8_t* out_end = c.places.out + g.out_pixels() * g.out_channels;
  for_pixels<Mve>(c, V, [&](conv::DepthwisePixel& pixel) {
    if (pixel.out + s.vectors <= out_end) {
      kPixel(&pixel, requantize);
      return;
    }
    std::int8_t* out = pixel.out;
    pixel.out = spill;
    kPixel(&pixel, requantize);
    pixel.out = out;
    copy_bytes_mve(out, spill, g.out_channels);
  });
}

constexpr auto convolve_kxk = convolve_pixels_mve<kMveKxk, conv::cormorant_depthwise_mve>;

template <void (*Convolve)(const conv2d::Convolution&)>
void execute(const void* raw) {
  Convolve(conv2d::convolution_of(*static_cast<const PackedPlan*>(raw)));
}

template <const nibbles::Variant& V, void (*Convolve)(const conv2d::Convolution&)>
void execute_nibbles(const void* raw) {
  convolve_nibbles<V, Convolve, conv2d::nibbles::unpack_vectors>(*static_cast<const PackedPlan*>(raw));
}

void execute_direct(const void* raw) {
  const auto& plan = *static_cast<const conv::Direct*>(raw);
  if (plan.workspace == nullptr) {
    conv::depthwise_direct(plan);
    return;
  }
  if (plan.geometry.in_channels == 1) {
    conv2d::convolve_repacked_mve(plan, conv2d::hwo_of(plan));
    return;
  }
  const Variant& variant = *kVariants[plan.variant & ~conv::kLowestWeights];
  const auto clear = [](std::uint8_t* at, std::uint32_t bytes) {
    fill_bytes_mve(reinterpret_cast<std::int8_t*>(at), 0, bytes);
  };
  if (variant.is_narrow) {
    convolve_repacked<Layout::mve, convolve_3x3_narrow>(plan, variant, clear);
  } else if (variant.is_3x3) {
    convolve_repacked<Layout::mve, convolve_3x3>(plan, variant, clear);
  } else {
    convolve_repacked<Layout::mve, convolve_kxk>(plan, variant, clear);
  }
}

}  // namespace

constexpr auto* execute_mve_3x3 = execute<convolve_3x3>;
constexpr auto* execute_mve_3x3_narrow = execute<convolve_3x3_narrow>;
constexpr auto* execute_mve_kxk = execute<convolve_kxk>;
constexpr auto* execute_mve_prelu = execute<convolve_pixels_mve<kMvePrelu, conv::cormorant_depthwise_prelu_mve>>;
constexpr auto* execute_mve_3x3_nibbles = execute_nibbles<nibbles::kMve3x3, convolve_3x3>;
constexpr auto* execute_mve_3x3_narrow_nibbles = execute_nibbles<nibbles::kMve3x3Narrow, convolve_3x3_narrow>;
constexpr auto* execute_mve_kxk_nibbles = execute_nibbles<nibbles::kMveKxk, convolve_kxk>;

// How programs of other compilers are loaded here.
constexpr auto* load_upstream = load_repacked_mve;
constexpr auto* load_upstream_nhwc = load_repacked_mve_nhwc;

CORMORANT_KERNELS(CORMORANT_DEPTHWISE_CONV2D_KERNELS, mve)

}  // namespace cormorant::ops::depthwise
