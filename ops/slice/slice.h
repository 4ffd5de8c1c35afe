// SPDX-License-Identifier: Apache-2.0
//
// slice: every step-th entry from start up to end along one dimension; select: one entry, without the dimension. Both
// are PyTorch's operators: bounds may be negative (from the end) or beyond the size (up to it).
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"

#define CORMORANT_SLICE_KERNELS(OURS, THEIRS, FOREIGN)                                                        \
  THEIRS(aten, slice_copy, Tensor_out, scalar_dsp_mve, load_slice_copy, execute_move<kLoops>, any, SliceCopy) \
  THEIRS(aten, select_copy, int_out, scalar_dsp_mve, load_select_copy, execute_move<kLoops>, any, SelectCopy)
CORMORANT_NAMES(CORMORANT_SLICE_KERNELS)

namespace cormorant::ops {

template <class W>
struct SliceCopy {
  static constexpr Overlap kOverlap = Overlap::covered;
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::OptionalInt start{};
  typename W::OptionalInt end{};
  typename W::Int step{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, start, end, step, out)
};

template <class W>
struct SelectCopy {
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::Int index{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, index, out)
};

}  // namespace cormorant::ops
