// SPDX-License-Identifier: Apache-2.0
//
// activation: any function of one element, on int8. An element has 256 possible values, so the compiler computes all
// results and the kernel looks them up: out = lut[input + 128]. Sigmoid, gelu and logarithm differ only in the table,
// and so does a change of quantization parameters.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"

// clang-format off
// Functions in float (float.h): ExecuTorch's portable ones, those that only its Cortex-M compiler leaves, and ours.
#define CORMORANT_PORTABLE(THEIRS, function, S) \
  THEIRS(aten, function, out, any_cpu, load_function<activation::S>, execute_function<Functions::function>, f32, activation::S)
#define CORMORANT_FOREIGN(FOREIGN, function, S) \
  FOREIGN(aten, function, out, any_cpu, load_function<activation::S>, execute_function<Functions::function>, f32)
#define CORMORANT_OWN(OURS, function, S) \
  OURS(function, float, any_cpu, load_function<activation::S>, execute_function<Functions::function>, f32, activation::S)

#define CORMORANT_ACTIVATION_KERNELS(OURS, THEIRS, FOREIGN) \
  THEIRS(cortex_m, quantized_activation, out, scalar_dsp_mve, load_activation, execute, w8a8, QuantizedActivation) \
  OURS(activation, words, words, load_words_activation, execute_words, w8a16, WordsActivation) \
  OURS(activation, mve_words, mve_words, load_words_activation, execute_words, w8a16, WordsActivation) \
  OURS(requantize, words, words, load_words_requantize, execute_words_requantize, w8a16, WordsRequantize) \
  CORMORANT_PORTABLE(THEIRS, abs, Unary) CORMORANT_PORTABLE(THEIRS, acos, Unary) CORMORANT_PORTABLE(THEIRS, acosh, Unary) \
  CORMORANT_PORTABLE(THEIRS, asin, Unary) CORMORANT_PORTABLE(THEIRS, asinh, Unary) CORMORANT_PORTABLE(THEIRS, atan, Unary) \
  CORMORANT_PORTABLE(THEIRS, atanh, Unary) CORMORANT_PORTABLE(THEIRS, ceil, Unary) CORMORANT_PORTABLE(THEIRS, cos, Unary) \
  CORMORANT_PORTABLE(THEIRS, cosh, Unary) CORMORANT_PORTABLE(THEIRS, elu, Elu) CORMORANT_PORTABLE(THEIRS, erf, Unary) \
  CORMORANT_PORTABLE(THEIRS, exp, Unary) CORMORANT_PORTABLE(THEIRS, expm1, Unary) CORMORANT_PORTABLE(THEIRS, floor, Unary) \
  CORMORANT_PORTABLE(THEIRS, gelu, Gelu) CORMORANT_PORTABLE(THEIRS, leaky_relu, LeakyRelu) CORMORANT_PORTABLE(THEIRS, log, Unary) \
  CORMORANT_PORTABLE(THEIRS, log10, Unary) CORMORANT_PORTABLE(THEIRS, log1p, Unary) CORMORANT_PORTABLE(THEIRS, log2, Unary) \
  CORMORANT_PORTABLE(THEIRS, logit, Logit) CORMORANT_PORTABLE(THEIRS, neg, Unary) CORMORANT_PORTABLE(THEIRS, reciprocal, Unary) \
  CORMORANT_PORTABLE(THEIRS, round, Unary) CORMORANT_PORTABLE(THEIRS, rsqrt, Unary) CORMORANT_PORTABLE(THEIRS, sigmoid, Unary) \
  CORMORANT_PORTABLE(THEIRS, sign, Unary) CORMORANT_PORTABLE(THEIRS, sin, Unary) CORMORANT_PORTABLE(THEIRS, sinh, Unary) \
  CORMORANT_PORTABLE(THEIRS, sqrt, Unary) CORMORANT_PORTABLE(THEIRS, tan, Unary) CORMORANT_PORTABLE(THEIRS, tanh, Unary) \
  CORMORANT_PORTABLE(THEIRS, trunc, Unary) \
  THEIRS(aten, pow, Tensor_Scalar_out, any_cpu, load_function<activation::Pow>, execute_function<Functions::pow>, f32, \
         activation::Pow) \
  THEIRS(aten, pow, Scalar_out, any_cpu, load_function<activation::PowOfBase>, execute_function<Functions::pow_of_base>, \
         f32, activation::PowOfBase) \
  CORMORANT_FOREIGN(FOREIGN, hardsigmoid, Unary) CORMORANT_FOREIGN(FOREIGN, hardswish, Unary) CORMORANT_FOREIGN(FOREIGN, silu, Unary) \
  CORMORANT_OWN(OURS, celu, Unary1) CORMORANT_OWN(OURS, erfc, Unary) CORMORANT_OWN(OURS, exp2, Unary) \
  CORMORANT_OWN(OURS, frac, Unary) CORMORANT_OWN(OURS, hardshrink, Unary1) CORMORANT_OWN(OURS, hardsigmoid, Unary) \
  CORMORANT_OWN(OURS, hardswish, Unary) CORMORANT_OWN(OURS, log_sigmoid, Unary) CORMORANT_OWN(OURS, mish, Unary) \
  CORMORANT_OWN(OURS, round_decimals, Unary1) CORMORANT_OWN(OURS, selu, Unary) CORMORANT_OWN(OURS, sgn, Unary) \
  CORMORANT_OWN(OURS, silu, Unary) CORMORANT_OWN(OURS, softplus, Unary2) CORMORANT_OWN(OURS, softshrink, Unary1) \
  CORMORANT_OWN(OURS, square, Unary) CORMORANT_OWN(OURS, threshold, Unary2) CORMORANT_OWN(OURS, erfinv, Unary) \
  CORMORANT_OWN(OURS, sinc, Unary)
