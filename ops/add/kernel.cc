// SPDX-License-Identifier: Apache-2.0
#include "ops/add/kernel.h"

#include <utility>

#include "ops/load/broadcast.h"

namespace cormorant::ops::add {
namespace {

bool is_int8(std::int32_t value) { return value >= -128 && value <= 127; }

Rescale rescale(Call& call, std::int32_t zero_point, std::int32_t multiplier, std::int32_t shift) {
  call.require(is_int8(zero_point), Error::bad_value);
  // The kernels multiply without saturation, which only INT32_MIN would need.
  call.require(shift >= -31 && shift <= 31 && multiplier != INT32_MIN, Error::bad_value);
  return {multiplier, static_cast<std::int16_t>(zero_point), static_cast<std::int8_t>(shift)};
}

// Kept out of the load functions, whose stack frames are below the reading of arguments and shapes.
[[gnu::noinline]] Error plan(Call& call, const QuantizedAdd<TargetWorld>& a, LoadedBroadcast& loaded) {
  const bool swap = swap_repeating(loaded);
  Plan p{};
  p.self = rescale(call, a.self_zero_point, a.self_multiplier, a.self_shift);
  p.other = rescale(call, a.other_zero_point, a.other_multiplier, a.other_shift);
  p.output = rescale(call, a.output_zero_point, a.output_multiplier, a.output_shift);
  if (swap) std::swap(p.self, p.other);
  call.require(is_int8(a.activation_min) && is_int8(a.activation_max), Error::bad_value);
  p.activation_min = static_cast<std::int8_t>(a.activation_min);
  p.activation_max = static_cast<std::int8_t>(a.activation_max);
  return store_plan(call, p, loaded);
}

[[gnu::noinline]] Error plan_factor(Call& call, const FactorAdd<TargetWorld>& a, LoadedBroadcast& loaded) {
  const bool swap = swap_repeating(loaded);
  FactorPlan p{};
  call.require(is_valid({a.self_factor, a.other_factor, a.offset, a.shift}), Error::bad_value);
  call.require(is_int8(a.activation_min) && is_int8(a.activation_max), Error::bad_value);
  p.self_factor = swap ? a.other_factor : a.self_factor;
  p.other_factor = swap ? a.self_factor : a.other_factor;
  p.offset = a.offset;
  p.shift = static_cast<std::uint8_t>(a.shift);
  p.activation_min = static_cast<std::int8_t>(a.activation_min);
  p.activation_max = static_cast<std::int8_t>(a.activation_max);
  return store_plan(call, p, loaded);
}

}  // namespace

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
[[gnu::noinline]] static Error plan_add(Call& call, QuantizedAdd<TargetWorld>& a) {
  LoadedBroadcast loaded;
  read_int8_broadcast(call, a.self, a.other, a.out, loaded);
  return plan(call, a, loaded);
}

Error load(Call& call) {
  QuantizedAdd<TargetWorld> a;
  return call.read_signature(a) ? plan_add(call, a) : call.error();
}

Error load_factor(Call& call) {
  FactorAdd<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  LoadedBroadcast loaded;
  read_int8_broadcast(call, a.self, a.other, a.out, loaded);
  return plan_factor(call, a, loaded);
}

}  // namespace cormorant::ops::add
