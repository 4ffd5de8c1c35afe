// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/load/planned.h"
#include "ops/taps/taps.h"

namespace cormorant::ops::taps {

template <class Element, class Weight>
struct PlanOf {
  static constexpr std::uint32_t kStateBytes = 40;
  const Element* self;
  const std::byte* places;
  const Weight* weights;
  Element* out;
  DType type;  // of the places
  Around shape;
  std::uint32_t results, taps;
};
using Plan = PlanOf<float, float>;
using Int8Plan = PlanOf<std::int8_t, std::int16_t>;

// The elements around a dimension in memory order.
inline Around around_in_memory(const Tensor& tensor, std::int32_t dim) {
  Around result;
  bool is_before = true;
  for (std::int32_t i = 0; i < tensor.rank; ++i) {
    const std::int32_t at = tensor.dim_order[i];
    const auto size = static_cast<std::uint32_t>(tensor.sizes[at]);
    (at == dim ? result.size : is_before ? result.outer : result.inner) *= size;
    if (at == dim) is_before = false;
  }
  return result;
}

// In any memory order that input and output share.
template <class Element, class Weight>
Error plan_of(const Taps<TargetWorld>& args, DType elements, DType of_weights, PlanOf<Element, Weight>& plan) {
  const auto& [self, signed_dim, places, weights, out] = args;
  const std::int32_t dim = dim_of(signed_dim, self);
  if (self.dtype != elements || weights.dtype != of_weights || out.dtype != elements || !is_integer(places.dtype)) {
    return Error::unsupported;
  }
  if (dim < 0 || self.rank == 0 || self.rank != out.rank) return Error::bad_shape;
  if (places.rank != 2 || !same_sizes(places, weights) || places.sizes[0] != out.sizes[dim]) return Error::bad_shape;
  for (std::int32_t i = 0; i < out.rank; ++i) {
    if (i != dim && out.sizes[i] != self.sizes[i]) return Error::bad_shape;
    if (self.dim_order[i] != out.dim_order[i]) return Error::unsupported;
  }
  if (!places.is_contiguous() || !weights.is_contiguous()) return Error::unsupported;
  if (self.sizes[dim] == 0 && out.elements() != 0) return Error::bad_shape;
  plan = {self.as<const Element>(),
          places.data,
          weights.as<const Weight>(),
          out.as<Element>(),
          places.dtype,
          around_in_memory(self, dim),
          static_cast<std::uint32_t>(places.sizes[0]),
          static_cast<std::uint32_t>(places.sizes[1])};
  return Error::ok;
}

inline Error plan_taps(const Taps<TargetWorld>& args, Plan& plan) {
  const Error error = plan_of(args, DType::f32, DType::f32, plan);
  const bool is_in_order = args.self.is_contiguous() && args.out.is_contiguous();
  return error == Error::ok && !is_in_order ? Error::unsupported : error;
}

inline Error plan_int8_taps(const Taps<TargetWorld>& args, Int8Plan& plan) {
  return plan_of(args, DType::i8, DType::i16, plan);
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

inline std::int8_t rounded_sum(std::int32_t sum) {
  const std::int32_t level = ((sum >> (kWeightBits - 1)) + 1) >> 1;  // half a level is added where it cannot overflow
  return static_cast<std::int8_t>(level < -128 ? -128 : level > 127 ? 127 : level);
}

inline void execute_int8_taps(const void* plan) {
  const auto& p = *static_cast<const Int8Plan*>(plan);
  const std::uint32_t inner = p.shape.inner;
  std::int8_t* out = p.out;
  for (std::uint32_t o = 0; o < p.shape.outer; ++o) {
    const std::int8_t* const self = p.self + o * p.shape.size * inner;
    const std::int16_t* weights = p.weights;
    std::uint32_t at = 0;
    for (std::uint32_t r = 0; r < p.results; ++r, at += p.taps, weights += p.taps, out += inner) {
      const auto row = [&](std::uint32_t t) { return self + place_at(p.type, p.places, at + t, p.shape.size) * inner; };
      if (p.taps == 2) {  // linear: most of them
        const std::int8_t* const a = row(0);
        const std::int8_t* const b = row(1);
        const std::int32_t u = weights[0];
        const std::int32_t v = weights[1];
        for (std::uint32_t i = 0; i < inner; ++i) out[i] = rounded_sum(u * a[i] + v * b[i]);
        continue;
      }
      for (std::uint32_t i = 0; i < inner; ++i) {
        std::uint32_t sum = 0;  // wraps only for weights that no compiler of ours writes
        for (std::uint32_t t = 0; t < p.taps; ++t) sum += static_cast<std::uint32_t>(weights[t] * row(t)[i]);
        out[i] = rounded_sum(static_cast<std::int32_t>(sum));
      }
    }
  }
}

inline Error load_int8_taps(Call& call) { return load_planned<Taps, Int8Plan, plan_int8_taps>(call); }

inline Error load_taps(Call& call) { return load_planned<Taps, Plan, plan_taps>(call); }

}  // namespace cormorant::ops::taps
