// SPDX-License-Identifier: Apache-2.0
//
// cat: tensors one behind the other along one dimension. All lie in memory in the same order.
#pragma once

#include <cstdint>

namespace cormorant::ops {

template <class W>
struct Cat {
  static constexpr const char* kName = "aten::cat.out";
  typename W::TensorList tensors{};
  typename W::Int dim{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("tensors", tensors);
    v("dim", dim);
    v("out", out);
  }
};

}  // namespace cormorant::ops
