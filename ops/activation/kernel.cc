// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/kernel.h"

namespace cormorant::ops {
namespace {

// Same sizes, and the same order in memory of all dimensions that have more than one index.
bool same_layout(const Tensor& a, const Tensor& b) {
  if (a.rank != b.rank) return false;
  for (std::size_t i = 0; i < a.rank; ++i) {
    if (a.sizes[i] != b.sizes[i]) return false;
  }
  std::size_t j = 0;
  for (std::size_t i = 0; i < a.rank; ++i) {
    if (a.sizes[a.dim_order[i]] == 1) continue;
    while (b.sizes[b.dim_order[j]] == 1) ++j;
    if (a.dim_order[i] != b.dim_order[j]) return false;
    ++j;
  }
  return true;
}

}  // namespace

Error load_activation(Call& call) {
  QuantizedActivation<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [input, lut, out] = args;
  call.require(input.dtype == DType::i8 && lut.dtype == DType::i8 && out.dtype == DType::i8, Error::bad_value);
  call.require(same_layout(input, out), Error::bad_shape);
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
