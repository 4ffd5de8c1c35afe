// SPDX-License-Identifier: Apache-2.0
//
// What the DSP variants share. Each variant has its own machine, hence its own code, compiled with its own flags.
#pragma once

#include "kernels/conv_clamp_dsp.h"
#include "kernels/move.h"
#include "ops/depthwise_conv2d/execute.h"

namespace cormorant::ops::depthwise {

struct DspMachine {
  static void fill(std::int8_t* to, std::int8_t value, std::uint32_t count) { fill_bytes_dsp(to, value, count); }
  static void spread(std::int8_t* to, const std::int8_t* from, std::uint32_t count, std::uint32_t times) {
    spread_plain(to, from, count, times);
  }
};

template <class Machine>
void convolve_pixels(const conv2d::Convolution& c) {
  convolve_pixels<Machine>(c, kDsp,
                           conv::is_simple(c.header.rounding) ? conv::cormorant_depthwise_pixel_dsp
                                                              : conv::cormorant_depthwise_pixel_any_dsp,
                           conv::depthwise_pixel_plain_dsp);
}

}  // namespace cormorant::ops::depthwise
