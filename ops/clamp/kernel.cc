// SPDX-License-Identifier: Apache-2.0
#include "ops/clamp/kernel.h"

namespace cormorant::ops {

Error load_clamp(Call& call) {
  Clamp<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [input, low, high, out] = args;
  call.require(input.dtype == DType::i8 && out.dtype == DType::i8, Error::bad_value);
  call.require(input.lies_like(out), Error::bad_shape);
  call.require(low >= -128 && low <= high && high <= 127, Error::bad_value);
  call.require_aligned(input, 4);
  call.require_aligned(out, 4);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<ClampPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = input.as<const std::int8_t>(),
           .output = out.as<std::int8_t>(),
           .count = static_cast<std::uint32_t>(out.elements()),
           .low = static_cast<std::int8_t>(low),
           .high = static_cast<std::int8_t>(high)};
  return Error::ok;
}

}  // namespace cormorant::ops
