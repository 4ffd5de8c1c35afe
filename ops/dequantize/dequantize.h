// SPDX-License-Identifier: Apache-2.0
//
// dequantize: int8 or int16 -> float, one scale and zero point for the tensor: scale · (q − zero_point), the product
// rounded to float once.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/fields.h"
#include "ops/load/kernel_list.h"

#define CORMORANT_DEQUANTIZE_KERNELS(OURS, THEIRS, FOREIGN)                                          \
  THEIRS(cortex_m, dequantize_per_tensor, out, scalar_dsp_mve, load_dequantize, execute, w8a8_w8a16, \
         DequantizePerTensor)
CORMORANT_NAMES(CORMORANT_DEQUANTIZE_KERNELS)

namespace cormorant::ops {

template <class W>
struct DequantizePerTensor {
  typename W::Tensor input{};
  typename W::Float scale{};
  typename W::Int zero_point{};
  typename W::Int quant_min{};
  typename W::Int quant_max{};
  typename W::ScalarType dtype{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, scale, zero_point, quant_min, quant_max, dtype, out)
};

// Scales as the bits of a float (which order like integers), 2^-100 to 2^100: no result is subnormal (MVE would flush
// it to zero, the FPU would not) or infinite.
constexpr bool is_dequantizable_scale(std::uint32_t bits) { return bits >= 0x0D800000 && bits <= 0x71800000; }

constexpr bool is_dequantizable_dtype(DType dtype) { return dtype == DType::i8 || dtype == DType::i16; }

}  // namespace cormorant::ops
