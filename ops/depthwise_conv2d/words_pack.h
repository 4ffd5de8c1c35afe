// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/conv2d/words_lower.h"
#include "ops/depthwise_conv2d/words.h"

namespace cormorant::ops::depthwise::words {

// The packed constant of a layer whose channels each see one input; `geometry` is that of the depthwise form.
std::vector<std::byte> pack(const Variant& variant, const conv2d::words::Layer& layer, const conv::Geometry& geometry);

}  // namespace cormorant::ops::depthwise::words
