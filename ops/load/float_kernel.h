// SPDX-License-Identifier: Apache-2.0
//
// What the float kernels (ops/<op>/kernel_float.cc) share. Each is one source for the host and for every CPU: plain
// loops whose order of operations is the specification, so that all machines give the same bits. Here are the checks at
// load and the loops over elements.
#pragma once

#include "ops/load/broadcast.h"
#include "ops/load/float_plan.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

inline bool is_f32(const Tensor& tensor) { return tensor.dtype == DType::f32; }

// The largest size that a float kernel counts to, so that products of two fit 32 bits.
inline constexpr std::int32_t kLargestFloatSize = 0x7FFF;
inline bool is_countable(const IntPair& list, std::uint32_t count, std::int32_t least) {
  if (list.count != count) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (list.items[i] < least || list.items[i] > kLargestFloatSize) return false;
  }
  return true;
}
inline bool is_countable(const Tensor& tensor) {
  for (std::size_t i = 0; i < tensor.rank; ++i) {
    if (tensor.sizes[i] > kLargestFloatSize) return false;
  }
  return true;
}

// ---- functions of one element ---------------------------------------------------------------------------------------

inline Error plan_float_map(Call& call, const Tensor& input, const Tensor& out, const float (&parameters)[3]) {
  call.require(is_f32(input) && is_f32(out), Error::unsupported);
  call.require(input.lies_like(out), Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<FloatMapPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = input.as<const float>(),
           .output = out.as<float>(),
           .count = static_cast<std::uint32_t>(out.elements()),
           .parameters = {parameters[0], parameters[1], parameters[2]}};
  return Error::ok;
}

// f(element, parameters) for each element.
template <class F>
inline void run_float_map(const void* plan, F f) {
  const FloatMapPlan p = *static_cast<const FloatMapPlan*>(plan);  // a copy, which stores cannot change
  for (std::uint32_t i = 0; i < p.count; ++i) p.output[i] = f(p.input[i], p.parameters);
}

// ---- functions of two elements --------------------------------------------------------------------------------------

inline Error plan_float_broadcast(Call& call, const Tensor& self, const Tensor& other, const Tensor& out,
                                  float parameter) {
  call.require(is_f32(self) && is_f32(other) && is_f32(out), Error::unsupported);
  LoadedBroadcast loaded;
  read_broadcast(call, self, other, out, loaded);
  FloatBroadcastPlan plan{};
  plan.parameter = parameter;
  return store_plan(call, plan, loaded);
}

// f(self, other), in the order of the result.
template <class F>
inline void run_float_broadcast(const Broadcast& b, F f) {
  const std::uint32_t self_step = b.self_repeats ? 0 : 1;
  const std::uint32_t other_step = b.other_repeats ? 0 : 1;
  for_each_stretch<float>(b, [&](const float* self, const float* other, float* out) {
    for (std::uint32_t i = 0; i < b.count; ++i) out[i] = f(self[i * self_step], other[i * other_step]);
  });
}

}  // namespace cormorant::ops
