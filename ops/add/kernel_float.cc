// SPDX-License-Identifier: Apache-2.0
#include "ops/add/add.h"
#include "ops/add/float.h"
#include "ops/add/kernel.h"
#include "ops/load/float_kernel.h"

namespace cormorant::ops::add {

template <int sign>
Error load_float(Call& call) {
  FloatAdd<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  return plan_float_broadcast(call, args.self, args.other, args.out, sign < 0 ? -args.alpha.value : args.alpha.value);
}

template Error load_float<1>(Call& call);
template Error load_float<-1>(Call& call);

namespace {
void execute_float(const void* plan) {
  const auto& p = *static_cast<const FloatBroadcastPlan*>(plan);
  const float alpha = p.parameter;
  run_float_broadcast(p.tensors, [=](float x, float y) { return x + alpha * y; });
}
}  // namespace

CORMORANT_KERNELS(CORMORANT_ADD_KERNELS, any_cpu)

}  // namespace cormorant::ops::add
