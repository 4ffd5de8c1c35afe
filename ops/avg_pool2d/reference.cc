// SPDX-License-Identifier: Apache-2.0
#include "ops/avg_pool2d/reference.h"

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

}  // namespace

const Kernel kAvgPool2dReference = {QuantizedAvgPool2d<TargetWorld>::kName, load_avg_pool2d, execute};

}  // namespace cormorant::ops
