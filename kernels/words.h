// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of 16-bit activations for kernels that are C++ on every CPU.
#pragma once

#include <cstdint>

#include "base/fixed_point.h"

namespace cormorant {

// The upper half of a 64-bit product, rounded to nearest, ties up. On CPUs without a long multiply a 64-bit product is
// a library call; these operators take little of a network's time.
constexpr std::int32_t high_multiply(std::int32_t value, std::int32_t factor) {
  return static_cast<std::int32_t>((static_cast<std::int64_t>(value) * factor + (std::int64_t{1} << 31)) >> 32);
}

constexpr std::int16_t to_word(std::int32_t value, std::int32_t low, std::int32_t high) {
  return static_cast<std::int16_t>(clamp(value, low, high));
}

constexpr bool is_word(std::int32_t value) { return value >= -32768 && value <= 32767; }

}  // namespace cormorant
