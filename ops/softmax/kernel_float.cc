// SPDX-License-Identifier: Apache-2.0
//
// Distances to the largest element, their exponentials added up in order, then a division; or a logarithm subtracted.
#include "ops/load/float_kernel.h"
#include "ops/softmax/float.h"
#include "ops/softmax/float_rows.h"
#include "ops/softmax/softmax.h"

namespace cormorant::ops::softmax {

Error load_float(Call& call) {
  FloatSoftmax<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, signed_dim, half, out] = args;
  call.require(is_f32(self) && is_f32(out) && !half, Error::unsupported);
  call.require(self.lies_like(out), Error::bad_shape);
  const std::int32_t dim = signed_dim < 0 ? signed_dim + self.rank : signed_dim;
  call.require(dim >= 0 && dim < self.rank, Error::bad_value);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<FloatPlan>();
  if (plan == nullptr) return call.error();
  *plan = {self.as<const float>(), out.as<float>(), 1, static_cast<std::uint32_t>(self.sizes[dim]), 1};
  bool inside = false;
  for (std::size_t i = 0; i < self.rank; ++i) {
    const std::uint8_t d = self.dim_order[i];
    if (d == dim) {
      inside = true;
    } else {
      (inside ? plan->inner : plan->outer) *= static_cast<std::uint32_t>(self.sizes[d]);
    }
  }
  return Error::ok;
}

float raise_row(const FloatPlan& p, const float* from, float* to, float largest) {
  float sum = 0;
  for (std::uint32_t k = 0; k < p.size; ++k) {
    const float power = float_math::exp(from[k * p.inner] - largest);
    to[k * p.inner] = power;
    sum += power;
  }
  return sum;
}

namespace {

template <bool is_log>
void execute_float(const void* plan) {
  const auto& p = *static_cast<const FloatPlan*>(plan);
  for (std::uint32_t o = 0; o < p.outer; ++o) {
    for (std::uint32_t i = 0; i < p.inner; ++i) {
      const std::uint32_t first = o * p.size * p.inner + i;
      softmax_row<is_log>(p, p.input + first, p.output + first, raise_row);
    }
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_SOFTMAX_KERNELS, any_cpu)

}  // namespace cormorant::ops::softmax
