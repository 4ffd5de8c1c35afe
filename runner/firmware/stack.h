// SPDX-License-Identifier: Apache-2.0
//
// Stack depth by painting: fill the free part of the stack with a pattern, run, and look how much of it survived.
#pragma once

#include <cstdint>

#include "runner/firmware/linked.h"

namespace cormorant::stack {

inline constexpr std::uint32_t kPaint = 0xC0A7ED57;

// The volatile pointers keep the loops loops: as memset they would use stack themselves, and link the C library's.
inline void paint() {
  std::uint32_t here;
  asm volatile("mov %0, sp" : "=r"(here));
  auto* end = reinterpret_cast<volatile std::uint32_t*>(here);
  for (volatile std::uint32_t* word = __stack_limit; word < end; ++word) *word = kPaint;
}

// Bytes from the stack's top to the deepest word that was written since paint().
inline std::uint32_t used() {
  const volatile std::uint32_t* word = __stack_limit;
  while (word < __stack_top && *word == kPaint) ++word;
  return static_cast<std::uint32_t>((__stack_top - word) * static_cast<std::ptrdiff_t>(sizeof(std::uint32_t)));
}

}  // namespace cormorant::stack
