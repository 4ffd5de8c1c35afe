// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of recurrent layers by instructions of the DSP extension.
#pragma once

#include <cstdint>

namespace cormorant::ops::recurrent {

// The upper half of the product, rounded.
inline std::int32_t multiply_round(std::int32_t sum, std::int32_t multiplier) {
  std::int32_t scaled;
  asm("smmulr %0, %1, %2" : "=r"(scaled) : "r"(sum), "r"(multiplier));
  return scaled;
}

// In assembly, since gcc 12 refuses __ssat in some archives.
struct SaturateInstruction {
  static std::int32_t to_16(std::int32_t value) {
    asm("ssat %0, #16, %0" : "+r"(value));
    return value;
  }
  static std::int32_t to_8(std::int32_t value) {
    asm("ssat %0, #8, %0" : "+r"(value));
    return value;
  }
};

}  // namespace cormorant::ops::recurrent
