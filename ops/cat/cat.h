// SPDX-License-Identifier: Apache-2.0
//
// cat: tensors one after another along one dimension. All have the same memory order.
#pragma once

#include <cstdint>

#include "ops/kernel_list.h"

#define CORMORANT_CAT_KERNELS(OURS, THEIRS, FOREIGN)                              \
  THEIRS(aten, cat, out, scalar_dsp_mve, load_cat, execute_cat<kLoops>, any, Cat) \
  FOREIGN(aten, stack, out, scalar_dsp_mve, load_stack, execute_cat<kLoops>, any)
CORMORANT_NAMES(CORMORANT_CAT_KERNELS)

namespace cormorant::ops {

template <class W>
struct Cat {
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
