// SPDX-License-Identifier: Apache-2.0
//
// Clamps in float: ExecuTorch's portable operator, which relu and hardtanh become here. Programs of other compilers
// have those too.
#pragma once

#include "base/fields.h"
#include "base/overlap.h"

namespace cormorant::ops {

template <class W>
struct FloatClamp {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::OptionalScalar min{};
  typename W::OptionalScalar max{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, min, max, out)
};

template <class W>
struct FloatHardtanh {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Scalar min_val{};
  typename W::Scalar max_val{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, min_val, max_val, out)
};

template <class W>
struct FloatRelu {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, out)
};

}  // namespace cormorant::ops
