// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_depthwise_words.h"
#include "kernels/move.h"
#include "ops/depthwise_conv2d/execute.h"
#include "ops/depthwise_conv2d/words_kernel.h"

namespace cormorant::ops::depthwise::words {
namespace {

struct Mve {
  static void fill(std::int8_t* to, std::int8_t value, std::uint32_t count) { fill_bytes_mve(to, value, count); }
  static void spread(std::int8_t* to, const std::int8_t* from, std::uint32_t count, std::uint32_t times) {
    spread_plain(to, from, count, times);
  }
};

void execute_mve(const void* raw) {
  const auto& plan = *static_cast<const Plan*>(raw);
  const conv::Header header = conv2d::words::header_in_bytes(*plan.header);
  const conv2d::Convolution c = conv2d::words::convolution_in_bytes(plan, header);
  const conv::Geometry& g = header.geometry;
  const Scratch s(kMveKxk, g);
  std::int8_t* spill = c.scratch + s.taps + s.zeros;
  const std::int8_t* out_end = c.places.out + g.out_pixels() * g.out_channels;
  for_pixels<Mve>(c, kMveKxk, [&](conv::DepthwisePixel& pixel) {
    pixel.output.min = plan.header->activation_min;
    pixel.output.max = plan.header->activation_max;
    if (pixel.out + s.vectors <= out_end) {
      conv::cormorant_depthwise_words_mve(&pixel);
      return;
    }
    std::int8_t* out = pixel.out;
    pixel.out = spill;
    conv::cormorant_depthwise_words_mve(&pixel);
    pixel.out = out;
    copy_bytes_mve(out, spill, g.out_channels);
  });
}

}  // namespace
}  // namespace cormorant::ops::depthwise::words

namespace cormorant::ops::depthwise {

CORMORANT_KERNELS(CORMORANT_DEPTHWISE_CONV2D_KERNELS, mve_words)

}  // namespace cormorant::ops::depthwise
