// SPDX-License-Identifier: Apache-2.0
//
// cat: tensors one after another along one dimension. All have the same memory order.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "ops/load/kernel_list.h"

#define CORMORANT_CAT_KERNELS(OURS, THEIRS, FOREIGN)                              \
  THEIRS(aten, cat, out, scalar_dsp_mve, load_cat, execute_cat<kLoops>, any, Cat) \
  FOREIGN(aten, stack, out, scalar_dsp_mve, load_stack, execute_cat<kLoops>, any)
CORMORANT_NAMES(CORMORANT_CAT_KERNELS)

namespace cormorant::ops {

// How many bytes after the beginning of the output a tensor is at least, if it is in its memory: there each of its
// chunks is at or after the place to which it is copied, and the last one where it belongs. `offset` is that of its
// chunks in a row of the output.
template <class Size>
constexpr Size cat_distance(Size rows, Size row_bytes, Size bytes, Size offset) {
  return rows == 0 ? 0 : (rows - 1) * (row_bytes - bytes) + offset;
}

template <class W>
struct Cat {
  typename W::TensorList tensors{};
  typename W::Int dim{};
  typename W::Out out{};

  CORMORANT_FIELDS(tensors, dim, out)
};

}  // namespace cormorant::ops
