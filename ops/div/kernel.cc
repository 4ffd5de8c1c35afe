// SPDX-License-Identifier: Apache-2.0
#include "ops/div/kernel.h"

#include "ops/load/broadcast.h"

namespace cormorant::ops::div {
namespace {

bool is_int8(std::int32_t value) { return value >= -128 && value <= 127; }
bool is_int16(std::int32_t value) { return value >= -32768 && value <= 32767; }

}  // namespace

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
[[gnu::noinline]] static Error plan_div(Call& call, QuantizedDiv<TargetWorld>& a) {
  LoadedBroadcast loaded;
  const bool wide = a.out.dtype == DType::i16;
  const DType dtype = wide ? DType::i16 : DType::i8;
  const auto fits = [&](std::int32_t value) { return wide ? is_int16(value) : is_int8(value); };
  call.require(a.self.dtype == dtype && a.other.dtype == dtype && a.out.dtype == dtype, Error::bad_value);
  call.require(fits(a.self_zero_point) && fits(a.other_zero_point) && fits(a.output_zero_point), Error::bad_value);
  read_broadcast(call, a.self, a.other, a.out, loaded);
  Plan p{};
  p.wide = wide;
  p.scale = a.output_scale;
  p.self_zero_point = static_cast<std::int16_t>(a.self_zero_point);
  p.other_zero_point = static_cast<std::int16_t>(a.other_zero_point);
  p.output_zero_point = static_cast<std::int16_t>(a.output_zero_point);
  return store_plan(call, p, loaded);
}

Error load(Call& call) {
  QuantizedDiv<TargetWorld> a;
  return call.read_signature(a) ? plan_div(call, a) : call.error();
}

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
[[gnu::noinline]] static Error plan_table_div(Call& call, TableDiv<TargetWorld>& a) {
  LoadedBroadcast loaded;
  read_int8_broadcast(call, a.self, a.other, a.out, loaded);
  call.require(a.table.dtype == DType::i32, Error::bad_value);
  call.require(a.table.elements() == 256, Error::bad_shape);
  call.require(is_int8(a.self_zero_point) && is_int8(a.output_zero_point), Error::bad_value);
  call.require(is_int8(a.activation_min) && is_int8(a.activation_max), Error::bad_value);
  TablePlan p{};
  p.table = a.table.as<const std::int32_t>() + 128;
  p.self_zero_point = static_cast<std::int16_t>(a.self_zero_point);
  p.output_zero_point = static_cast<std::int8_t>(a.output_zero_point);
  p.activation_min = static_cast<std::int8_t>(a.activation_min);
  p.activation_max = static_cast<std::int8_t>(a.activation_max);
  return store_plan(call, p, loaded);
}

Error load_table(Call& call) {
  TableDiv<TargetWorld> a;
  return call.read_signature(a) ? plan_table_div(call, a) : call.error();
}

}  // namespace cormorant::ops::div
