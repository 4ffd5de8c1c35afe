// SPDX-License-Identifier: Apache-2.0
//
// Reductions in float over any dimensions, in any memory order: ExecuTorch's portable operators.
#pragma once

namespace cormorant::ops {

template <class W>
struct FloatMean {
  typename W::Tensor self{};
  typename W::OptionalIntList dim{};  // none or empty: all of them
  typename W::Bool keepdim{};
  typename W::OptionalInt dtype{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("dim", dim);
    v("keepdim", keepdim);
    v("dtype", dtype);
    v("out", out);
  }
};

template <class W>
struct FloatExtreme {
  typename W::Tensor self{};
  typename W::IntList dim{};
  typename W::Bool keepdim{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("dim", dim);
    v("keepdim", keepdim);
    v("out", out);
  }
};

}  // namespace cormorant::ops
