// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/host/references.h"
#include "ops/max_pool2d/float.h"
#include "ops/max_pool2d/kernel.h"

namespace cormorant::ops {
template <>
void execute_max_pool2d<Loops::reference>(const void* plan) {
  const auto& p = *static_cast<const MaxPoolPlan*>(plan);
  const PoolGeometry& g = p.geometry;
  const auto& [h, w] = std::pair(g.height, g.width);
  for (int n = 0; n < g.batch; ++n) {
    for (int oy = 0; oy < h.output; ++oy) {
      for (int ox = 0; ox < w.output; ++ox) {
        for (int c = 0; c < g.channels; ++c) {
          std::int8_t largest = p.low;
          for (int ky = 0; ky < h.kernel; ++ky) {
            for (int kx = 0; kx < w.kernel; ++kx) {
              const int y = oy * h.stride - h.padding + ky * h.dilation;
              const int x = ox * w.stride - w.padding + kx * w.dilation;
              if (y < 0 || y >= h.input || x < 0 || x >= w.input) continue;
              largest = std::max(largest, g.input[((n * h.input + y) * w.input + x) * g.channels + c]);
            }
          }
          g.output[((n * h.output + oy) * w.output + ox) * g.channels + c] = std::min(largest, p.high);
        }
      }
    }
  }
}

CORMORANT_REFERENCES(max_pool2d, CORMORANT_MAX_POOL2D_KERNELS)

}  // namespace cormorant::ops
