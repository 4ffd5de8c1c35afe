// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/planned.h"
#include "ops/taps/taps.h"

namespace cormorant::ops::taps {

struct Plan {
  const float* self;
  const std::byte* places;
  const float* weights;
  float* out;
  DType type;  // of the places
  Around shape;
  std::uint32_t results, taps;
};

inline Error plan_taps(const Taps<TargetWorld>& args, Plan& plan) {
  const auto& [self, signed_dim, places, weights, out] = args;
  const std::int32_t dim = dim_of(signed_dim, self);
  if (self.dtype != DType::f32 || weights.dtype != DType::f32 || out.dtype != DType::f32 || !is_integer(places.dtype)) {
    return Error::unsupported;
  }
  if (dim < 0 || self.rank == 0 || self.rank != out.rank) return Error::bad_shape;
  if (places.rank != 2 || !same_sizes(places, weights) || places.sizes[0] != out.sizes[dim]) return Error::bad_shape;
  for (std::int32_t i = 0; i < out.rank; ++i) {
    if (i != dim && out.sizes[i] != self.sizes[i]) return Error::bad_shape;
  }
  if (!self.is_contiguous() || !places.is_contiguous() || !weights.is_contiguous() || !out.is_contiguous()) {
    return Error::unsupported;
  }
  if (self.sizes[dim] == 0 && out.elements() != 0) return Error::bad_shape;
  plan = {self.as<const float>(),
          places.data,
          weights.as<const float>(),
          out.as<float>(),
          places.dtype,
          around(self, dim),
          static_cast<std::uint32_t>(places.sizes[0]),
          static_cast<std::uint32_t>(places.sizes[1])};
  return Error::ok;
}

inline void execute_taps(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  const std::uint32_t inner = p.shape.inner;
  float* out = p.out;
  for (std::uint32_t o = 0; o < p.shape.outer; ++o) {
    const float* const self = p.self + o * p.shape.size * inner;
    for (std::uint32_t r = 0; r < p.results; ++r, out += inner) {
      for (std::uint32_t i = 0; i < inner; ++i) out[i] = 0;
      for (std::uint32_t t = 0; t < p.taps; ++t) {
        const float weight = p.weights[r * p.taps + t];
        if (weight == 0) continue;
        const float* const row = self + place_at(p.type, p.places, r * p.taps + t, p.shape.size) * inner;
        for (std::uint32_t i = 0; i < inner; ++i) out[i] += weight * row[i];
      }
    }
  }
}

inline Error load_taps(Call& call) { return load_planned<Taps, Plan, plan_taps>(call); }

}  // namespace cormorant::ops::taps
