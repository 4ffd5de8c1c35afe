// SPDX-License-Identifier: Apache-2.0
#include "ops/host/multiplier.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace cormorant::ops {

Multiplier quantize_multiplier(double factor) {
  if (!(factor >= 0) || std::isinf(factor))
    throw std::logic_error("a requantization factor must be finite and positive");
  if (factor == 0) return {0, 0};
  int exponent = 0;
  const double fraction = std::frexp(factor, &exponent);  // [0.5, 1)
  auto multiplier = static_cast<std::int64_t>(std::round(fraction * static_cast<double>(std::int64_t{1} << 31)));
  if (multiplier == std::int64_t{1} << 31) {  // rounded up to 1.0
    multiplier /= 2;
    ++exponent;
  }
  if (exponent < -31) return {0, 0};
  return {static_cast<std::int32_t>(multiplier), exponent};
}

SignedMultipliers multipliers_by_sign(double positive, double negative) {
  const Multiplier larger = quantize_multiplier(std::max(positive, std::abs(negative)));
  if (larger.multiplier == 0) return {0, 0, 0};
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  const auto integer = [&](double factor) {
    const double exact = std::round(std::ldexp(factor, 31 - larger.shift));
    return static_cast<std::int32_t>(std::clamp(exact, -kMost, kMost));
  };
  return {integer(positive), integer(negative), larger.shift};
}

std::int32_t quantize_value(double value, double scale, std::int32_t zero_point, std::int32_t low, std::int32_t high) {
  const double level = std::isnan(value) ? zero_point : std::round(value / scale) + zero_point;
  return static_cast<std::int32_t>(std::clamp(level, static_cast<double>(low), static_cast<double>(high)));
}

std::int32_t mean_left_shift(std::int64_t taps) {
  std::int32_t left = 0;
  while ((255 * taps) << (left + 1) <= std::int64_t{1} << 30) ++left;
  return left;
}

std::optional<MeanMultiplier> mean_multiplier(double factor, std::int32_t left) {
  if (!(factor > 0) || std::isinf(factor)) throw std::logic_error("a mean's factor must be finite and positive");
  int exponent = 0;
  const double fraction = std::frexp(factor, &exponent);  // [0.5, 1)
  auto multiplier = static_cast<std::int64_t>(std::ceil(fraction * static_cast<double>(std::int64_t{1} << 31)));
  if (multiplier == std::int64_t{1} << 31) {
    multiplier /= 2;
    ++exponent;
  }
  const std::int32_t right = left - exponent;
  if (right < 1) return std::nullopt;
  if (right > 31) return MeanMultiplier{0, 1};  // less than half of the last place, whatever the sum
  return MeanMultiplier{static_cast<std::int32_t>(multiplier), right};
}

}  // namespace cormorant::ops
