// SPDX-License-Identifier: Apache-2.0
//
// Long rows are copied by one call each. Short ones, such as a few channels, are not worth a call: their words, which
// may be unaligned, and the bytes after them are copied here. The barriers keep compilers from calling memcpy.
#include "kernels/move.h"

namespace cormorant {
namespace {

inline void copy_short_rows(std::int8_t* to, const std::int8_t* from, const RowCopy& rows) {
  for (std::uint32_t row = 0; row < rows.rows; ++row, to += rows.to_step, from += rows.from_step) {
    const std::int8_t* source = from;
    std::int8_t* target = to;
    for (std::uint32_t words = rows.bytes / 4; words != 0; --words, source += 4, target += 4) {
      std::uint32_t word;
      __builtin_memcpy(&word, source, sizeof word);
      asm volatile("" : "+r"(word));
      __builtin_memcpy(target, &word, sizeof word);
    }
    for (std::uint32_t bytes = rows.bytes % 4; bytes != 0; --bytes) {
      std::uint32_t byte = static_cast<std::uint8_t>(*source++);
      asm volatile("" : "+r"(byte));
      *target++ = static_cast<std::int8_t>(byte);
    }
  }
}

}  // namespace

void copy_rows_dsp(std::int8_t* to, const std::int8_t* from, const RowCopy& rows) {
  constexpr std::uint32_t kShort = 32;
  if (rows.bytes <= kShort) return copy_short_rows(to, from, rows);
  for (std::uint32_t row = 0; row < rows.rows; ++row, to += rows.to_step, from += rows.from_step) {
    copy_bytes_dsp(to, from, rows.bytes);
  }
}

}  // namespace cormorant
