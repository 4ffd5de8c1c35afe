// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_depthwise_plain.h"

namespace cormorant::conv {

void depthwise_pixel_plain_scalar(const DepthwisePixel& p, std::uint32_t first) { depthwise_pixel_plain(p, first); }

}  // namespace cormorant::conv
