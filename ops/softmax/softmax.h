// SPDX-License-Identifier: Apache-2.0
//
// Softmax over one dimension, out[i] = exp(x[i]) / Σ exp(x[j]), and its logarithm. What compiler and kernels agree on.
// Softmax has the output scale 1/256 and the zero point −128; where calibration saw only small shares, as of long rows,
// our own kernels halve that scale some times. The dimension may be anywhere in memory: rows of
// elements that are not neighbours cost loads of single bytes, but no transposition.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_SOFTMAX_KERNELS(OURS, THEIRS, FOREIGN)                                        \
  THEIRS(cortex_m, softmax, out, scalar_dsp_mve, load, execute, w8a8, Softmax)                  \
  OURS(softmax, scalar, scalar, load_table, execute_table, w8a8, TableSoftmax)                  \
  OURS(softmax, dsp, dsp, load_table, execute_table, w8a8, TableSoftmax)                        \
  OURS(softmax, mve, mve, load_table, execute_table, w8a8, TableSoftmax)                        \
  OURS(log_softmax, scalar, scalar, load_log, execute_log, w8a8, LogSoftmax)                    \
  OURS(log_softmax, dsp, dsp, load_log, execute_log, w8a8, LogSoftmax)                          \
  OURS(log_softmax, mve, mve, load_log, execute_log, w8a8, LogSoftmax)                          \
  OURS(softmax, words, words, load_words, execute_words, w8a16, WordsSoftmax)                   \
  OURS(log_softmax, words, words, load_log_words, execute_log_words, w8a16, LogSoftmax)         \
  THEIRS(aten, _softmax, out, any_cpu_mve, load_float, execute_float<false>, f32, FloatSoftmax) \
  THEIRS(aten, _log_softmax, out, any_cpu, load_float, execute_float<true>, f32, FloatSoftmax)
CORMORANT_NAMES(CORMORANT_SOFTMAX_KERNELS)

namespace cormorant::ops::softmax {

template <class W>
struct Softmax {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Int dim{};
  typename W::Int input_zero_point{};  // without effect: only differences to the largest value count
  typename W::Int output_zero_point{};
  typename W::Int input_multiplier{};
  typename W::Int input_shift{};
  typename W::Int diff_min{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, dim, input_zero_point, output_zero_point, input_multiplier, input_shift, diff_min, out)
};

// 16-bit activations, with an output scale of 1/32768. The exponential of a difference d to the largest value is the
// product of two that the compiler has computed, coarse[d / 256] · fine[d % 256], both in 2^-31.
template <class W>
struct WordsSoftmax {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Tensor coarse{};
  typename W::Tensor fine{};
  typename W::Int dim{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, coarse, fine, dim, out)
};
inline constexpr std::int32_t kWordsParts = 256;
inline constexpr double kWordsOutputScale = 1.0 / 32768;

// The logarithm: (x − largest) · factor − log Σ exp + term, shifted right. `term` holds the output's zero point and the
// half that rounds; log_multiplier and log_shift turn a binary logarithm with 24 fractional bits into the same unit,
// which is 2^-shift of an output step. With 16-bit activations differences have 16 bits, too, and `factor` has as many
// more: (x − largest) · factor is divided by 2^16, rounded.
template <class W>
struct LogSoftmax {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Int dim{};
  typename W::Int input_multiplier{};
  typename W::Int input_shift{};
  typename W::Int diff_min{};
  typename W::Int factor{};
  typename W::Int term{};
  typename W::Int shift{};
  typename W::Int log_multiplier{};
  typename W::Int log_shift{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, dim, input_multiplier, input_shift, diff_min, factor, term, shift, log_multiplier, log_shift,
                   out)
};

// For our own runtime, where many elements are worth a kilobyte: the exponential of every difference to the largest
// value, Q0.31, 0 if it is too far below. The same bits as cortex_m::softmax, if the scale is not halved.
template <class W>
struct TableSoftmax {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Tensor exponentials{};  // int32[256]
  typename W::Int dim{};
  typename W::Int halvings{};  // of the output's scale
  typename W::Out out{};

  CORMORANT_FIELDS(input, exponentials, dim, halvings, out)
};

inline constexpr std::uint32_t kDifferences = 256;

constexpr const char* table_variant(Isa isa) {
  return isa == Isa::scalar ? names::cormorant_softmax_scalar
         : isa == Isa::dsp  ? names::cormorant_softmax_dsp
                            : names::cormorant_softmax_mve;
}

// From here on the table costs less than it saves. Classifiers with few outputs stay as small as they are.
inline constexpr std::int64_t kElementsWorthATable = 512;

constexpr const char* log_variant(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return names::cormorant_log_softmax_scalar;
  return target.isa == Isa::dsp ? names::cormorant_log_softmax_dsp : names::cormorant_log_softmax_mve;
}

inline constexpr double kOutputScale = 1.0 / 256;
inline constexpr std::int32_t kOutputZeroPoint = -128;
inline constexpr std::int32_t kMostHalvings = 8;

// Exponents are computed with 5 integer and 26 fractional bits.
inline constexpr std::int32_t kInputIntegerBits = 5;

// The sum of exponentials has 12 integer bits. A row of 4096 equal values would need one more.
inline constexpr std::int32_t kMaxRow = 4095;

// Fractional bits of a binary logarithm, and what the logarithm of a sum stays below.
inline constexpr std::int32_t kLogBits = 24;
inline constexpr std::int32_t kLargestLog = 12;

// Every number that the logarithm adds up stays below this.
inline constexpr std::int32_t kLogBound = 1 << 29;

}  // namespace cormorant::ops::softmax
