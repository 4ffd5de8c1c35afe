// SPDX-License-Identifier: Apache-2.0
#include "ops/max_pool2d/reference.h"

#include <algorithm>

namespace cormorant::ops {
namespace {

void execute(const void* plan) {
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

}  // namespace

const Kernel kMaxPool2dReference = {QuantizedMaxPool2d<TargetWorld>::kName, load_max_pool2d, execute};
const Kernel kMaxPool2dNhwcReference = {kQuantizedMaxPool2dNhwc, load_max_pool2d_nhwc, execute};

}  // namespace cormorant::ops
