// SPDX-License-Identifier: Apache-2.0
//
// Long rows are copied by one call each. Short ones, such as a few channels, are not worth a call: they are copied
// here, word by word if all of them are whole aligned words, else byte by byte.
#include "kernels/move.h"

namespace cormorant {
namespace {

std::uint32_t address_of(const void* pointer) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

// The barrier keeps compilers from calling memcpy.
template <class Unit>
inline void copy_short_rows(std::int8_t* to, const std::int8_t* from, const RowCopy& rows) {
  for (std::uint32_t row = 0; row < rows.rows; ++row, to += rows.to_step, from += rows.from_step) {
    const auto* source = reinterpret_cast<const Unit*>(from);
    auto* target = reinterpret_cast<Unit*>(to);
    for (std::uint32_t left = rows.bytes; left != 0; left -= sizeof(Unit)) {
      std::uint32_t unit = *source++;
      asm volatile("" : "+r"(unit));
      *target++ = static_cast<Unit>(unit);
    }
  }
}

}  // namespace

void copy_rows_scalar(std::int8_t* to, const std::int8_t* from, const RowCopy& rows) {
  const std::uint32_t steps = static_cast<std::uint32_t>(rows.to_step) | static_cast<std::uint32_t>(rows.from_step);
  const bool in_words = ((address_of(to) | address_of(from) | steps | rows.bytes) & 3) == 0;
  if (rows.bytes <= (in_words ? 32 : 8)) {
    return in_words ? copy_short_rows<std::uint32_t>(to, from, rows) : copy_short_rows<std::uint8_t>(to, from, rows);
  }
  for (std::uint32_t row = 0; row < rows.rows; ++row, to += rows.to_step, from += rows.from_step) {
    copy_bytes_scalar(to, from, rows.bytes);
  }
}

}  // namespace cormorant
