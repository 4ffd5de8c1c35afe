// SPDX-License-Identifier: Apache-2.0
//
// Along one dimension, each result is a weighted sum of a few elements at positions given by a table: resizing, and
// means over windows of unequal size. Two or three dimensions are processed one after another.
//
// In int8 the weights of a result add up to 1, so that scale and zero point are the same before and after; they have 14
// fractional bits. Sums are rounded to the nearest integer, ties up.
#pragma once

#include "base/fields.h"
#include "ops/load/kernel_list.h"

// clang-format off
#define CORMORANT_TAPS_KERNELS(OURS, THEIRS, FOREIGN) \
  OURS(taps, float, any_cpu, load_taps, execute_taps, f32, Taps) \
  OURS(taps, int8, any_cpu, load_int8_taps, execute_int8_taps, w8a8, Taps)
// clang-format on
CORMORANT_NAMES(CORMORANT_TAPS_KERNELS)

namespace cormorant::ops::taps {

inline constexpr int kWeightBits = 14;  // fractional

template <class W>
struct Taps {
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::Tensor places{};   // [results, taps]
  typename W::Tensor weights{};  // [results, taps]
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, places, weights, out)
};

}  // namespace cormorant::ops::taps
