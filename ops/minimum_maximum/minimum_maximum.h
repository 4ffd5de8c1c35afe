// SPDX-License-Identifier: Apache-2.0
//
// The smaller or the larger of two elements. All three tensors share their quantization parameters, so that bytes are
// compared as they are.
#pragma once

#include "base/overlap.h"

namespace cormorant::ops::minimum_maximum {

template <class W>
struct Minimum {
  static constexpr const char* kName = "cortex_m::minimum.out";
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Tensor other{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("other", other);
    v("out", out);
  }
};

// The same under the other name.
template <class W>
struct Maximum : Minimum<W> {
  static constexpr const char* kName = "cortex_m::maximum.out";
  static constexpr Overlap kOverlap = Overlap::in_place;
};

}  // namespace cormorant::ops::minimum_maximum
