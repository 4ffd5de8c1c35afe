// SPDX-License-Identifier: Apache-2.0
#include "ops/quantize/kernel.h"

#include <bit>

namespace cormorant::ops {

Error load_quantize(Call& call) {
  QuantizePerTensor<TargetWorld> call_args;
  if (!call.read_signature(call_args)) return call.error();
  const auto& [input, scale, zero_point, low, high, dtype, out] = call_args;
  call.require(input.dtype == DType::f32 && out.dtype == dtype, Error::bad_value);
  call.require(is_quantized_dtype(dtype), Error::unsupported);
  call.require(input.lies_like(out), Error::bad_shape);
  const auto scale_bits = std::bit_cast<std::uint32_t>(scale);
  call.require(is_supported_scale(scale_bits), Error::unsupported);
  const auto in_range = [&](std::int32_t value) { return value >= lowest(dtype) && value <= highest(dtype); };
  call.require(in_range(zero_point) && in_range(low) && in_range(high) && low <= high, Error::bad_value);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<QuantizePlan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = input.as<const float>(),
           .output = out.data,
           .count = static_cast<std::uint32_t>(out.elements()),
           .inverse_scale = std::bit_cast<float>(reciprocal_bits(scale_bits)),
           .zero_point = static_cast<std::int16_t>(zero_point),
           .low = static_cast<std::int16_t>(low),
           .high = static_cast<std::int16_t>(high),
           .wide = dtype == DType::i16};
  return Error::ok;
}

}  // namespace cormorant::ops
