// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_clamp_dsp.h"

#include "base/fixed_point.h"

namespace cormorant::conv {

void clamp_bytes_dsp(std::int8_t* at, std::uint32_t count, std::int32_t min, std::int32_t max) {
  if (min == -128 && max == 127) return;
  const std::uint32_t low = static_cast<std::uint8_t>(min) * std::uint32_t{0x01010101};
  const std::uint32_t high = static_cast<std::uint8_t>(max) * std::uint32_t{0x01010101};
  for (; count >= 4; count -= 4, at += 4) {
    std::uint32_t word;
    __builtin_memcpy(&word, at, sizeof word);
    std::uint32_t unused;
    asm("ssub8 %1, %0, %2\n"
        "sel %0, %0, %2\n"
        "ssub8 %1, %3, %0\n"
        "sel %0, %0, %3"
        : "+&r"(word), "=&r"(unused)
        : "r"(low), "r"(high));
    __builtin_memcpy(at, &word, sizeof word);
  }
  for (; count > 0; --count, ++at) *at = static_cast<std::int8_t>(clamp(*at, min, max));
}

}  // namespace cormorant::conv
