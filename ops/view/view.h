// SPDX-License-Identifier: Apache-2.0
//
// view on the program side: ExecuTorch's compiler writes copies where ours shares the memory.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "ops/load/kernel_list.h"

#define CORMORANT_VIEW_KERNELS(OURS, THEIRS, FOREIGN) \
  THEIRS(aten, view_copy, out, scalar_dsp_mve, load_view_copy, execute_view_copy<kLoops>, any, ViewCopy)
CORMORANT_NAMES(CORMORANT_VIEW_KERNELS)

namespace cormorant::ops {

template <class W>
struct ViewCopy {
  typename W::Tensor self{};
  typename W::IntList size{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, size, out)
};

}  // namespace cormorant::ops
