// SPDX-License-Identifier: Apache-2.0
//
// Copies, as ExecuTorch's compiler writes them where ours shares the memory: the same elements in the same shape,
// perhaps in another memory order, or with dimensions of size 1 inserted or removed. No node of our own compiler
// becomes one; they are here for files of other compilers.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "ops/load/kernel_list.h"

#define CORMORANT_COPY_KERNELS(OURS, THEIRS, FOREIGN)                                                            \
  THEIRS(aten, alias_copy, out, scalar_dsp_mve, load_plain_copy, execute_move<kLoops>, any, PlainCopy)           \
  THEIRS(aten, detach_copy, out, scalar_dsp_mve, load_plain_copy, execute_move<kLoops>, any, PlainCopy)          \
  THEIRS(aten, lift_fresh_copy, out, scalar_dsp_mve, load_plain_copy, execute_move<kLoops>, any, PlainCopy)      \
  THEIRS(aten, clone, out, scalar_dsp_mve, load_clone, execute_move<kLoops>, any, Clone)                         \
  THEIRS(aten, _to_copy, out, scalar_dsp_mve, load_to_copy, execute_move<kLoops>, any, ToCopy)                   \
  THEIRS(dim_order_ops, _clone_dim_order, out, scalar_dsp_mve, load_dim_order_copy, execute_move<kLoops>, any,   \
         DimOrderCopy)                                                                                           \
  THEIRS(dim_order_ops, _to_dim_order_copy, out, scalar_dsp_mve, load_dim_order_copy, execute_move<kLoops>, any, \
         DimOrderCopy)                                                                                           \
  THEIRS(aten, unsqueeze_copy, out, scalar_dsp_mve, load_squeeze_copy, execute_move<kLoops>, any, SqueezeCopy)   \
  THEIRS(aten, squeeze_copy, dim_out, scalar_dsp_mve, load_squeeze_copy, execute_move<kLoops>, any, SqueezeCopy) \
  THEIRS(aten, squeeze_copy, dims_out, scalar_dsp_mve, load_squeeze_dims_copy, execute_move<kLoops>, any,        \
         SqueezeDimsCopy)
CORMORANT_NAMES(CORMORANT_COPY_KERNELS)

namespace cormorant::ops {

template <class W>
struct PlainCopy {
  typename W::Tensor self{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, out)
};

template <class W>
struct Clone {
  typename W::Tensor self{};
  typename W::OptionalInt memory_format{};  // says what out's dim order says
  typename W::Out out{};

  CORMORANT_FIELDS(self, memory_format, out)
};

template <class W>
struct ToCopy {
  typename W::Tensor self{};
  typename W::Bool non_blocking{};
  typename W::OptionalInt memory_format{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, non_blocking, memory_format, out)
};

template <class W>
struct DimOrderCopy {
  typename W::Tensor self{};
  typename W::Bool non_blocking{};
  typename W::OptionalIntList dim_order{};  // out has it too
  typename W::Out out{};

  CORMORANT_FIELDS(self, non_blocking, dim_order, out)
};

// unsqueeze_copy, and squeeze_copy of one dimension.
template <class W>
struct SqueezeCopy {
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, out)
};

template <class W>
struct SqueezeDimsCopy {
  typename W::Tensor self{};
  typename W::IntList dim{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, out)
};

}  // namespace cormorant::ops
