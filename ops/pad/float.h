// SPDX-License-Identifier: Apache-2.0
//
// Padding with a number in float, in logical order: ExecuTorch's portable operator. `pad` is PyTorch's list, last
// dimension first, before and after; negative entries cut off. The runtime reads lists of six entries.
#pragma once

#include "base/fields.h"

namespace cormorant::ops {

template <class W>
struct ConstantPad {
  typename W::Tensor self{};
  typename W::IntList pad{};
  typename W::Scalar value{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, pad, value, out)
};

inline constexpr int kPaddedDims = 3;

}  // namespace cormorant::ops
