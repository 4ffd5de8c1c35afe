// SPDX-License-Identifier: Apache-2.0
//
// split: pieces of a tensor along one dimension, all by one instruction with a list of outs. Our own compiler makes
// slices instead; this is for ExecuTorch's files. Signatures of the target's world only: no node of a graph has them.
#pragma once

#include "base/fields.h"
#include "ops/load/kernel_list.h"
#include "runtime/kernel.h"

#define CORMORANT_SPLIT_KERNELS(OURS, THEIRS, FOREIGN)                                                              \
  FOREIGN(aten, split_with_sizes_copy, out, scalar_dsp_mve, load_split_with_sizes_copy, execute_split<kLoops>, any) \
  FOREIGN(aten, split_copy, Tensor_out, scalar_dsp_mve, load_split_copy, execute_split<kLoops>, any)                \
  FOREIGN(aten, unbind_copy, int_out, scalar_dsp_mve, load_unbind_copy, execute_split<kLoops>, any)
CORMORANT_NAMES(CORMORANT_SPLIT_KERNELS)

namespace cormorant::ops {

struct SplitWithSizesCopy {
  Tensor self{};
  IntList split_sizes{};  // the outs say them again
  std::int32_t dim{};
  TensorList out{};
  TensorList results{};  // the same tensors, as ExecuTorch's compiler appends them: in a list of its own

  CORMORANT_FIELDS(self, split_sizes, dim, out, results)
};

struct SplitCopy {
  Tensor self{};
  std::int32_t split_size{};
  std::int32_t dim{};
  TensorList out{};
  TensorList results{};  // the same tensors, as ExecuTorch's compiler appends them: in a list of its own

  CORMORANT_FIELDS(self, split_size, dim, out, results)
};

struct UnbindCopy {
  Tensor self{};
  std::int32_t dim{};
  TensorList out{};
  TensorList results{};

  CORMORANT_FIELDS(self, dim, out, results)
};

}  // namespace cormorant::ops
