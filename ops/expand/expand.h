// SPDX-License-Identifier: Apache-2.0
//
// expand: dimensions of size 1 repeated, and new dimensions in front, as broadcasting does it.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "ops/load/kernel_list.h"

#define CORMORANT_EXPAND_KERNELS(OURS, THEIRS, FOREIGN)                                                   \
  THEIRS(aten, expand_copy, out, scalar_dsp_mve, load_expand_copy, execute_move<kLoops>, any, ExpandCopy) \
  THEIRS(aten, repeat, out, scalar_dsp_mve, load_repeat, execute_move<kLoops>, any, Repeat)
CORMORANT_NAMES(CORMORANT_EXPAND_KERNELS)

namespace cormorant::ops {

template <class W>
struct ExpandCopy {
  typename W::Tensor self{};
  typename W::IntList size{};  // -1: as it is
  typename W::Bool implicit{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, size, implicit, out)
};

// Each dimension that often, one copy after another, and new dimensions in front.
template <class W>
struct Repeat {
  typename W::Tensor self{};
  typename W::IntList repeats{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, repeats, out)
};

}  // namespace cormorant::ops
