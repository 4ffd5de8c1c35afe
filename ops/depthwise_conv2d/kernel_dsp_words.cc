// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_depthwise_words.h"
#include "ops/depthwise_conv2d/words_pixel.h"

namespace cormorant::ops::depthwise::words {
namespace {

struct Dsp {
  static void fill(std::int8_t* to, std::int8_t value, std::uint32_t count) { fill_bytes_dsp(to, value, count); }
  static void spread(std::int8_t* to, const std::int8_t* from, std::uint32_t count, std::uint32_t times) {
    spread_plain(to, from, count, times);
  }
};

void execute_dsp(const void* raw) {
  const auto& plan = *static_cast<const Plan*>(raw);
  const bool positive = plan.header->activation_min >= 0;
  const auto blocks = positive ? conv::cormorant_depthwise_words_positive_dsp : conv::cormorant_depthwise_words_dsp;
  convolve<Dsp>(plan, depthwise::kDsp, [&](const conv::DepthwisePixel& pixel) {
    const std::uint32_t channels = pixel.channels / 2, whole = channels & ~3U;
    if (whole != 0) blocks(&pixel);
    if (whole != channels) compute_pixel<std::int16_t>(pixel, whole, positive, conv::rounding_high_multiply);
  });
}

}  // namespace
}  // namespace cormorant::ops::depthwise::words

namespace cormorant::ops::depthwise {

CORMORANT_KERNELS(CORMORANT_DEPTHWISE_CONV2D_KERNELS, dsp_words)

}  // namespace cormorant::ops::depthwise
