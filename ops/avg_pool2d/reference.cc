// SPDX-License-Identifier: Apache-2.0
#include "ops/avg_pool2d/reference.h"

#include <algorithm>

#include "ops/avg_pool2d/float.h"
#include "ops/host/references.h"

namespace cormorant::ops {

void avg_pool2d_reference(const AvgPoolPlan& g) {
  for (int n = 0; n < g.batch; ++n) {
    for (int oy = 0; oy < g.output_h; ++oy) {
      for (int ox = 0; ox < g.output_w; ++ox) {
        for (int c = 0; c < g.channels; ++c) {
          int sum = 0;
          int count = 0;
          for (int ky = 0; ky < g.kernel_h; ++ky) {
            for (int kx = 0; kx < g.kernel_w; ++kx) {
              const int y = oy * g.stride_h - g.padding_h + ky;
              const int x = ox * g.stride_w - g.padding_w + kx;
              if (y < 0 || y >= g.input_h || x < 0 || x >= g.input_w) continue;
              sum += g.input[((n * g.input_h + y) * g.input_w + x) * g.channels + c];
              ++count;
            }
          }
          const int mean = sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
          g.output[((n * g.output_h + oy) * g.output_w + ox) * g.channels + c] = static_cast<std::int8_t>(mean);
        }
      }
    }
  }
}

namespace {

void execute(const void* plan) { avg_pool2d_reference(*static_cast<const AvgPoolPlan*>(plan)); }

// First and last tap of window i, as PyTorch defines them, and how many of its taps count.
struct Taps {
  int begin, end, counted;
};

Taps taps_of(const PoolAxis& axis, int i, bool include_padding) {
  if (axis.stride == 0) {  // adaptive
    const int begin = i * axis.input / axis.output;
    const int end = ((i + 1) * axis.input + axis.output - 1) / axis.output;
    return {begin, end, end - begin};
  }
  const int begin = i * axis.stride - axis.padding;
  const int end = std::min(begin + axis.kernel, axis.input + axis.padding);
  const Taps inside = {std::max(begin, 0), std::max(std::min<int>(end, axis.input), std::max(begin, 0)), end - begin};
  return include_padding ? inside : Taps{inside.begin, inside.end, inside.end - inside.begin};
}

void execute_mean(const void* plan) {
  const auto& p = *static_cast<const MeanPoolPlan*>(plan);
  const PoolGeometry& g = p.geometry;
  for (int n = 0; n < g.batch; ++n) {
    for (int oy = 0; oy < g.height.output; ++oy) {
      for (int ox = 0; ox < g.width.output; ++ox) {
        const Taps rows = taps_of(g.height, oy, p.count_include_pad);
        const Taps columns = taps_of(g.width, ox, p.count_include_pad);
        const std::int32_t* divisor =
            divisor_row(p.divisors, p.divisor_count, wrapping_product(rows.counted, columns.counted));
        for (int c = 0; c < g.channels; ++c) {
          int distance = 0;
          for (int y = rows.begin; y < rows.end; ++y) {
            for (int x = columns.begin; x < columns.end; ++x) {
              distance += g.input[((n * g.height.input + y) * g.width.input + x) * g.channels + c] - p.input_zero_point;
            }
          }
          const int product = doubling_high_multiply(shift_left(distance, p.left), divisor[1]);
          const int level = rounding_shift_right(product, right_shift_of(divisor));
          // Bounds before the zero point: the sum cannot overflow.
          const int mean =
              clamp(level, p.low - p.output_zero_point, p.high - p.output_zero_point) + p.output_zero_point;
          g.output[((n * g.height.output + oy) * g.width.output + ox) * g.channels + c] =
              static_cast<std::int8_t>(mean);
        }
      }
    }
  }
}

}  // namespace

CORMORANT_REFERENCES(avg_pool2d, CORMORANT_AVG_POOL2D_KERNELS)

}  // namespace cormorant::ops
