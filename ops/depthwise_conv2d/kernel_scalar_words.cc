// SPDX-License-Identifier: Apache-2.0
#include "ops/depthwise_conv2d/words_pixel.h"

namespace cormorant::ops::depthwise::words {
namespace {

struct Scalar {
  static void fill(std::int8_t* to, std::int8_t value, std::uint32_t count) { fill_bytes_scalar(to, value, count); }
  static void spread(std::int8_t* to, const std::int8_t* from, std::uint32_t count, std::uint32_t times) {
    spread_plain(to, from, count, times);
  }
};

void execute_scalar(const void* raw) {
  const auto& plan = *static_cast<const Plan*>(raw);
  const bool positive = plan.header->activation_min >= 0;
  convolve<Scalar>(plan, depthwise::kScalar, [&](const conv::DepthwisePixel& pixel) {
    compute_pixel<std::int8_t>(pixel, 0, positive, conv::rounding_high_multiply);
  });
}

void execute_v6m(const void* raw) {
  const auto& plan = *static_cast<const Plan*>(raw);
  const bool positive = plan.header->activation_min >= 0;
  convolve<Scalar>(plan, depthwise::kScalar, [&](const conv::DepthwisePixel& pixel) {
    compute_pixel<std::int8_t>(pixel, 0, positive, [](std::int32_t sum, std::int32_t factor) {
      return conv::rescale_in_pieces(sum, factor & 0x7fff, factor >> 16);
    });
  });
}

}  // namespace
}  // namespace cormorant::ops::depthwise::words

namespace cormorant::ops::depthwise {

CORMORANT_KERNELS(CORMORANT_DEPTHWISE_CONV2D_KERNELS, scalar_words)

}  // namespace cormorant::ops::depthwise
