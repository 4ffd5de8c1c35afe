// SPDX-License-Identifier: Apache-2.0
//
// out = self + alpha · other and self − alpha · other in float: ExecuTorch's portable operators.
#pragma once

#include "base/overlap.h"

namespace cormorant::ops::add {

template <class W>
struct FloatAdd {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Tensor other{};
  typename W::Scalar alpha{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("other", other);
    v("alpha", alpha);
    v("out", out);
  }
};

}  // namespace cormorant::ops::add
