// SPDX-License-Identifier: Apache-2.0
//
// Four bytes in a word, for the DSP extension. Words may be at any address.
#pragma once

#include <cstdint>

namespace cormorant {

inline std::uint32_t load_word(const std::int8_t* address) {
  std::uint32_t word;
  __builtin_memcpy(&word, address, sizeof word);
  return word;
}

inline void store_word(std::int8_t* address, std::uint32_t word) { __builtin_memcpy(address, &word, sizeof word); }

inline std::uint32_t in_all_bytes(std::int32_t value) { return static_cast<std::uint8_t>(value) * 0x01010101U; }

// SSUB8 records in the GE flags which bytes are not less; SEL selects by them.
inline std::uint32_t max_bytes(std::uint32_t a, std::uint32_t b) {
  std::uint32_t unused;
  asm("ssub8 %[unused], %[a], %[b]\n"
      "sel %[a], %[a], %[b]\n"
      : [a] "+&r"(a), [unused] "=&r"(unused)
      : [b] "r"(b)
      : "cc");
  return a;
}

inline std::uint32_t min_bytes(std::uint32_t a, std::uint32_t b) {
  std::uint32_t unused;
  asm("ssub8 %[unused], %[a], %[b]\n"
      "sel %[a], %[b], %[a]\n"
      : [a] "+&r"(a), [unused] "=&r"(unused)
      : [b] "r"(b)
      : "cc");
  return a;
}

}  // namespace cormorant
