// SPDX-License-Identifier: Apache-2.0
//
// The opposite of a gather: out is self, and then out[i, index[i, j, k], k] becomes, or is combined with, src[i, j, k],
// in the order of src. An index outside the dimension is ignored (PyTorch refuses it).
#pragma once

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"

// clang-format off
#define CORMORANT_SCATTER_KERNELS(OURS, THEIRS, FOREIGN) \
  THEIRS(aten, scatter, src_out, any_cpu, load_scatter, execute_scatter<Set>, any, Scatter) \
  THEIRS(aten, scatter_add, out, any_cpu, load_scatter, execute_scatter<Add>, numbers, Scatter) \
  OURS(scatter_prod, any, any_cpu, load_scatter, execute_scatter<Product>, numbers, Scatter) \
  OURS(scatter_amax, any, any_cpu, load_scatter, execute_scatter<Largest>, numbers, Scatter) \
  OURS(scatter_amin, any, any_cpu, load_scatter, execute_scatter<Smallest>, numbers, Scatter)
// clang-format on
CORMORANT_NAMES(CORMORANT_SCATTER_KERNELS)

namespace cormorant::ops::scatter {

template <class W>
struct Scatter {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::Tensor index{};
  typename W::Tensor src{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, index, src, out)
};

}  // namespace cormorant::ops::scatter
