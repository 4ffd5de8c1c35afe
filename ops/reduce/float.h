// SPDX-License-Identifier: Apache-2.0
//
// Reductions in float over any dimensions, in any memory order: ExecuTorch's portable operators.
#pragma once

namespace cormorant::ops {

template <class W>
struct FloatMean {
  static constexpr const char* kName = "aten::mean.out";
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

inline constexpr const char* kFloatSum = "aten::sum.IntList_out";

template <class W>
struct FloatExtreme {
  static constexpr const char* kName = "aten::amax.out";
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

inline constexpr const char* kFloatAmin = "aten::amin.out";

}  // namespace cormorant::ops
