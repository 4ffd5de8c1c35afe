// SPDX-License-Identifier: Apache-2.0
//
// Cores with 32-bit Thumb instructions take eight bytes per turn: two words are loaded, one instruction (SXTB, SBFX,
// ASR) extracts each byte with its sign as the index of its result, and three shifted ORs combine four results into a
// word. That is 1.25 memory accesses per byte instead of 3.
#pragma once

#include "ops/activation/kernel.h"

namespace cormorant::ops {

inline std::uint32_t look_up_word(const std::uint8_t* zero, std::uint32_t word) {
  const auto bytes = static_cast<std::int32_t>(word);
  const std::uint32_t a = zero[static_cast<std::int8_t>(bytes)];
  const std::uint32_t b = zero[(bytes << 16) >> 24];
  const std::uint32_t c = zero[(bytes << 8) >> 24];
  const std::uint32_t d = zero[bytes >> 24];
  return a | b << 8 | c << 16 | d << 24;
}

inline void look_up_words(ActivationPlan p) {  // a copy, which stores cannot change
  const auto* zero = reinterpret_cast<const std::uint8_t*>(p.zero);
  const auto* from = reinterpret_cast<const std::uint32_t*>(p.input);
  auto* to = reinterpret_cast<std::uint32_t*>(p.output);
  for (std::uint32_t left = p.count / 8; left != 0; --left, from += 2, to += 2) {
    const std::uint32_t first = from[0];
    const std::uint32_t second = from[1];
    to[0] = look_up_word(zero, first);
    to[1] = look_up_word(zero, second);
  }
  for (std::uint32_t i = p.count & ~7U; i < p.count; ++i) p.output[i] = p.zero[p.input[i]];
}

}  // namespace cormorant::ops
