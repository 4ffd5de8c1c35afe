// SPDX-License-Identifier: Apache-2.0
//
// avg_pool2d on int8, channels-last, in two forms.
//
// ExecuTorch's: the sum of a window divided by the number of its elements that are inside the input, rounded to
// nearest, ties away from zero (CMSIS-NN's arithmetic). Input and output share their quantization parameters, so
// neither zero point nor scale takes part; the schema's zero_point, multiplier and shift are for ExecuTorch's Python
// semantics only.
//
// Ours: the result has parameters of its own. A mean of many elements spans a fraction of their range, for which shared
// parameters leave only a few integers; with its own it has all 256. It also supports padding that counts, other
// divisors and adaptive windows. The arithmetic is mean_of() in kernels/window.h; with 16-bit activations (sum ·
// multiplier + 2^(right shift − 1)) >> right shift in 64 bits.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "base/overlap.h"
#include "kernels/pool_geometry.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

// _nhwc is the same with explicit layout: input and out are logically N, H, W, C.
#define CORMORANT_AVG_POOL2D_KERNELS(OURS, THEIRS, FOREIGN)                                                       \
  THEIRS(cortex_m, quantized_avg_pool2d, out, scalar_dsp_mve, load_avg_pool2d, execute, w8a8, QuantizedAvgPool2d) \
  THEIRS(cortex_m, quantized_avg_pool2d_nhwc, out, scalar_dsp_mve, load_avg_pool2d_nhwc, execute, w8a8,           \
         QuantizedAvgPool2d)                                                                                      \
  OURS(avg_pool2d, scalar, scalar, load_mean_pool2d, execute_mean, w8a8, AvgPool2d)                               \
  OURS(avg_pool2d, dsp, dsp, load_mean_pool2d, execute_mean, w8a8, AvgPool2d)                                     \
  OURS(avg_pool2d, mve, mve, load_mean_pool2d, execute_mean, w8a8, AvgPool2d)                                     \
  OURS(avg_pool2d, words, words, load_words_pool2d, execute_words, w8a16, AvgPool2d)                              \
  THEIRS(aten, avg_pool2d, out, any_cpu, load_float_avg_pool, execute_float_avg_pool, f32, FloatAvgPool2d)        \
  THEIRS(aten, _adaptive_avg_pool2d, out, any_cpu, load_adaptive_avg_pool, execute_adaptive_avg_pool, f32,        \
         FloatAdaptiveAvgPool2d)
CORMORANT_NAMES(CORMORANT_AVG_POOL2D_KERNELS)

namespace cormorant::ops {

template <class W>
struct QuantizedAvgPool2d {
  static constexpr Overlap kOverlap = Overlap::covered;
  typename W::Tensor input{};
  typename W::IntPair kernel_size{};
  typename W::IntPair stride{};
  typename W::IntPair padding{};
  typename W::Bool ceil_mode{};
  typename W::Int zero_point{};
  typename W::Int multiplier{};
  typename W::Int shift{};
  typename W::Scratch scratch{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, kernel_size, stride, padding, ceil_mode, zero_point, multiplier, shift, scratch, out)
};

template <class W>
struct AvgPool2d {
  static constexpr Overlap kOverlap = Overlap::covered;
  typename W::Tensor input{};
  typename W::IntPair kernel_size{};
  typename W::IntPair stride{};  // zeros: adaptive windows, all by output sizes
  typename W::IntPair padding{};
  typename W::Bool count_include_pad{};
  typename W::Tensor divisors{};  // i32 [n, 3]: number of elements, multiplier, right shift. One row: for all windows.
  typename W::Int left_shift{};
  typename W::Int input_zero_point{};
  typename W::Int output_zero_point{};
  typename W::Int output_min{};
  typename W::Int output_max{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, kernel_size, stride, padding, count_include_pad, divisors, left_shift, input_zero_point,
                   output_zero_point, output_min, output_max, out)
};

constexpr const char* avg_pool2d_variant(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return names::cormorant_avg_pool2d_scalar;
  return target.isa == Isa::dsp ? names::cormorant_avg_pool2d_dsp : names::cormorant_avg_pool2d_mve;
}

// Our kernels need no scratch; CMSIS-NN's for DSP keeps a row of sums.
inline constexpr std::int64_t kAvgPoolScratchBytes = 0;
constexpr std::int64_t avg_pool_upstream_scratch_bytes(std::int64_t channels, Isa isa) {
  return isa == Isa::dsp ? channels * 4 : 0;
}

// A window's division, as a multiplication: sums of at most kLargestWindow int8 values.
inline constexpr std::int32_t kLargestWindow = 65536;
// Channels of 16-bit activations, whose bytes the loops over windows count.
inline constexpr std::int32_t kMostWordsChannels = 32767;
struct WindowDivisor {
  std::uint32_t count;
  std::uint32_t multiplier;  // 2^24 / count, rounded up
};

// By shift and subtraction: ARMv6-M has no division.
constexpr WindowDivisor divisor_of(std::uint32_t count) {
  std::uint32_t quotient = 0;
  std::uint32_t remainder = 1;  // of 2^24's leading bit
  if (remainder >= count) {
    remainder -= count;
    quotient = 1;
  }
  for (int bit = 0; bit < 24; ++bit) {
    remainder <<= 1;
    quotient <<= 1;
    if (remainder >= count) {
      remainder -= count;
      ++quotient;
    }
  }
  return {count, quotient + (remainder != 0 ? 1 : 0)};
}

// sum / count to nearest, ties away from zero. |sum| <= 128 · count, so the product stays below 2^32, and the quotient
// is too large by at most one (never, up to 361 elements).
constexpr std::int32_t average(std::int32_t sum, WindowDivisor divisor) {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(sum < 0 ? -sum : sum) + divisor.count / 2;
  std::uint32_t quotient = (magnitude * divisor.multiplier) >> 24;
  if (quotient * divisor.count > magnitude) --quotient;
  return sum < 0 ? -static_cast<std::int32_t>(quotient) : static_cast<std::int32_t>(quotient);
}

}  // namespace cormorant::ops
