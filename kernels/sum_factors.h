// SPDX-License-Identifier: Apache-2.0
//
// The sum of two int8 operands in one step: out = clamp((self · self_factor + other · other_factor + offset) >> shift).
// ops/add/add.h says where the factors come from.
#pragma once

#include <cstdint>

namespace cormorant {

struct SumFactors {
  std::int32_t self;
  std::int32_t other;
  std::int32_t offset;
  std::int32_t shift;
};

// Whether no sum exceeds 32 bits.
constexpr bool is_valid(const SumFactors& f) {
  const std::int64_t self = f.self < 0 ? -std::int64_t{f.self} : f.self;
  const std::int64_t other = f.other < 0 ? -std::int64_t{f.other} : f.other;
  const std::int64_t offset = f.offset < 0 ? -std::int64_t{f.offset} : f.offset;
  if (f.shift < 1 || f.shift > 30) return false;
  return (self | other) < (1 << 24) && (self + other) * 128 + offset < (std::int64_t{1} << 31);
}

}  // namespace cormorant
