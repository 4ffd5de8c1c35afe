// SPDX-License-Identifier: Apache-2.0
//
// Elements of a tensor at indices held by another tensor, along one dimension. PyTorch's other forms (index, take,
// embedding …) become these two. An index outside the dimension reads the nearest element inside (PyTorch refuses it):
// no data leads a kernel out of a tensor.
#pragma once

#include "base/fields.h"
#include "ops/load/kernel_list.h"

// clang-format off
#define CORMORANT_GATHER_KERNELS(OURS, THEIRS, FOREIGN) \
  THEIRS(aten, index_select, out, any_cpu, load_select, execute_select, any, IndexSelect) \
  THEIRS(aten, gather, out, any_cpu, load_gather, execute_gather, any, Gather)
// clang-format on
CORMORANT_NAMES(CORMORANT_GATHER_KERNELS)

namespace cormorant::ops::gather {

// out[i, j, k] = self[i, index[j], k]
template <class W>
struct IndexSelect {
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::Tensor index{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, index, out)
};

// out[i, j, k] = self[i, index[i, j, k], k]
template <class W>
struct Gather {
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::Tensor index{};
  typename W::Bool sparse_grad{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, index, sparse_grad, out)
};

}  // namespace cormorant::ops::gather
