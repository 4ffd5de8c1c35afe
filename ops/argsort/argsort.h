// SPDX-License-Identifier: Apache-2.0
//
// The order of the elements along a dimension: the indices that would sort them, equal ones in their original order. A
// NaN is larger than anything. Sorted values, the largest few and a median are elements gathered by it.
#pragma once

#include "base/fields.h"
#include "ops/load/kernel_list.h"

// clang-format off
#define CORMORANT_ARGSORT_KERNELS(OURS, THEIRS, FOREIGN) \
  OURS(argsort, any, any_cpu, load_argsort, execute_argsort, ordered, Argsort) \
  OURS(searchsorted, any, any_cpu, load_search, execute_search, numbers, SearchSorted)
// clang-format on
CORMORANT_NAMES(CORMORANT_ARGSORT_KERNELS)

namespace cormorant::ops::argsort {

template <class W>
struct Argsort {
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::Bool descending{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, descending, out)
};

// For each of `values` (whose rows, if it has any, correspond to those of `sorted`) the first position in a sorted row
// where it could be inserted: before its equals, or with `right` after them.
template <class W>
struct SearchSorted {
  typename W::Tensor sorted{};
  typename W::Tensor values{};
  typename W::Bool right{};
  typename W::Out out{};

  CORMORANT_FIELDS(sorted, values, right, out)
};

}  // namespace cormorant::ops::argsort
