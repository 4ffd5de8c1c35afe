// SPDX-License-Identifier: Apache-2.0
//
// Clamps in float: ExecuTorch's portable operator, which relu and hardtanh become here. Programs of other compilers
// have those too.
#pragma once

#include "base/overlap.h"

namespace cormorant::ops {

template <class W>
struct FloatClamp {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::OptionalScalar min{};
  typename W::OptionalScalar max{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("min", min);
    v("max", max);
    v("out", out);
  }
};

template <class W>
struct FloatHardtanh {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Scalar min_val{};
  typename W::Scalar max_val{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("min_val", min_val);
    v("max_val", max_val);
    v("out", out);
  }
};

template <class W>
struct FloatRelu {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("out", out);
  }
};

}  // namespace cormorant::ops
