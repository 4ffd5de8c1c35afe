// SPDX-License-Identifier: Apache-2.0
//
// The signature of ExecuTorch's portable operators on two tensors: aten::mul.out, aten::div.out, aten::minimum.out …
#pragma once

#include "base/fields.h"
#include "base/overlap.h"

namespace cormorant::ops {

template <class W>
struct FloatBinary {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Tensor other{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, other, out)
};

}  // namespace cormorant::ops
