// SPDX-License-Identifier: Apache-2.0
#include "ops/div/div.h"
#include "ops/load/float_binary.h"
#include "ops/load/float_kernel.h"

namespace cormorant::ops::div {
namespace {

Error load_float(Call& call) {
  FloatBinary<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  return plan_float_broadcast(call, args.self, args.other, args.out, 0);
}

void execute_float(const void* plan) {
  const auto& p = *static_cast<const FloatBroadcastPlan*>(plan);
  run_float_broadcast(p.tensors, [](float x, float y) { return x / y; });
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_DIV_KERNELS, any_cpu)

}  // namespace cormorant::ops::div
