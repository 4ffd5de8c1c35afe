// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose plan is a pure function of their arguments: the target's load, and the evaluation on the host, which
// runs the very same code (ops/host/evaluate_planned.h). All tensors are contiguous in logical order.
#pragma once

#include "base/element.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

// All checks of a call, and its plan: nothing but the arguments counts, and only the plan is written. What needs no
// program to be called, by the compiler or by a test.
template <template <class> class S, class Plan>
using PlanFunction = Error (*)(const S<TargetWorld>&, Plan&);

template <template <class> class S, class Plan, PlanFunction<S, Plan> kPlan>
Error load_planned(Call& call) {
  S<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  auto* const plan = call.make_plan<Plan>();
  if (plan == nullptr) return call.error();
  call.fail(kPlan(args, *plan));
  return call.error();
}

// The dimension that an argument names, from the end if negative; −1 if there is none. A number has one dimension.
inline std::int32_t dim_of(std::int32_t dim, const Tensor& tensor) {
  const auto rank = static_cast<std::int32_t>(tensor.rank == 0 ? 1 : tensor.rank);
  if (dim < -rank || dim >= rank) return -1;
  return dim < 0 ? dim + rank : dim;
}
inline std::uint32_t size_along(const Tensor& tensor, std::int32_t dim) {
  return tensor.rank == 0 ? 1 : static_cast<std::uint32_t>(tensor.sizes[dim]);
}

// A tensor as three dimensions: those before one of them, itself, and those after it.
struct Around {
  std::uint32_t outer = 1, size = 1, inner = 1;
};
inline Around around(const Tensor& tensor, std::int32_t dim) {
  Around result;
  for (std::int32_t i = 0; i < tensor.rank; ++i) {
    const auto size = static_cast<std::uint32_t>(tensor.sizes[i]);
    (i < dim ? result.outer : i == dim ? result.size : result.inner) *= size;
  }
  return result;
}

inline bool same_sizes(const Tensor& a, const Tensor& b) {
  if (a.rank != b.rank) return false;
  for (std::size_t i = 0; i < a.rank; ++i) {
    if (a.sizes[i] != b.sizes[i]) return false;
  }
  return true;
}

}  // namespace cormorant::ops
