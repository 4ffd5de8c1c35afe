// SPDX-License-Identifier: Apache-2.0
//
// Reductions that the folder reduce lacks: of integers and booleans, products, and the index of the largest.
#pragma once

#include "base/fields.h"
#include "ops/load/kernel_list.h"

// clang-format off
#define CORMORANT_REDUCE_ANY_KERNELS(OURS, THEIRS, FOREIGN) \
  OURS(sum, any, any_cpu, load_reduce, execute_reduce<Sum>, numbers, Reduce) \
  OURS(prod, any, any_cpu, load_reduce, execute_reduce<Product>, numbers, Reduce) \
  OURS(amax, any, any_cpu, load_reduce, execute_reduce<Largest>, numbers, Reduce) \
  OURS(amin, any, any_cpu, load_reduce, execute_reduce<Smallest>, numbers, Reduce) \
  THEIRS(aten, argmax, out, any_cpu, load_arg, execute_arg<1>, ordered, ArgReduce) \
  THEIRS(aten, argmin, out, any_cpu, load_arg, execute_arg<-1>, ordered, ArgReduce)
// clang-format on
CORMORANT_NAMES(CORMORANT_REDUCE_ANY_KERNELS)

namespace cormorant::ops::reduce_any {

// The result keeps the reduced dimensions, with size 1.
template <class W>
struct Reduce {
  typename W::Tensor self{};
  typename W::IntList dim{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, out)
};

// Over all elements if dim is none. The first of equals; a NaN is both the largest and the smallest.
template <class W>
struct ArgReduce {
  typename W::Tensor self{};
  typename W::OptionalInt dim{};
  typename W::Bool keepdim{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, keepdim, out)
};

}  // namespace cormorant::ops::reduce_any
