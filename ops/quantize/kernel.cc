// SPDX-License-Identifier: Apache-2.0
#include "ops/quantize/kernel.h"

#include <bit>

namespace cormorant::ops {
namespace {

// Same sizes, and the same order in memory of all dimensions that have more than one index.
bool same_layout(const Tensor& a, const Tensor& b) {
  if (a.rank != b.rank) return false;
  std::size_t j = 0;
  for (std::size_t i = 0; i < a.rank; ++i) {
    if (a.sizes[i] != b.sizes[i]) return false;
  }
  for (std::size_t i = 0; i < a.rank; ++i) {
    if (a.sizes[a.dim_order[i]] == 1) continue;
    while (b.sizes[b.dim_order[j]] == 1) ++j;
    if (a.dim_order[i] != b.dim_order[j]) return false;
    ++j;
  }
  return true;
}

}  // namespace

Error load_quantize(Call& call) {
  QuantizePerTensor<TargetWorld> call_args;
  if (!call.read_signature(call_args)) return call.error();
  const auto& [input, scale, zero_point, low, high, dtype, out] = call_args;
  call.require(input.dtype == DType::f32 && out.dtype == dtype, Error::bad_value);
  call.require(is_quantized_dtype(dtype), Error::unsupported);
  call.require(same_layout(input, out), Error::bad_shape);
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
