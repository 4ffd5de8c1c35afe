// SPDX-License-Identifier: Apache-2.0
//
// Channel by channel in plain loops, for any rounding and clamp; compiled separately for each instruction set.
#pragma once

#include "kernels/conv_depthwise.h"
#include "kernels/requantize.h"

namespace cormorant::conv {

// weight(weights, tap, lane) of a block whose weights take `kBytes` per tap; sums are multiples of `kScale`. Where
// layers have slopes, a second multiplier per channel follows the shifts.
template <std::uint32_t kBytes, std::int32_t kScale, bool kHasSlopes = false, class Weight>
inline void depthwise_pixel_plain(const DepthwisePixel& p, std::uint32_t first, Weight weight) {
  const std::uint32_t record = 16 + kBytes * p.tap_count + 16 + 8 + (kHasSlopes ? 16 : 0);
  const std::uint8_t* stream = p.stream + first / 4 * record;
  for (std::uint32_t channel = first; channel < p.channels; ++channel) {
    const std::uint32_t lane = channel % 4;
    const std::uint8_t* weights = stream + 16;
    std::int32_t sum = reinterpret_cast<const std::int32_t*>(stream)[lane];
    for (std::uint32_t tap = 0; tap < p.tap_count; ++tap) {
      sum += p.taps[tap][p.shift + channel] * weight(weights, tap, lane);
    }
    const auto* multipliers = reinterpret_cast<const std::int32_t*>(weights + kBytes * p.tap_count);
    const auto* shifts = reinterpret_cast<const std::int8_t*>(multipliers + 4);
    const std::int32_t shift = shifts[lane] + (shifts[4 + lane] & 31);  // above it are marks
    const std::int32_t value =
        (kHasSlopes ? requantize_by_sign(sum / kScale, multipliers[lane], multipliers[6 + lane], shift)
                    : requantize_for_cpu(sum / kScale, multipliers[lane], shift)) +
        p.output.offset;
    p.out[channel] = static_cast<std::int8_t>(clamp(value, p.output.min, p.output.max));
    if (lane == 3) stream += record;
  }
}

}  // namespace cormorant::conv
