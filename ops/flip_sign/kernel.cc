// SPDX-License-Identifier: Apache-2.0
#include "ops/flip_sign/kernel.h"

namespace cormorant::ops {

Error load_flip_sign(Call& call) {
  FlipSign<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [input, out] = args;
  call.require(
      (input.dtype == DType::u8 && out.dtype == DType::i8) || (input.dtype == DType::i8 && out.dtype == DType::u8),
      Error::bad_value);
  call.require(input.lies_like(out), Error::bad_shape);
  call.require_aligned(input, 4);
  call.require_aligned(out, 4);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<FlipSignPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = input.as<const std::int8_t>(),
           .output = out.as<std::int8_t>(),
           .count = static_cast<std::uint32_t>(out.elements())};
  return Error::ok;
}

}  // namespace cormorant::ops
