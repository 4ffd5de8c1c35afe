// SPDX-License-Identifier: Apache-2.0
//
// ARMv6-M faults on unaligned words: the output is written in whole words, and if the input is not aligned alike, each
// is assembled from two of the input's words. The empty asm statements keep compilers from recognizing the loops and
// calling memcpy and memset instead.
#include "kernels/move.h"

namespace cormorant {
namespace {

inline std::uint32_t misalignment(const void* address) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address)) & 3;
}

inline void copy_byte(std::int8_t*& to, const std::int8_t*& from) {
  std::uint32_t byte = static_cast<std::uint8_t>(*from++);
  asm volatile("" : "+r"(byte));
  *to++ = static_cast<std::int8_t>(byte);
}

// Both aligned; returns the remaining bytes.
std::uint32_t copy_words(std::uint32_t* to, const std::uint32_t* from, std::uint32_t count) {
  for (; count >= 16; count -= 16, to += 4, from += 4) {
    std::uint32_t a = from[0];
    const std::uint32_t b = from[1];
    const std::uint32_t c = from[2];
    const std::uint32_t d = from[3];
    asm volatile("" : "+r"(a));
    to[0] = a;
    to[1] = b;
    to[2] = c;
    to[3] = d;
  }
  for (; count >= 4; count -= 4) {
    std::uint32_t a = *from++;
    asm volatile("" : "+r"(a));
    *to++ = a;
  }
  return count;
}

// The output is aligned, the input is not. A word of the input is read only if it holds bytes to copy, so nothing is
// read outside the words that the input occupies.
std::uint32_t merge_words(std::uint32_t* to, const std::int8_t* from, std::uint32_t count) {
  const std::uint32_t right = 8 * misalignment(from);
  const std::uint32_t left = 32 - right;
  const auto* words = reinterpret_cast<const std::uint32_t*>(from - misalignment(from));
  std::uint32_t low = *words++;
  for (; count >= 8; count -= 8, to += 2) {
    const std::uint32_t middle = *words++;
    const std::uint32_t high = *words++;
    to[0] = (low >> right) | (middle << left);
    to[1] = (middle >> right) | (high << left);
    low = high;
  }
  return count;
}

}  // namespace

void copy_bytes_scalar(std::int8_t* to, const std::int8_t* from, std::uint32_t count) {
  if (count >= 12) {
    while (misalignment(to) != 0) {
      copy_byte(to, from);
      --count;
    }
    auto* words = reinterpret_cast<std::uint32_t*>(to);
    const std::uint32_t left = misalignment(from) == 0
                                   ? copy_words(words, reinterpret_cast<const std::uint32_t*>(from), count)
                                   : merge_words(words, from, count);
    to += count - left;
    from += count - left;
    count = left;
  }
  for (; count != 0; --count) copy_byte(to, from);
}

void fill_bytes_scalar(std::int8_t* to, std::int8_t value, std::uint32_t count) {
  for (; count != 0 && misalignment(to) != 0; --count) *to++ = value;
  std::uint32_t word = static_cast<std::uint8_t>(value) * std::uint32_t{0x01010101};
  auto* to_words = reinterpret_cast<std::uint32_t*>(to);
  for (; count >= 16; count -= 16, to_words += 4) {
    asm volatile("" : "+r"(word));
    to_words[0] = word;
    to_words[1] = word;
    to_words[2] = word;
    to_words[3] = word;
  }
  for (; count >= 4; count -= 4) {
    asm volatile("" : "+r"(word));
    *to_words++ = word;
  }
  to = reinterpret_cast<std::int8_t*>(to_words);
  for (; count != 0; --count) {
    asm volatile("" : "+r"(word));
    *to++ = static_cast<std::int8_t>(word);
  }
}

}  // namespace cormorant
