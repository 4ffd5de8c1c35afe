// SPDX-License-Identifier: Apache-2.0
//
// Elementwise product. The contract between compiler and kernels. The zero points' differences are multiplied as they
// are, and the product is rescaled once: out = clamp(requantize((self − zs) · (other − zo)) + zero point).
//
// cortex_m::quantized_mul clamps to int8 only. If a fused activation, or parameters that omit a level, need tighter
// bounds, the program has cormorant::mul, the same with two bounds.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_MUL_KERNELS(OURS, THEIRS, FOREIGN)                                      \
  THEIRS(cortex_m, quantized_mul, out, scalar_dsp_mve, load, execute, w8a8, QuantizedMul) \
  OURS(mul, scalar, scalar, load_clamped, execute, w8a8, ClampedMul)                      \
  OURS(mul, dsp, dsp, load_clamped, execute, w8a8, ClampedMul)                            \
  OURS(mul, mve, mve, load_clamped, execute, w8a8, ClampedMul)                            \
  OURS(mul, words, words, load_words, execute_words, w8a16, WordsMul)                     \
  THEIRS(aten, mul, out, any_cpu_mve, load_float, execute_float, f32, FloatBinary)
CORMORANT_NAMES(CORMORANT_MUL_KERNELS)

namespace cormorant::ops::mul {

template <class W>
struct QuantizedMul {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Int self_zero_point{};
  typename W::Tensor other{};
  typename W::Int other_zero_point{};
  typename W::Int output_zero_point{};
  typename W::Int output_multiplier{};
  typename W::Int output_shift{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, self_zero_point, other, other_zero_point, output_zero_point, output_multiplier, output_shift,
                   out)
};

template <class W>
struct ClampedMul : QuantizedMul<W> {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Int activation_min{};
  typename W::Int activation_max{};

  CORMORANT_FIELDS(self, self_zero_point, other, other_zero_point, output_zero_point, output_multiplier, output_shift,
                   activation_min, activation_max, out)
};

// 16-bit activations: the upper half of self · other · factor, rounded, where the factor is real · 2^32.
template <class W>
struct WordsMul {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Tensor other{};
  typename W::Int factor{};
  typename W::Int activation_min{};
  typename W::Int activation_max{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, other, factor, activation_min, activation_max, out)
};

constexpr const char* mul_variant(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return names::cormorant_mul_scalar;
  return target.isa == Isa::dsp ? names::cormorant_mul_dsp : names::cormorant_mul_mve;
}

// Operands' zero points may be outside int8 (ExecuTorch's hardswish shifts one by three, in steps that can be tiny), as
// long as the product of differences fits 32 bits.
constexpr bool is_computable(std::int32_t self_zero_point, std::int32_t other_zero_point) {
  constexpr std::int32_t kFar = 1 << 24;
  const auto farthest = [](std::int32_t z) { return static_cast<std::uint32_t>(z < 0 ? -z : z) + 128U; };
  return self_zero_point >= -kFar && self_zero_point <= kFar && other_zero_point >= -kFar && other_zero_point <= kFar &&
         std::uint64_t{farthest(self_zero_point)} * farthest(other_zero_point) < (1U << 31U);
}

}  // namespace cormorant::ops::mul
