// SPDX-License-Identifier: Apache-2.0
//
// All channels of one output pixel of a depthwise convolution of 16-bit activations. Channels, offsets and outputs of
// the pixel count bytes; the packed stream is described in ops/depthwise_conv2d/words.h.
#pragma once

#include "kernels/conv_depthwise.h"

namespace cormorant::conv {

// Whole vectors of eight channels, read and written up to 14 bytes beyond the last one. Clamps.
extern "C" void cormorant_depthwise_words_mve(const DepthwisePixel* pixel);

// Whole blocks of four channels, at least one. Saturates to 16 bits signed, or to 15 bits unsigned.
extern "C" void cormorant_depthwise_words_dsp(const DepthwisePixel* pixel);
extern "C" void cormorant_depthwise_words_positive_dsp(const DepthwisePixel* pixel);

}  // namespace cormorant::conv
