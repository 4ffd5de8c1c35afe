// SPDX-License-Identifier: Apache-2.0
//
// Reductions in float over any dimensions, in any memory order: ExecuTorch's portable operators.
#pragma once

#include "base/fields.h"

namespace cormorant::ops {

template <class W>
struct FloatMean {
  typename W::Tensor self{};
  typename W::OptionalIntList dim{};  // none or empty: all of them
  typename W::Bool keepdim{};
  typename W::OptionalInt dtype{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, keepdim, dtype, out)
};

template <class W>
struct FloatExtreme {
  typename W::Tensor self{};
  typename W::IntList dim{};
  typename W::Bool keepdim{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, keepdim, out)
};

}  // namespace cormorant::ops
