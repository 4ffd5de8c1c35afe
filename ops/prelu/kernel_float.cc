// SPDX-License-Identifier: Apache-2.0
#include "ops/float_binary.h"
#include "ops/float_kernel.h"

namespace cormorant::ops::prelu {
namespace {

Error load_float(Call& call) {
  FloatBinary<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  return plan_float_broadcast(call, args.self, args.other, args.out, 0);
}

void execute_float(const void* plan) {
  const auto& p = *static_cast<const FloatBroadcastPlan*>(plan);
  run_float_broadcast(p.tensors, [](float x, float slope) { return x < 0 ? x * slope : x; });
}

}  // namespace
}  // namespace cormorant::ops::prelu

CORMORANT_KERNEL(cormorant_prelu_float, "cormorant::prelu.float", cormorant::ops::prelu::load_float,
                 cormorant::ops::prelu::execute_float)
