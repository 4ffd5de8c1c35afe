// SPDX-License-Identifier: Apache-2.0
//
// transpose: the dimensions of a tensor in another order; out's dimension i is the input's dimension perm[i]. The
// permutation is of logical dimensions; either tensor may have any order in memory. ExecuTorch's Cortex-M kernel takes
// up to four dimensions; its portable permute_copy, which is the same operator, any number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fields.h"
#include "ops/load/kernel_list.h"

#define CORMORANT_TRANSPOSE_KERNELS(OURS, THEIRS, FOREIGN)                                               \
  THEIRS(cortex_m, transpose, out, scalar_dsp_mve, load_transpose, execute_move<kLoops>, any, Transpose) \
  THEIRS(aten, permute_copy, out, scalar_dsp_mve, load_permute_copy, execute_move<kLoops>, any, PermuteCopy)
CORMORANT_NAMES(CORMORANT_TRANSPOSE_KERNELS)

namespace cormorant::ops {

template <class W>
struct Transpose {
  typename W::Tensor input{};
  typename W::IntList perm{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, perm, out)
};

template <class W>
struct PermuteCopy {
  typename W::Tensor self{};
  typename W::IntList dims{};  // may be negative
  typename W::Out out{};

  CORMORANT_FIELDS(self, dims, out)
};

inline constexpr std::size_t kExecutorchTransposeRank = 4;

}  // namespace cormorant::ops
