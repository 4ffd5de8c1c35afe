// SPDX-License-Identifier: Apache-2.0
//
// expand: dimensions of size 1 repeated, and new dimensions in front, as broadcasting does it.
#pragma once

#include <cstdint>

namespace cormorant::ops {

template <class W>
struct ExpandCopy {
  static constexpr const char* kName = "aten::expand_copy.out";
  typename W::Tensor self{};
  typename W::IntList size{};  // -1: as it is
  typename W::Bool implicit{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("size", size);
    v("implicit", implicit);
    v("out", out);
  }
};

}  // namespace cormorant::ops
