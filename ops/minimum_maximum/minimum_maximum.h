// SPDX-License-Identifier: Apache-2.0
//
// The smaller or the larger of two elements. All three tensors share their quantization parameters, so bytes are
// compared directly.
#pragma once

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"

#define CORMORANT_MINIMUM_MAXIMUM_KERNELS(OURS, THEIRS, FOREIGN)                              \
  THEIRS(cortex_m, minimum, out, scalar_dsp_mve, load, execute_minimum, w8a8, MinimumMaximum) \
  THEIRS(cortex_m, maximum, out, scalar_dsp_mve, load, execute_maximum, w8a8, MinimumMaximum) \
  OURS(minimum, words, words, load_words, execute_words<false>, w8a16, MinimumMaximum)        \
  OURS(maximum, words, words, load_words, execute_words<true>, w8a16, MinimumMaximum)         \
  THEIRS(aten, minimum, out, any_cpu, load_float, execute_minimum, f32, FloatBinary)          \
  THEIRS(aten, maximum, out, any_cpu, load_float, execute_maximum, f32, FloatBinary)
CORMORANT_NAMES(CORMORANT_MINIMUM_MAXIMUM_KERNELS)

namespace cormorant::ops::minimum_maximum {

template <class W>
struct MinimumMaximum {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Tensor other{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, other, out)
};

}  // namespace cormorant::ops::minimum_maximum
