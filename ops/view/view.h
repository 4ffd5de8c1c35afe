// SPDX-License-Identifier: Apache-2.0
//
// view on the program side: ExecuTorch's compiler writes copies where ours shares the memory.
#pragma once

#include <cstdint>

namespace cormorant::ops {

template <class W>
struct ViewCopy {
  static constexpr const char* kName = "aten::view_copy.out";
  typename W::Tensor self{};
  typename W::IntList size{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("size", size);
    v("out", out);
  }
};

}  // namespace cormorant::ops
