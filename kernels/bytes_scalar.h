// SPDX-License-Identifier: Apache-2.0
//
// Four int8 at a time in a plain register: comparing and selecting takes about twelve instructions for four bytes; byte
// by byte, as many for two.
#pragma once

#include <cstdint>

namespace cormorant {

inline std::uint32_t in_all_bytes(std::int32_t value) {
  return static_cast<std::uint8_t>(value) * std::uint32_t{0x01010101};
}

// 0xff in each byte where a >= b, else 0. Bytes are compared without their sign bits, by a subtraction that borrows
// from no neighbour; where the signs differ, they decide.
inline std::uint32_t not_less(std::uint32_t a, std::uint32_t b) {
  constexpr std::uint32_t kSigns = 0x80808080U;
  const std::uint32_t difference = (a | kSigns) - (b & ~kSigns);
  const std::uint32_t signs = ((difference & ~(a ^ b)) | (b & ~a)) & kSigns;
  return (signs - (signs >> 7)) | signs;
}

inline std::uint32_t max_of_bytes(std::uint32_t a, std::uint32_t b) { return b ^ ((a ^ b) & not_less(a, b)); }
inline std::uint32_t min_of_bytes(std::uint32_t a, std::uint32_t b) { return a ^ ((a ^ b) & not_less(a, b)); }

// Words at any address where the instruction set has such loads; elsewhere they must be aligned.
#if defined(__ARM_FEATURE_UNALIGNED)
inline constexpr bool kWordsAnywhere = true;
#else
inline constexpr bool kWordsAnywhere = false;
#endif
inline bool can_access_words(std::uintptr_t addresses_and_steps) {
  return kWordsAnywhere || (addresses_and_steps & 3) == 0;
}
inline std::uint32_t load_four(const std::int8_t* address) {
  std::uint32_t word;
  __builtin_memcpy(&word, kWordsAnywhere ? address : __builtin_assume_aligned(address, 4), sizeof word);
  return word;
}
inline void store_four(std::int8_t* address, std::uint32_t word) {
  __builtin_memcpy(kWordsAnywhere ? address : __builtin_assume_aligned(address, 4), &word, sizeof word);
}

}  // namespace cormorant
