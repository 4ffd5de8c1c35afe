// SPDX-License-Identifier: Apache-2.0
//
// quantize: float -> int8 or int16, one scale and zero point for the tensor.
//
// The arithmetic is that of ExecuTorch's scalar kernel: q = clamp(round(x · (1 / scale)) + zero_point, low, high),
// where the reciprocal and the product are each rounded to float, and the product then to the nearest integer, ties to
// even. A NaN becomes the zero point, infinities the bounds. (ExecuTorch's MVE kernel keeps the product unrounded in a
// fused multiply-add and wraps far outliers, so it disagrees with its own scalar tail; here all kernels agree.)
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"

#define CORMORANT_QUANTIZE_KERNELS(OURS, THEIRS, FOREIGN) \
  THEIRS(cortex_m, quantize_per_tensor, out, scalar_dsp_mve, load_quantize, execute, w8a8_w8a16, QuantizePerTensor)
CORMORANT_NAMES(CORMORANT_QUANTIZE_KERNELS)

namespace cormorant::ops {

template <class W>
struct QuantizePerTensor {
  static constexpr Overlap kOverlap = Overlap::covered;
  typename W::Tensor input{};
  typename W::Float scale{};
  typename W::Int zero_point{};
  typename W::Int quant_min{};
  typename W::Int quant_max{};
  typename W::ScalarType dtype{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, scale, zero_point, quant_min, quant_max, dtype, out)
};

// Scales as the bits of a float (which order like integers), 2^-100 to 2^100. Between them, neither 1 / scale nor any
// product that matters is subnormal: MVE flushes those to zero and the FPU does not.
inline constexpr std::uint32_t kSmallestScaleBits = 0x0D800000;
inline constexpr std::uint32_t kLargestScaleBits = 0x71800000;
constexpr bool is_supported_scale(std::uint32_t bits) {
  return bits >= kSmallestScaleBits && bits <= kLargestScaleBits;
}

constexpr bool is_quantized_dtype(DType dtype) { return dtype == DType::i8 || dtype == DType::i16; }
constexpr std::int32_t lowest(DType dtype) { return dtype == DType::i8 ? -128 : -32768; }
constexpr std::int32_t highest(DType dtype) { return dtype == DType::i8 ? 127 : 32767; }

// The bits of 1.0f / scale, correctly rounded, for a supported scale. Integers only, so that a CPU without an FPU does
// not link a float division for one number.
constexpr std::uint32_t reciprocal_bits(std::uint32_t scale_bits) {
  constexpr std::uint32_t kOne = 0x800000;
  const std::uint32_t exponent = scale_bits >> 23;
  const std::uint32_t mantissa = (scale_bits & (kOne - 1)) | kOne;
  if (mantissa == kOne) return (254 - exponent) << 23;
  // 2^47 / mantissa is strictly between 2^23 and 2^24: 24 quotient bits, one by one.
  std::uint32_t quotient = 0;
  std::uint32_t remainder = kOne;  // 2^23 < mantissa: the first 24 quotient bits are 0
  for (int bit = 0; bit < 24; ++bit) {
    remainder <<= 1;
    quotient <<= 1;
    if (remainder >= mantissa) {
      remainder -= mantissa;
      ++quotient;
    }
  }
  if (2 * remainder > mantissa) ++quotient;  // a tie would need a power of two
  return ((252 - exponent) << 23) + quotient;
}

}  // namespace cormorant::ops
