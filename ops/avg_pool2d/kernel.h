// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/avg_pool2d/avg_pool2d.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

// Windows are summed in 16-bit lanes, as many rows at once as cannot overflow them.
inline constexpr std::uint32_t kTapsPerChunk = 256;

struct AvgPoolPlan {
  static constexpr std::uint32_t kStateBytes = 36;
  const std::int8_t* input;
  std::int8_t* output;
  std::uint16_t batch, channels;
  std::uint16_t input_h, input_w;
  std::uint16_t output_h, output_w;
  std::uint16_t kernel_h, kernel_w;
  std::uint16_t stride_h, stride_w;
  std::uint16_t padding_h, padding_w;
  std::uint16_t chunk_rows;  // rows of a window with at most kTapsPerChunk elements; 0 if one row has more
};

Error load_avg_pool2d(Call& call);
Error load_avg_pool2d_nhwc(Call& call);

// The part of a window that is inside the input.
struct PoolWindow {
  const std::int8_t* input;
  std::int8_t* output;
  std::uint32_t rows;
  std::uint32_t columns;
  std::int32_t row_gap;  // bytes from the end of the window's part of a row to the start of the next
};

// pool(window) for every output pixel.
template <class Pool>
inline void for_each_window(const AvgPoolPlan& p, Pool pool) {
  const std::int32_t channels = p.channels;
  const std::int32_t row_bytes = p.input_w * channels;
  const std::int8_t* image = p.input;
  std::int8_t* output = p.output;
  for (std::int32_t n = 0; n < p.batch; ++n, image += p.input_h * row_bytes) {
    std::int32_t top = -static_cast<std::int32_t>(p.padding_h);
    for (std::int32_t y = 0; y < p.output_h; ++y, top += p.stride_h) {
      const std::int32_t first_row = top < 0 ? 0 : top;
      const std::int32_t bottom = top + p.kernel_h;
      const std::int32_t last_row = bottom > p.input_h ? p.input_h : bottom;
      const std::int8_t* row = image + first_row * row_bytes;
      std::int32_t left = -static_cast<std::int32_t>(p.padding_w);
      for (std::int32_t x = 0; x < p.output_w; ++x, left += p.stride_w, output += channels) {
        const std::int32_t first = left < 0 ? 0 : left;
        const std::int32_t right = left + p.kernel_w;
        const std::int32_t last = right > p.input_w ? p.input_w : right;
        pool(PoolWindow{row + first * channels, output, static_cast<std::uint32_t>(last_row - first_row),
                        static_cast<std::uint32_t>(last - first), row_bytes - (last - first) * channels});
      }
    }
  }
}

// Ours.
struct MeanPoolPlan {
  static constexpr std::uint32_t kStateBytes = 48;
  PoolGeometry geometry;
  const std::int32_t* divisors;
  std::uint16_t divisor_count;
  bool count_include_pad;
  std::uint8_t left;
  std::int8_t input_zero_point;
  std::int8_t output_zero_point;
  std::int8_t low, high;
};

// The call's height (i = 0) or width (1), checked; fails the call if windows do not fit.
PoolAxis mean_pool_axis(Call& call, const AvgPool2d<TargetWorld>& args, std::size_t i);
inline std::uint32_t most_taps(const PoolAxis& axis) {
  return axis.stride == 0 || axis.kernel > axis.input ? axis.input : axis.kernel;
}

Error load_mean_pool2d(Call& call);
Error load_words_pool2d(Call& call);

// The row for windows of so many elements; the first if there is none.
inline const std::int32_t* divisor_row(const std::int32_t* divisors, std::uint32_t count, std::int32_t elements) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (divisors[3 * i] == elements) return divisors + 3 * i;
  }
  return divisors;
}

// Whatever a row holds, at least 1.
inline std::int32_t right_shift_of(const std::int32_t* divisor) {
  const std::int32_t right = divisor[2] & 31;
  return right == 0 ? 1 : right;
}

// The loop over windows is the same for all instruction sets, and small.
void execute_mean_pool2d(const MeanPoolPlan& plan, void (*window_mean)(const Window&, const MeanScale&));

}  // namespace cormorant::ops
