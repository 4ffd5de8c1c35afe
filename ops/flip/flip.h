// SPDX-License-Identifier: Apache-2.0
//
// flip: the named dimensions read backwards.
#pragma once

#include <cstdint>

namespace cormorant::ops {

template <class W>
struct Flip {
  static constexpr const char* kName = "aten::flip.out";
  typename W::Tensor self{};
  typename W::IntList dims{};  // may be negative; each at most once
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("dims", dims);
    v("out", out);
  }
};

}  // namespace cormorant::ops
