// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/kernel.h"

namespace cormorant::ops {

Error load_activation(Call& call) {
  QuantizedActivation<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [input, lut, out] = args;
  call.require(input.dtype == DType::i8 && lut.dtype == DType::i8 && out.dtype == DType::i8, Error::bad_value);
  call.require(input.lies_like(out), Error::bad_shape);
  call.require(lut.elements() == kTableEntries, Error::bad_shape);
  call.require_aligned(input, 4);
  call.require_aligned(out, 4);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<ActivationPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = input.as<const std::int8_t>(),
           .output = out.as<std::int8_t>(),
           .zero = lut.as<const std::int8_t>() + 128,
           .count = static_cast<std::uint32_t>(out.elements())};
  return Error::ok;
}

}  // namespace cormorant::ops
