// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_depthwise_plain.h"

namespace cormorant::conv {
namespace {

constexpr auto weight_of_tap = [](const std::uint8_t* weights, std::uint32_t tap, std::uint32_t lane) {
  return static_cast<std::int8_t>(weights[4 * tap + lane]);
};

}  // namespace

void depthwise_pixel_plain_scalar(const DepthwisePixel& p, std::uint32_t first) {
  depthwise_pixel_plain<4, 1>(p, first, weight_of_tap);
}
void depthwise_pixel_prelu_plain_scalar(const DepthwisePixel& p, std::uint32_t first) {
  depthwise_pixel_plain<4, 1, true>(p, first, weight_of_tap);
}

}  // namespace cormorant::conv
