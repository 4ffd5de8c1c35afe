// SPDX-License-Identifier: Apache-2.0
//
// transpose: the dimensions of a tensor in another order; out's dimension i is the input's dimension perm[i]. The
// permutation is of logical dimensions; either tensor may have any order in memory. ExecuTorch's Cortex-M kernel takes
// up to four dimensions; its portable permute_copy, which is the same operator, any number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cormorant::ops {

template <class W>
struct Transpose {
  static constexpr const char* kName = "cortex_m::transpose.out";
  typename W::Tensor input{};
  typename W::IntList perm{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("input", input);
    v("perm", perm);
    v("out", out);
  }
};

template <class W>
struct PermuteCopy {
  static constexpr const char* kName = "aten::permute_copy.out";
  typename W::Tensor self{};
  typename W::IntList dims{};  // may be negative
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("dims", dims);
    v("out", out);
  }
};

inline constexpr std::size_t kExecutorchTransposeRank = 4;

}  // namespace cormorant::ops
