// SPDX-License-Identifier: Apache-2.0
//
// max_pool2d on int8, channels-last: the largest element of each window that is inside the input. Input and output
// share their quantization parameters, so the order of the integers is that of the real numbers and zero points take no
// part. A clamp after it is part of it.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"

// _nhwc is the same with explicit layout: input and out are logically N, H, W, C.
#define CORMORANT_MAX_POOL2D_KERNELS(OURS, THEIRS, FOREIGN)                                                          \
  THEIRS(cortex_m, quantized_max_pool2d, out, scalar_dsp_mve, load_max_pool2d, execute_max_pool2d<kLoops>, w8a8,     \
         QuantizedMaxPool2d)                                                                                         \
  THEIRS(cortex_m, quantized_max_pool2d_nhwc, out, scalar_dsp_mve, load_max_pool2d_nhwc, execute_max_pool2d<kLoops>, \
         w8a8, QuantizedMaxPool2d)                                                                                   \
  OURS(max_pool2d, words, words, load_words_max_pool, execute_words, w8a16, QuantizedMaxPool2d)                      \
  OURS(max_pool2d, float, any_cpu, load_float_max_pool, execute_float_max_pool, f32, FloatMaxPool2d)                 \
  THEIRS(aten, max_pool2d_with_indices, out, any_cpu, load_max_pool_with_indices, execute_float_max_pool, f32,       \
         MaxPool2dWithIndices)
CORMORANT_NAMES(CORMORANT_MAX_POOL2D_KERNELS)

namespace cormorant::ops {

// Channels of 16-bit activations, whose bytes the loops over windows count.
inline constexpr std::int32_t kMostMaxPoolWordsChannels = 32767;

template <class W>
struct QuantizedMaxPool2d {
  static constexpr Overlap kOverlap = Overlap::covered;
  typename W::Tensor input{};
  typename W::IntPair kernel_size{};
  typename W::IntPair stride{};
  typename W::IntPair padding{};
  typename W::IntPair dilation{};
  typename W::Bool ceil_mode{};
  typename W::Int input_zero_point{};
  typename W::Int output_zero_point{};
  typename W::Int activation_min{};
  typename W::Int activation_max{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, kernel_size, stride, padding, dilation, ceil_mode, input_zero_point, output_zero_point,
                   activation_min, activation_max, out)
};

}  // namespace cormorant::ops
