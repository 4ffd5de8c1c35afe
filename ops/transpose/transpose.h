// SPDX-License-Identifier: Apache-2.0
//
// transpose: the dimensions of a tensor in another order; out's dimension i is the input's dimension perm[i]. The
// permutation is of logical dimensions; either tensor may have any order in memory.
#pragma once

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

}  // namespace cormorant::ops
