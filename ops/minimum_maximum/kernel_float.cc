// SPDX-License-Identifier: Apache-2.0
//
// As in PyTorch, a NaN on either side is the result.
#include "ops/float_binary.h"
#include "ops/float_kernel.h"

namespace cormorant::ops::minimum_maximum {
namespace {

Error load_float(Call& call) {
  FloatBinary<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  return plan_float_broadcast(call, args.self, args.other, args.out, 0);
}

void execute_minimum(const void* plan) {
  const auto& p = *static_cast<const FloatBroadcastPlan*>(plan);
  run_float_broadcast(p.tensors, [](float x, float y) { return x < y || x != x ? x : y; });
}

void execute_maximum(const void* plan) {
  const auto& p = *static_cast<const FloatBroadcastPlan*>(plan);
  run_float_broadcast(p.tensors, [](float x, float y) { return x > y || x != x ? x : y; });
}

}  // namespace
}  // namespace cormorant::ops::minimum_maximum

CORMORANT_KERNEL(aten_minimum_out_scalar, "aten::minimum.out", cormorant::ops::minimum_maximum::load_float,
                 cormorant::ops::minimum_maximum::execute_minimum)
CORMORANT_KERNEL(aten_maximum_out_scalar, "aten::maximum.out", cormorant::ops::minimum_maximum::load_float,
                 cormorant::ops::minimum_maximum::execute_maximum)
