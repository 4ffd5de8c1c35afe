// SPDX-License-Identifier: Apache-2.0
#include "ops/prelu/kernel.h"

#include "ops/load/broadcast.h"

namespace cormorant::ops::prelu {
namespace {

bool is_int8(std::int32_t value) { return value >= -128 && value <= 127; }

}  // namespace

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
[[gnu::noinline]] static Error plan_prelu(Call& call, Prelu<TargetWorld>& a) {
  call.require(a.input.dtype == DType::i8 && a.factors.dtype == DType::i32 && a.out.dtype == DType::i8,
               Error::bad_value);
  LoadedBroadcast loaded;
  read_broadcast(call, a.input, a.factors, a.out, loaded);
  call.require(!loaded.broadcast.self_repeats, Error::bad_shape);
  for (BroadcastLoop& loop : loaded.loops) loop.other_step *= static_cast<std::int32_t>(sizeof(std::int32_t));
  call.require(is_int8(a.input_zero_point) && is_int8(a.activation_min) && is_int8(a.activation_max), Error::bad_value);
  call.require(a.shift >= 0 && a.shift <= 31, Error::bad_value);
  Plan p{};
  p.positive_factor = a.positive_factor;
  p.offset = a.offset;
  p.input_zero_point = static_cast<std::int16_t>(a.input_zero_point);
  p.shift = static_cast<std::uint8_t>(a.shift);
  p.activation_min = static_cast<std::int8_t>(a.activation_min);
  p.activation_max = static_cast<std::int8_t>(a.activation_max);
  return store_plan(call, p, loaded);
}

Error load(Call& call) {
  Prelu<TargetWorld> a;
  return call.read_signature(a) ? plan_prelu(call, a) : call.error();
}

}  // namespace cormorant::ops::prelu
