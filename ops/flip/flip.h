// SPDX-License-Identifier: Apache-2.0
//
// flip: the named dimensions read backwards.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "ops/load/kernel_list.h"

#define CORMORANT_FLIP_KERNELS(OURS, THEIRS, FOREIGN) \
  THEIRS(aten, flip, out, scalar_dsp_mve, load_flip, execute_move<kLoops>, any, Flip)
CORMORANT_NAMES(CORMORANT_FLIP_KERNELS)

namespace cormorant::ops {

template <class W>
struct Flip {
  typename W::Tensor self{};
  typename W::IntList dims{};  // may be negative; each at most once
  typename W::Out out{};

  CORMORANT_FIELDS(self, dims, out)
};

}  // namespace cormorant::ops
