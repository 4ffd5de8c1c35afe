// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose assembly only saturates to int8 clamp their whole output afterwards if a layer's range is narrower:
// four bytes at a time, SSUB8 compares and SEL selects.
#pragma once

#include "kernels/conv_geometry.h"

namespace cormorant::conv {

void clamp_bytes_dsp(std::int8_t* at, std::uint32_t count, std::int32_t min, std::int32_t max);

inline void clamp_output_dsp(const Header& header, std::int8_t* at) {
  clamp_bytes_dsp(at, header.geometry.out_pixels() * header.geometry.out_channels, header.activation_min,
                  header.activation_max);
}

}  // namespace cormorant::conv
