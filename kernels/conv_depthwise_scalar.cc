// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_depthwise_plain.h"

namespace cormorant::conv {

void depthwise_pixel_plain_scalar(const DepthwisePixel& p, std::uint32_t first) {
  depthwise_pixel_plain<4, 1>(p, first, [](const std::uint8_t* weights, std::uint32_t tap, std::uint32_t lane) {
    return static_cast<std::int8_t>(weights[4 * tap + lane]);
  });
}

}  // namespace cormorant::conv
