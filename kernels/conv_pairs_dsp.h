// SPDX-License-Identifier: Apache-2.0
//
// Grouped convolutions whose groups are two channels, inputs and outputs alike: a word holds the inputs of two groups
// under a tap. Laying out patches for conv_gemm.h would take longer than multiplying them. The stream is that of
// Layout::dsp (ops/conv2d/conv2d.h).
#pragma once

#include <cstdint>

namespace cormorant::conv {

// All channels of one output pixel.
struct DspPairs {
  const std::uint8_t* stream;
  const std::int8_t* const* taps;  // an even number: of an odd number the last one twice
  std::int8_t* out;
  std::uint32_t tap_pairs;
  std::uint32_t shift;        // bytes by which every tap has moved
  std::uint32_t group_pairs;  // two groups each
  std::int32_t offset;
};
// For Rounding::right and positive. Saturates, but does not clamp further.
extern "C" void cormorant_conv_pairs_dsp(const DspPairs* pixel);

}  // namespace cormorant::conv
