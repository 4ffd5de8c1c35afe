// SPDX-License-Identifier: Apache-2.0
//
// Softmax and its logarithm in float over any dimension, in any memory order: ExecuTorch's portable operators.
#pragma once

#include "base/fields.h"
#include "base/overlap.h"

namespace cormorant::ops::softmax {

template <class W>
struct FloatSoftmax {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::Bool half_to_float{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, half_to_float, out)
};

}  // namespace cormorant::ops::softmax
