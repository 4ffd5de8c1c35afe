// SPDX-License-Identifier: Apache-2.0
#include "kernels/move_nest_words.h"

namespace cormorant {
namespace {

// ARMv6-M faults on unaligned words.
struct AlignedWords {
  static bool can_access(std::uint32_t address) { return (address & 3) == 0; }
  static std::uint32_t load(const std::int8_t* from) { return *reinterpret_cast<const std::uint32_t*>(from); }
  static void store(std::int8_t* to, std::uint32_t word) { *reinterpret_cast<std::uint32_t*>(to) = word; }
  static void copy_rows(std::int8_t* to, const std::int8_t* from, const RowCopy& rows) {
    copy_rows_scalar(to, from, rows);
  }
  static void fill(std::int8_t* to, std::int8_t value, std::uint32_t count) { fill_bytes_scalar(to, value, count); }
};

}  // namespace

void move_nest_scalar(const MovePlan& plan) { for_each_tile(plan, move_tile<AlignedWords>); }

}  // namespace cormorant
