// SPDX-License-Identifier: Apache-2.0
//
// One matrix product per batch in float, all of rank 3: ExecuTorch's portable operator.
#pragma once

#include "base/fields.h"

namespace cormorant::ops::batch_matmul {

template <class W>
struct Bmm {
  typename W::Tensor self{};
  typename W::Tensor mat2{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, mat2, out)
};

}  // namespace cormorant::ops::batch_matmul
