// SPDX-License-Identifier: Apache-2.0
//
// Elementwise addition: out = self + alpha · other. The contract between compiler and kernels.
//
// cortex_m::quantized_add rescales both operands to a common fine scale, adds, and rescales the sum: three roundings of
// 64-bit products per element. Its result depends on only two bytes, though, so the compiler can check all 65,536
// cases. If there are integers for which
//     out = clamp((self · self_factor + other · other_factor + offset) >> shift)
// gives the same result in every case, the program gets cormorant::add: two multiplications, one shift.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "base/overlap.h"
#include "kernels/sum_factors.h"
#include "ops/load/kernel_list.h"

#define CORMORANT_ADD_KERNELS(OURS, THEIRS, FOREIGN)                                      \
  THEIRS(cortex_m, quantized_add, out, scalar_dsp_mve, load, execute, w8a8, QuantizedAdd) \
  OURS(add, scalar, scalar, load_factor, execute_factor, w8a8, FactorAdd)                 \
  OURS(add, mve, mve, load_factor, execute_factor, w8a8, FactorAdd)                       \
  OURS(add, words, words, load_words, execute_words, w8a16, FactorAdd)                    \
  OURS(add, mve_words, mve_words, load_words, execute_words, w8a16, FactorAdd)            \
  THEIRS(aten, add, out, any_cpu_mve, load_float<1>, execute_float, f32, FloatAdd)        \
  THEIRS(aten, sub, out, any_cpu_mve, load_float<-1>, execute_float, f32, FloatAdd)
CORMORANT_NAMES(CORMORANT_ADD_KERNELS)

namespace cormorant::ops::add {

// Operands are shifted left by this before they are rescaled.
inline constexpr std::int32_t kLeftShift = 20;

template <class W>
struct QuantizedAdd {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Int self_zero_point{};
  typename W::Int self_multiplier{};
  typename W::Int self_shift{};
  typename W::Tensor other{};
  typename W::Int other_zero_point{};
  typename W::Int other_multiplier{};
  typename W::Int other_shift{};
  typename W::Int output_zero_point{};
  typename W::Int output_multiplier{};
  typename W::Int output_shift{};
  typename W::Int activation_min{};
  typename W::Int activation_max{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, self_zero_point, self_multiplier, self_shift, other, other_zero_point, other_multiplier,
                   other_shift, output_zero_point, output_multiplier, output_shift, activation_min, activation_max, out)
};

// cormorant::add.scalar (which DSP cores execute too) and cormorant::add.mve; with 16-bit activations
// cormorant::add.words and add.mve_words, where the factors have 16 bits, so that their relative error is that of a
// step of the result, and the offset does the rounding.
template <class W>
struct FactorAdd {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Tensor other{};
  typename W::Int self_factor{};
  typename W::Int other_factor{};
  typename W::Int offset{};
  typename W::Int shift{};
  typename W::Int activation_min{};
  typename W::Int activation_max{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, other, self_factor, other_factor, offset, shift, activation_min, activation_max, out)
};

// The shifts that the compiler tries. The first, an immediate in the kernels' fast loops, keeps more of the factors'
// bits; the second allows sums that are far outside the output's range.
inline constexpr std::int32_t kShifts[] = {22, 20};

using Factors = SumFactors;
using cormorant::is_valid;

// With 16-bit operands.
constexpr bool is_valid_for_words(const Factors& f) {
  const std::int64_t self = f.self < 0 ? -std::int64_t{f.self} : f.self;
  const std::int64_t other = f.other < 0 ? -std::int64_t{f.other} : f.other;
  return f.shift >= 1 && f.shift <= 30 && f.offset == 1 << (f.shift - 1) &&
         (self + other) * 32768 + f.offset < (std::int64_t{1} << 31);
}

}  // namespace cormorant::ops::add
