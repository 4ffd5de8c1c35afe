// SPDX-License-Identifier: Apache-2.0
//
// out = self + alpha · other and self − alpha · other in float: ExecuTorch's portable operators.
#pragma once

#include "base/fields.h"
#include "base/overlap.h"

namespace cormorant::ops::add {

template <class W>
struct FloatAdd {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Tensor other{};
  typename W::Scalar alpha{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, other, alpha, out)
};

}  // namespace cormorant::ops::add
