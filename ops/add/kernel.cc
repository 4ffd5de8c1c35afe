// SPDX-License-Identifier: Apache-2.0
#include "ops/add/kernel.h"

#include <utility>

namespace cormorant::ops::add {
namespace {

bool is_int8(std::int32_t value) { return value >= -128 && value <= 127; }

bool same_sizes(const Tensor& a, const Tensor& b) {
  if (a.rank != b.rank) return false;
  for (std::size_t i = 0; i < a.rank; ++i) {
    if (a.sizes[i] != b.sizes[i]) return false;
  }
  return true;
}

// The same order in memory of all dimensions that have more than one index. Sizes are equal.
bool same_order(const Tensor& a, const Tensor& b) {
  std::size_t j = 0;
  for (std::size_t i = 0; i < a.rank; ++i) {
    if (a.sizes[a.dim_order[i]] == 1) continue;
    while (b.sizes[b.dim_order[j]] == 1) ++j;
    if (a.dim_order[i] != b.dim_order[j]) return false;
    ++j;
  }
  return true;
}

// One value per channel of a channels-last tensor: the only broadcast that ExecuTorch's Cortex-M operators know.
bool is_channel_vector(const Tensor& vector, const Tensor& full) {
  return vector.rank == 4 && full.is_channels_last() && vector.sizes[1] == full.sizes[1] &&
         vector.elements() == vector.sizes[1];
}

// True if the operands change places, so that it is `other` that repeats.
bool read_operands(Call& call, const Tensor& self, const Tensor& other, const Tensor& out, Operands& operands) {
  call.require(self.dtype == DType::i8 && other.dtype == DType::i8 && out.dtype == DType::i8, Error::bad_value);
  operands = {.self = self.as<const std::int8_t>(),
              .other = other.as<const std::int8_t>(),
              .out = out.as<std::int8_t>(),
              .count = static_cast<std::uint32_t>(out.elements()),
              .repeat = 1};
  if (same_sizes(self, other)) {
    call.require(same_sizes(self, out) && same_order(self, out) && same_order(other, out), Error::bad_shape);
    return false;
  }
  const bool swap = same_sizes(other, out);
  const Tensor& full = swap ? other : self;
  call.require(same_sizes(full, out) && same_order(full, out), Error::bad_shape);
  call.require(is_channel_vector(swap ? self : other, full), Error::unsupported);
  if (call.error() != Error::ok) return false;
  operands.count = static_cast<std::uint32_t>(full.sizes[1]);
  operands.repeat =
      static_cast<std::uint32_t>(full.sizes[0]) * static_cast<std::uint32_t>(full.sizes[2] * full.sizes[3]);
  if (swap) std::swap(operands.self, operands.other);
  return swap;
}

Rescale rescale(Call& call, std::int32_t zero_point, std::int32_t multiplier, std::int32_t shift) {
  call.require(is_int8(zero_point), Error::bad_value);
  // The kernels multiply without saturation, which only INT32_MIN would need.
  call.require(shift >= -31 && shift <= 31 && multiplier != INT32_MIN, Error::bad_value);
  return {multiplier, static_cast<std::int16_t>(zero_point), static_cast<std::int8_t>(shift)};
}

}  // namespace

Error load(Call& call) {
  QuantizedAdd<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  Plan p{};
  const bool swap = read_operands(call, a.self, a.other, a.out, p.tensors);
  p.self = rescale(call, a.self_zero_point, a.self_multiplier, a.self_shift);
  p.other = rescale(call, a.other_zero_point, a.other_multiplier, a.other_shift);
  p.output = rescale(call, a.output_zero_point, a.output_multiplier, a.output_shift);
  if (swap) std::swap(p.self, p.other);
  call.require(is_int8(a.activation_min) && is_int8(a.activation_max), Error::bad_value);
  p.activation_min = static_cast<std::int8_t>(a.activation_min);
  p.activation_max = static_cast<std::int8_t>(a.activation_max);
  auto* plan = static_cast<Plan*>(call.allocate(sizeof(Plan), alignof(Plan)));
  if (call.error() != Error::ok) return call.error();
  *plan = p;
  call.set_plan(plan);
  return Error::ok;
}

Error load_factor(Call& call) {
  FactorAdd<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  FactorPlan p{};
  const bool swap = read_operands(call, a.self, a.other, a.out, p.tensors);
  call.require(is_valid({a.self_factor, a.other_factor, a.offset, a.shift}), Error::bad_value);
  call.require(is_int8(a.activation_min) && is_int8(a.activation_max), Error::bad_value);
  p.self_factor = swap ? a.other_factor : a.self_factor;
  p.other_factor = swap ? a.self_factor : a.other_factor;
  p.offset = a.offset;
  p.shift = static_cast<std::uint8_t>(a.shift);
  p.activation_min = static_cast<std::int8_t>(a.activation_min);
  p.activation_max = static_cast<std::int8_t>(a.activation_max);
  auto* plan = static_cast<FactorPlan*>(call.allocate(sizeof(FactorPlan), alignof(FactorPlan)));
  if (call.error() != Error::ok) return call.error();
  *plan = p;
  call.set_plan(plan);
  return Error::ok;
}

}  // namespace cormorant::ops::add
