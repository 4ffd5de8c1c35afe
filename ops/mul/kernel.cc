// SPDX-License-Identifier: Apache-2.0
#include "ops/mul/kernel.h"

#include <utility>

#include "ops/load/broadcast.h"

namespace cormorant::ops::mul {
namespace {

bool is_int8(std::int32_t value) { return value >= -128 && value <= 127; }

// Kept out of its caller: together they would have one frame, as large as both, below the broadcast's.
[[gnu::noinline]] Error store(Call& call, const QuantizedMul<TargetWorld>& a, std::int32_t min, std::int32_t max,
                              LoadedBroadcast& loaded) {
  Plan p{};
  p.multiplier = a.output_multiplier;
  p.self_zero_point = a.self_zero_point;
  p.other_zero_point = a.other_zero_point;
  p.output_zero_point = static_cast<std::int8_t>(a.output_zero_point);
  p.shift = static_cast<std::int8_t>(a.output_shift);
  p.activation_min = static_cast<std::int8_t>(min);
  p.activation_max = static_cast<std::int8_t>(max);
  if (swap_repeating(loaded)) std::swap(p.self_zero_point, p.other_zero_point);
  return store_plan(call, p, loaded);
}

Error load_product(Call& call, const QuantizedMul<TargetWorld>& a, std::int32_t min, std::int32_t max) {
  LoadedBroadcast loaded;
  read_int8_broadcast(call, a.self, a.other, a.out, loaded);
  call.require(is_computable(a.self_zero_point, a.other_zero_point), Error::bad_value);
  call.require(is_int8(a.output_zero_point) && is_int8(min) && is_int8(max), Error::bad_value);
  call.require(a.output_multiplier >= 0 && a.output_shift >= -31 && a.output_shift <= 31, Error::bad_value);
  return store(call, a, min, max, loaded);
}

}  // namespace

Error load(Call& call) {
  QuantizedMul<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  return load_product(call, args, -128, 127);
}

Error load_clamped(Call& call) {
  ClampedMul<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  return load_product(call, args, args.activation_min, args.activation_max);
}

}  // namespace cormorant::ops::mul
