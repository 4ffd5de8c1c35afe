// SPDX-License-Identifier: Apache-2.0
//
// As in PyTorch, the maximum wins where the bounds cross, and a NaN stays one.
#include "base/float_math.h"
#include "ops/clamp/float.h"
#include "ops/float_kernel.h"

namespace cormorant::ops {
namespace {

using float_math::kInfinity;

Error load_float_clamp(Call& call) {
  FloatClamp<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  return plan_float_map(call, args.self, args.out, {args.min.value_or(-kInfinity), args.max.value_or(kInfinity), 0});
}

Error load_hardtanh(Call& call) {
  FloatHardtanh<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  return plan_float_map(call, args.self, args.out, {args.min_val.value, args.max_val.value, 0});
}

Error load_relu(Call& call) {
  FloatRelu<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  return plan_float_map(call, args.self, args.out, {0, kInfinity, 0});
}

void execute_float_clamp(const void* plan) {
  run_float_map(plan, [](float x, const float* bounds) {
    const float above = x < bounds[0] ? bounds[0] : x;
    return above > bounds[1] ? bounds[1] : above;
  });
}

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(aten_clamp_out_scalar, "aten::clamp.out", cormorant::ops::load_float_clamp,
                 cormorant::ops::execute_float_clamp)
CORMORANT_KERNEL(aten_hardtanh_out_scalar, "aten::hardtanh.out", cormorant::ops::load_hardtanh,
                 cormorant::ops::execute_float_clamp)
CORMORANT_KERNEL(aten_relu_out_scalar, "aten::relu.out", cormorant::ops::load_relu, cormorant::ops::execute_float_clamp)
