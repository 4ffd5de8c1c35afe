// SPDX-License-Identifier: Apache-2.0
//
// ARMv7-M and later load and store unaligned words, so alignment is ignored. The empty asm statements keep compilers
// from recognizing the loops and calling memcpy and memset instead.
#include "kernels/move.h"

namespace cormorant {
namespace {

inline std::uint32_t load_word(const std::int8_t* address) {
  std::uint32_t word;
  __builtin_memcpy(&word, address, sizeof word);
  return word;
}

inline void store_word(std::int8_t* address, std::uint32_t word) { __builtin_memcpy(address, &word, sizeof word); }

}  // namespace

void copy_bytes_dsp(std::int8_t* to, const std::int8_t* from, std::uint32_t count) {
  for (; count >= 16; count -= 16, to += 16, from += 16) {
    std::uint32_t a = load_word(from);
    std::uint32_t b = load_word(from + 4);
    std::uint32_t c = load_word(from + 8);
    std::uint32_t d = load_word(from + 12);
    // As barriers they also prevent LDRD and LDM, which fault on unaligned addresses.
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    store_word(to, a);
    store_word(to + 4, b);
    store_word(to + 8, c);
    store_word(to + 12, d);
  }
  for (; count >= 4; count -= 4, to += 4, from += 4) {
    std::uint32_t a = load_word(from);
    asm volatile("" : "+r"(a));
    store_word(to, a);
  }
  for (; count != 0; --count) {
    std::uint32_t byte = static_cast<std::uint8_t>(*from++);
    asm volatile("" : "+r"(byte));
    *to++ = static_cast<std::int8_t>(byte);
  }
}

void fill_bytes_dsp(std::int8_t* to, std::int8_t value, std::uint32_t count) {
  std::uint32_t word = static_cast<std::uint8_t>(value) * std::uint32_t{0x01010101};
  for (; count >= 16; count -= 16, to += 16) {
    asm volatile("" : "+r"(word));
    store_word(to, word);
    store_word(to + 4, word);
    store_word(to + 8, word);
    store_word(to + 12, word);
  }
  for (; count >= 4; count -= 4, to += 4) {
    asm volatile("" : "+r"(word));
    store_word(to, word);
  }
  for (; count != 0; --count) {
    asm volatile("" : "+r"(word));
    *to++ = static_cast<std::int8_t>(word);
  }
}

}  // namespace cormorant
