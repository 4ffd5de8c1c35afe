// SPDX-License-Identifier: Apache-2.0
#include "kernels/move_nest_words.h"

namespace cormorant {
namespace {

// LDR and STR take any address on ARMv7-M and later; memcpy expresses that.
struct AnyWords {
  static bool can_access(std::uint32_t) { return true; }
  static std::uint32_t load(const std::int8_t* from) {
    std::uint32_t word;
    __builtin_memcpy(&word, from, sizeof word);
    return word;
  }
  static void store(std::int8_t* to, std::uint32_t word) { __builtin_memcpy(to, &word, sizeof word); }
  static void copy_rows(std::int8_t* to, const std::int8_t* from, const RowCopy& rows) {
    copy_rows_dsp(to, from, rows);
  }
  static void fill(std::int8_t* to, std::int8_t value, std::uint32_t count) { fill_bytes_dsp(to, value, count); }
};

}  // namespace

void move_nest_dsp(const MovePlan& plan) { for_each_tile(plan, move_tile<AnyWords>); }

}  // namespace cormorant
