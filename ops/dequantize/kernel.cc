// SPDX-License-Identifier: Apache-2.0
#include "ops/dequantize/kernel.h"

#include <bit>

namespace cormorant::ops {

Error load_dequantize(Call& call) {
  DequantizePerTensor<TargetWorld> call_args;
  if (!call.read_signature(call_args)) return call.error();
  const auto& [input, scale, zero_point, low, high, dtype, out] = call_args;
  call.require(input.dtype == dtype && out.dtype == DType::f32, Error::bad_value);
  call.require(is_dequantizable_dtype(dtype), Error::unsupported);
  call.require(input.lies_like(out), Error::bad_shape);
  call.require(is_dequantizable_scale(std::bit_cast<std::uint32_t>(scale)), Error::unsupported);
  const std::int32_t bound = dtype == DType::i8 ? 128 : 32768;
  call.require(zero_point >= -bound && zero_point < bound, Error::bad_value);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<DequantizePlan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = input.data,
           .output = out.as<float>(),
           .count = static_cast<std::uint32_t>(out.elements()),
           .scale = scale,
           .zero_point = static_cast<std::int16_t>(zero_point),
           .wide = dtype == DType::i16};
  return Error::ok;
}

}  // namespace cormorant::ops
