// SPDX-License-Identifier: Apache-2.0
//
// As in PyTorch, the maximum wins where the bounds cross, and a NaN stays one. ExecuTorch's Cortex-M compiler also
// leaves clamps of int8 in its programs, whose bounds are stored integers.
#include "base/float_math.h"
#include "ops/clamp/float.h"
#include "ops/clamp/kernel.h"
#include "ops/load/float_kernel.h"

namespace cormorant::ops {
namespace {

using float_math::kInfinity;

constexpr std::size_t kIsInt8 = 2;  // the parameter after the bounds

// In the same plan, whose pointers then point to bytes.
Error plan_int8_clamp(Call& call, const FloatClamp<TargetWorld>& args) {
  call.require(args.out.dtype == DType::i8, Error::unsupported);
  call.require(args.self.lies_like(args.out), Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<FloatMapPlan>();
  if (plan == nullptr) return call.error();
  const auto level = [](float bound) { return bound > -128 ? (bound < 127 ? bound : 127) : -128; };
  *plan = {.input = args.self.as<const float>(),
           .output = args.out.as<float>(),
           .count = static_cast<std::uint32_t>(args.out.elements()),
           .parameters = {level(args.min.value_or(-128)), level(args.max.value_or(127)), 1}};
  return Error::ok;
}

}  // namespace

Error load_float_clamp(Call& call) {
  FloatClamp<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  if (args.self.dtype == DType::i8) return plan_int8_clamp(call, args);
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

bool is_int8_clamp(const FloatMapPlan& p) { return p.parameters[kIsInt8] != 0; }

void execute_int8_clamp(const FloatMapPlan& p) {
  const auto* const input = reinterpret_cast<const std::int8_t*>(p.input);
  auto* const output = reinterpret_cast<std::int8_t*>(p.output);
  const auto low = static_cast<std::int8_t>(p.parameters[0]);
  const auto high = static_cast<std::int8_t>(p.parameters[1]);
  for (std::uint32_t i = 0; i < p.count; ++i) {
    const std::int8_t above = input[i] < low ? low : input[i];
    output[i] = above > high ? high : above;
  }
}

namespace {
void execute_float_clamp(const void* plan) {
  const auto& map = *static_cast<const FloatMapPlan*>(plan);
  if (is_int8_clamp(map)) return execute_int8_clamp(map);
  run_float_map(plan, [](float x, const float* bounds) {
    const float above = float_math::is_less(x, bounds[0]) ? bounds[0] : x;
    return float_math::is_less(bounds[1], above) ? bounds[1] : above;
  });
}
}  // namespace

CORMORANT_KERNELS(CORMORANT_CLAMP_KERNELS, any_cpu)

}  // namespace cormorant::ops
