// SPDX-License-Identifier: Apache-2.0
//
// Elementwise quotient. What compiler and kernels agree on.
//
// cortex_m::quantized_div divides in float: round((self − zs) / (other − zo) · scale) + zero point, ties away from
// zero, and 0 for a divisor of zero. The result depends on only two bytes, and for one divisor it is a multiplication:
// for each of the 256 values of other the compiler finds an integer factor and a shift with which
//     rounding_shift_right((self − zs) · factor, shift)
// gives the float's result for every self. cormorant::div reads them from a table: no float, no division, and a product
// of 32 bits. Quotients of 16-bit activations are divided in float.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_DIV_KERNELS(OURS, THEIRS, FOREIGN)                                    \
  THEIRS(cortex_m, quantized_div, out, scalar, load, execute, w8a8_w8a16, QuantizedDiv) \
  OURS(div, scalar, scalar, load_table, execute_table, w8a8, TableDiv)                  \
  OURS(div, mve, mve, load_table, execute_table, w8a8, TableDiv)                        \
  THEIRS(aten, div, out, any_cpu, load_float, execute_float, f32, FloatBinary)
CORMORANT_NAMES(CORMORANT_DIV_KERNELS)

namespace cormorant::ops::div {

template <class W>
struct QuantizedDiv {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Int self_zero_point{};
  typename W::Tensor other{};
  typename W::Int other_zero_point{};
  typename W::Int output_zero_point{};
  typename W::Float output_scale{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, self_zero_point, other, other_zero_point, output_zero_point, output_scale, out)
};

// cormorant::div.scalar (which DSP cores execute too) and cormorant::div.mve.
template <class W>
struct TableDiv {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Int self_zero_point{};
  typename W::Tensor other{};
  typename W::Tensor table{};  // i32[256], by other + 128
  typename W::Int output_zero_point{};
  typename W::Int activation_min{};
  typename W::Int activation_max{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, self_zero_point, other, table, output_zero_point, activation_min, activation_max, out)
};

constexpr const char* div_variant(const Target& target) {
  return !target.is_any() && target.isa == Isa::mve ? names::cormorant_div_mve : names::cormorant_div_scalar;
}

// An entry of the table: the factor, which has the divisor's sign, above five bits that hold a shift of 1 … 32, less
// one. Magnitudes below 2^23 times differences below 2^8 stay within 31 bits.
inline constexpr std::int32_t kFactorLimit = 1 << 23;

constexpr std::int32_t make_entry(std::int32_t factor, std::int32_t shift) { return factor * 32 + (shift - 1); }

// rounding_shift_right(difference · factor, shift): a negative number, whose ties round down, is lowered by one.
constexpr std::int32_t apply_entry(std::int32_t entry, std::int32_t difference) {
  // A file may hold any factor: unsigned products wrap.
  const auto product = static_cast<std::uint32_t>(difference) * static_cast<std::uint32_t>(entry >> 5);
  const auto sign = static_cast<std::uint32_t>(static_cast<std::int32_t>(product) >> 31);
  return ((static_cast<std::int32_t>(product + sign) >> (entry & 31)) + 1) >> 1;
}

// round(numerator / denominator · scale), ties away from zero, without the C library. Far beyond int16 it is
// saturated.
constexpr std::int32_t float_quotient(std::int32_t numerator, std::int32_t denominator, float scale) {
  if (denominator == 0) return 0;
  const float scaled = static_cast<float>(numerator) / static_cast<float>(denominator) * scale;
  constexpr std::int32_t kFar = 1 << 20;
  if (!(scaled < static_cast<float>(kFar))) return kFar;
  if (!(scaled > static_cast<float>(-kFar))) return -kFar;
  const auto whole = static_cast<std::int32_t>(scaled);
  const float rest = scaled - static_cast<float>(whole);
  return whole + (rest >= 0.5F ? 1 : 0) - (rest <= -0.5F ? 1 : 0);
}

}  // namespace cormorant::ops::div
