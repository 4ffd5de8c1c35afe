// SPDX-License-Identifier: Apache-2.0
//
// Reductions over any dimensions of an int8 tensor, which stay with size 1: mean (and sum, which is the mean with
// another factor) with its own parameters, and maximum, whose input and output share theirs. In memory the dimensions
// of any tensor fall into groups that are reduced and groups that are kept; with at most two of the former a result is
// a Window of kernels/window.h.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_REDUCE_KERNELS(OURS, THEIRS, FOREIGN)                                                 \
  OURS(mean, scalar, scalar, load_mean, execute_mean<kLoops>, w8a8, Mean)                               \
  OURS(mean, dsp, dsp, load_mean, execute_mean<kLoops>, w8a8, Mean)                                     \
  OURS(mean, mve, mve, load_mean, execute_mean<kLoops>, w8a8, Mean)                                     \
  OURS(moving_mean, scalar, scalar, load_moving_mean, execute_moving_mean, w8a8, MovingMean)            \
  OURS(moving_mean, dsp, dsp, load_moving_mean, execute_moving_mean, w8a8, MovingMean)                  \
  OURS(moving_mean, mve, mve, load_moving_mean, execute_moving_mean, w8a8, MovingMean)                  \
  OURS(amax, scalar, scalar, load_amax, execute_amax<kLoops>, w8a8, Amax)                               \
  OURS(amax, dsp, dsp, load_amax, execute_amax<kLoops>, w8a8, Amax)                                     \
  OURS(amax, mve, mve, load_amax, execute_amax<kLoops>, w8a8, Amax)                                     \
  OURS(mean, words, words, load_words_mean, execute_words_mean, w8a16, Mean)                            \
  OURS(moving_mean, words, words, load_words_moving_mean, execute_words_moving_mean, w8a16, MovingMean) \
  OURS(amax, words, words, load_words_amax, execute_words_amax, w8a16, Amax)                            \
  THEIRS(aten, mean, out, any_cpu, load_sum, execute_float_mean, f32, FloatMean)                        \
  THEIRS(aten, sum, IntList_out, any_cpu, load_sum, execute_float_sum, f32, FloatMean)                  \
  THEIRS(aten, amax, out, any_cpu, load_extreme, execute_float_amax, f32, FloatExtreme)                 \
  THEIRS(aten, amin, out, any_cpu, load_extreme, execute_float_amin, f32, FloatExtreme)
CORMORANT_NAMES(CORMORANT_REDUCE_KERNELS)

namespace cormorant::ops {

template <class W>
struct Mean {
  typename W::Tensor input{};
  typename W::IntList dim{};
  typename W::Int input_zero_point{};
  // As in kernels/window.h; with 16-bit activations there is no shift to the left, and the result is
  // (sum · multiplier + 2^(right shift − 1)) >> right shift in 64 bits.
  typename W::Int left_shift{};
  typename W::Int multiplier{};
  typename W::Int right_shift{};
  typename W::Int output_zero_point{};
  typename W::Int output_min{};
  typename W::Int output_max{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, dim, input_zero_point, left_shift, multiplier, right_shift, output_zero_point, output_min,
                   output_max, out)
};

// The mean (or sum) over a window of which the input holds the newest entries. A part is `entries` entries along
// `axis`: `past` [parts, results, in memory order], a ring, has the sums of all parts, and `sums` [results + 1] their
// totals, less the zero point of every element, and the index of the oldest part. New parts replace the oldest, so a
// result costs no more than its new entries. Same bits as Mean over the window.
template <class W>
struct MovingMean {
  static constexpr Overlap kOverlap = Overlap::in_place;  // of past and of sums alone: see load
  typename W::Tensor input{};
  typename W::Tensor past{};
  typename W::Tensor sums{};
  typename W::IntList dim{};
  typename W::Int axis{};
  typename W::Int entries{};
  typename W::Int input_zero_point{};
  typename W::Int left_shift{};
  typename W::Int multiplier{};
  typename W::Int right_shift{};
  typename W::Int output_zero_point{};
  typename W::Int output_min{};
  typename W::Int output_max{};
  typename W::Out out{};
  typename W::Out next_past{};
  typename W::Out next_sums{};

  CORMORANT_FIELDS(input, past, sums, dim, axis, entries, input_zero_point, left_shift, multiplier, right_shift,
                   output_zero_point, output_min, output_max, out, next_past, next_sums)
};

// The type of a part's sums, for so many elements of a type.
constexpr DType part_dtype(std::uint32_t taps, DType of) {
  if (taps == 1) return of;
  return of == DType::i8 && taps <= 256 ? DType::i16 : DType::i32;
}

inline constexpr std::uint32_t kLargestWordsSum = 0xffff;  // elements of 16 bits, whose sum has 32

template <class W>
struct Amax {
  typename W::Tensor input{};
  typename W::IntList dim{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, dim, out)
};

constexpr const char* mean_variant(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return names::cormorant_mean_scalar;
  return target.isa == Isa::dsp ? names::cormorant_mean_dsp : names::cormorant_mean_mve;
}

constexpr const char* moving_mean_variant(const Target& target, bool words) {
  if (words) return names::cormorant_moving_mean_words;
  if (target.is_any() || target.isa == Isa::scalar) return names::cormorant_moving_mean_scalar;
  return target.isa == Isa::dsp ? names::cormorant_moving_mean_dsp : names::cormorant_moving_mean_mve;
}

constexpr const char* amax_variant(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return names::cormorant_amax_scalar;
  return target.isa == Isa::dsp ? names::cormorant_amax_dsp : names::cormorant_amax_mve;
}

}  // namespace cormorant::ops
