// SPDX-License-Identifier: Apache-2.0
//
// As in PyTorch, a NaN on either side is the result.
#include "base/float_math.h"
#include "ops/load/float_binary.h"
#include "ops/load/float_kernel.h"
#include "ops/minimum_maximum/minimum_maximum.h"

namespace cormorant::ops::minimum_maximum {
namespace {

using float_math::is_less;
using float_math::is_nan;

Error load_float(Call& call) {
  FloatBinary<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  return plan_float_broadcast(call, args.self, args.other, args.out, 0);
}

void execute_minimum(const void* plan) {
  const auto& p = *static_cast<const FloatBroadcastPlan*>(plan);
  run_float_broadcast(p.tensors, [](float x, float y) { return is_less(x, y) || is_nan(x) ? x : y; });
}

void execute_maximum(const void* plan) {
  const auto& p = *static_cast<const FloatBroadcastPlan*>(plan);
  run_float_broadcast(p.tensors, [](float x, float y) { return is_less(y, x) || is_nan(x) ? x : y; });
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_MINIMUM_MAXIMUM_KERNELS, any_cpu)

}  // namespace cormorant::ops::minimum_maximum