// The same for other types, whose elements are converted to float first.
#define CORMORANT_OF_NUMBERS(NUMBERS, function) \
  NUMBERS(aten, function, out, load_of_numbers, execute_of_numbers<execute_function<Functions::function>>)
#define CORMORANT_ACTIVATION_NUMBERS(NUMBERS) \
  CORMORANT_OF_NUMBERS(NUMBERS, acos) CORMORANT_OF_NUMBERS(NUMBERS, acosh) CORMORANT_OF_NUMBERS(NUMBERS, asin) CORMORANT_OF_NUMBERS(NUMBERS, asinh) \
  CORMORANT_OF_NUMBERS(NUMBERS, atan) CORMORANT_OF_NUMBERS(NUMBERS, atanh) CORMORANT_OF_NUMBERS(NUMBERS, cos) CORMORANT_OF_NUMBERS(NUMBERS, cosh) \
  CORMORANT_OF_NUMBERS(NUMBERS, erf) CORMORANT_OF_NUMBERS(NUMBERS, exp) CORMORANT_OF_NUMBERS(NUMBERS, expm1) CORMORANT_OF_NUMBERS(NUMBERS, log) \
  CORMORANT_OF_NUMBERS(NUMBERS, log10) CORMORANT_OF_NUMBERS(NUMBERS, log1p) CORMORANT_OF_NUMBERS(NUMBERS, log2) CORMORANT_OF_NUMBERS(NUMBERS, reciprocal) \
  CORMORANT_OF_NUMBERS(NUMBERS, rsqrt) CORMORANT_OF_NUMBERS(NUMBERS, sigmoid) CORMORANT_OF_NUMBERS(NUMBERS, sin) CORMORANT_OF_NUMBERS(NUMBERS, sinh) \
  CORMORANT_OF_NUMBERS(NUMBERS, sqrt) CORMORANT_OF_NUMBERS(NUMBERS, tan) CORMORANT_OF_NUMBERS(NUMBERS, tanh)
CORMORANT_NAMES(CORMORANT_ACTIVATION_KERNELS)
// clang-format on

namespace cormorant::ops {

template <class W>
struct QuantizedActivation {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Tensor lut{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, lut, out)
};

inline constexpr std::int32_t kTableEntries = 256;

// 16-bit activations: a table of values in 2^-kWordsFraction of a step, between which the kernel interpolates. The
// inputs are divided into 2^bits segments, and each of them into 2^n parts: many where the function bends, one where it
// is straight. The compiler uses as few as bring every result within a step of the exact function. The table holds
//   bits
//   2^bits segments: where its values begin, times 16, plus the binary logarithm of a part's inputs
//   the values at the beginning of every part, in order, and the one after the last
template <class W>
struct WordsActivation {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Tensor table{};  // i32
  typename W::Out out{};

  CORMORANT_FIELDS(input, table, out)
};
inline constexpr std::int32_t kWordsFraction = 7;
inline constexpr std::int32_t kFewestWordsBits = 5;
inline constexpr std::int32_t kMostWordsBits = 8;

struct WordsTable {
  const std::int32_t* segments;
  const std::int32_t* values;
  std::int32_t segment_bits;  // the binary logarithm of a segment's inputs
};
constexpr WordsTable words_table(const std::int32_t* table) {
  return {table + 1, table + 1 + (1 << table[0]), 16 - table[0]};
}

// The table's value for x, in 2^-kWordsFraction of a step.
constexpr std::int32_t interpolated(const WordsTable& table, std::int32_t x) {
  const std::int32_t inputs = x + 32768;
  const std::int32_t segment = table.segments[inputs >> table.segment_bits];
  const std::int32_t shift = segment & 15;
  const std::int32_t rest = inputs & ((1 << table.segment_bits) - 1);
  const std::int32_t* value = table.values + (segment >> 4) + (rest >> shift);
  return value[0] + (((value[1] - value[0]) * (rest & ((1 << shift) - 1))) >> shift);
}
// Whether the difference of neighbours, times the inputs between them, fits 32 bits.
constexpr bool can_interpolate(std::int32_t difference, std::int32_t shift) {
  const std::int32_t largest = 0x7fffffff >> shift;
  return difference <= largest && difference >= -largest;
}
constexpr std::int32_t rounded_word(std::int32_t value) {
  const std::int32_t level = (value + (1 << (kWordsFraction - 1))) >> kWordsFraction;
  return level < -32768 ? -32768 : level > 32767 ? 32767 : level;
}

// Between int8 and int16, or two scales of int16: clamp(((input − input_zero_point) · factor + 2^(shift − 1)) >> shift,
// plus output_zero_point), in 64 bits.
template <class W>
struct WordsRequantize {
  typename W::Tensor input{};
  typename W::Int input_zero_point{};
  typename W::Int factor{};
  typename W::Int shift{};
  typename W::Int output_zero_point{};
  typename W::Int output_min{};
  typename W::Int output_max{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, input_zero_point, factor, shift, output_zero_point, output_min, output_max, out)
};

}  // namespace cormorant::ops
