// SPDX-License-Identifier: Apache-2.0
//
// What the sum of a channel (of a convolution, a linear layer) can be, and whether its result depends on the input at
// all. Training with weight decay lets channels die: weights negligible next to their bias, or results that an
// activation always clamps. Such a channel is a constant, and its odd parameters must not decide how its layer is
// computed. Host only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/fixed_point.h"

namespace cormorant::ops {

struct ChannelSums {
  std::int64_t low;
  std::int64_t high;

  // Bounds for `bias` (with the input's offset folded in) and weights with these sums, for any int8: a weight w
  // contributes from −128 w to 127 w, or the other way round.
  static ChannelSums of(std::int64_t bias, std::int64_t sum, std::int64_t sum_of_magnitudes) {
    const std::int64_t positive = (sum_of_magnitudes + sum) / 2;
    const std::int64_t negative = (sum_of_magnitudes - sum) / 2;
    return {bias - 128 * positive - 127 * negative, bias + 127 * positive + 128 * negative};
  }
  [[nodiscard]] std::int64_t magnitude() const { return std::max(std::abs(low), std::abs(high)); }
};

struct ChannelOutput {
  std::int32_t offset;
  std::int32_t min;
  std::int32_t max;
};

// The output of a channel, if it is the same for every input. Requantization is monotonic unless a shift to the left
// overflows.
inline std::optional<std::int32_t> constant_result(const ChannelSums& sums, Multiplier m, const ChannelOutput& output) {
  if (m.multiplier == 0) m.shift = 0;
  if (m.shift < -31 || m.shift > 31) return {};
  if (sums.magnitude() << std::max(m.shift, 0) > std::numeric_limits<std::int32_t>::max()) return {};
  const auto result = [&](std::int64_t sum) {
    return clamp(requantize(static_cast<std::int32_t>(sum), m) + output.offset, output.min, output.max);
  };
  const std::int32_t low = result(sums.low);
  return low == result(sums.high) ? std::optional(low) : std::nullopt;
}

// The same for a channel with a slope, whose sums below zero have a multiplier of their own: it is monotonic on either
// side of zero.
inline std::optional<std::int32_t> constant_result(const ChannelSums& sums, Multiplier m,
                                                   std::int32_t negative_multiplier, const ChannelOutput& output) {
  const Multiplier negative = {negative_multiplier, m.shift};
  const std::optional<std::int32_t> above =
      sums.high < 0 ? std::nullopt : constant_result({std::max<std::int64_t>(sums.low, 0), sums.high}, m, output);
  const std::optional<std::int32_t> below =
      sums.low >= 0 ? std::nullopt
                    : constant_result({sums.low, std::min<std::int64_t>(sums.high, -1)}, negative, output);
  if (sums.low >= 0) return above;
  if (sums.high < 0) return below;
  return above == below ? above : std::nullopt;
}

// A constant as a bias and a multiplier, with weights of zero: a quarter of four times the result is exact, whatever
// the rounding.
constexpr Multiplier kConstantMultiplier = {.multiplier = 1 << 30, .shift = -1};
constexpr std::int32_t constant_bias(std::int32_t result, std::int32_t offset) { return 4 * (result - offset); }

}  // namespace cormorant::ops
