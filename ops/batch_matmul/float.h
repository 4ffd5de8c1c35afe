// SPDX-License-Identifier: Apache-2.0
//
// One matrix product per batch in float, all of rank 3: ExecuTorch's portable operator.
#pragma once

namespace cormorant::ops::batch_matmul {

template <class W>
struct Bmm {
  typename W::Tensor self{};
  typename W::Tensor mat2{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("mat2", mat2);
    v("out", out);
  }
};

}  // namespace cormorant::ops::batch_matmul
