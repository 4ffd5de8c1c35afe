// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/float_math.h"
#include "ops/load/planned.h"
#include "ops/scan/scan.h"

namespace cormorant::ops::scan {

struct Plan {
  static constexpr std::uint32_t kStateBytes = 24;
  const std::byte* self;  // may be the output
  std::byte* out;
  DType self_type, out_type;
  Around shape;
};

inline Error plan_tensors(const Tensor& self, std::int32_t signed_dim, const Tensor& out, Plan& plan) {
  const std::int32_t dim = dim_of(signed_dim, self);
  if (!is_number(self.dtype) || !is_number(out.dtype)) return Error::unsupported;
  if (dim < 0 || !same_sizes(self, out)) return Error::bad_shape;
  if (!self.is_contiguous() || !out.is_contiguous()) return Error::unsupported;
  plan = {self.data, out.data, self.dtype, out.dtype, around(self, dim)};
  return Error::ok;
}
inline Error plan_scan(const Scan<TargetWorld>& args, Plan& plan) {
  return plan_tensors(args.self, args.dim, args.out, plan);
}
inline Error plan_sum(const CumulativeSum<TargetWorld>& args, Plan& plan) {
  return plan_tensors(args.self, args.dim, args.out, plan);
}

// Calls row(first, step, size) for each row along the dimension.
template <class F>
void for_each_row(const Plan& p, F row) {
  for (std::uint32_t o = 0; o < p.shape.outer; ++o) {
    for (std::uint32_t i = 0; i < p.shape.inner; ++i) row(o * p.shape.size * p.shape.inner + i);
  }
}

struct Sum {
  static float of(float sum, float x) { return sum + x; }
  static std::int64_t of(std::int64_t sum, std::int64_t x) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(x));
  }
};
struct Product {
  static float of(float product, float x) { return product * x; }
  static std::int64_t of(std::int64_t product, std::int64_t x) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(product) * static_cast<std::uint64_t>(x));
  }
};
struct LogOfSum {
  static float of(float sum, float x) { return float_math::logaddexp(sum, x); }
  static std::int64_t of(std::int64_t sum, std::int64_t) { return sum; }
};

// In float if the result is.
template <class F>
void execute_scan(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  for_each_row(p, [&](std::uint32_t first) {
    float real = 0;
    std::int64_t integer = 0;
    for (std::uint32_t k = 0; k < p.shape.size; ++k) {
      const std::uint32_t at = first + k * p.shape.inner;
      if (p.out_type == DType::f32) {
        const float x = real_at(p.self_type, p.self, at);
        real = k == 0 ? x : F::of(real, x);
        set_element(p.out, at, real);
      } else {
        const std::int64_t x = integer_at(p.self_type, p.self, at);
        integer = k == 0 ? x : F::of(integer, x);
        set_integer(p.out_type, p.out, at, integer);
      }
    }
  });
}

// The last of equals, and a NaN from its index on.
template <int kSign>
void execute_index(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  for_each_row(p, [&](std::uint32_t first) {
    std::uint32_t best = 0;
    const auto is_better = [&](std::uint32_t k) {
      const std::uint32_t a = first + k * p.shape.inner, b = first + best * p.shape.inner;
      if (p.self_type == DType::f32) {
        const float x = element<float>(p.self, a), y = element<float>(p.self, b);
        return x != x || (y == y && (kSign > 0 ? x >= y : x <= y));
      }
      const std::int64_t x = integer_at(p.self_type, p.self, a), y = integer_at(p.self_type, p.self, b);
      return kSign > 0 ? x >= y : x <= y;
    };
    for (std::uint32_t k = 0; k < p.shape.size; ++k) {
      if (is_better(k)) best = k;
      set_integer(p.out_type, p.out, first + k * p.shape.inner, best);
    }
  });
}

inline Error load_scan(Call& call) { return load_planned<Scan, Plan, plan_scan>(call); }
inline Error load_sum(Call& call) { return load_planned<CumulativeSum, Plan, plan_sum>(call); }

}  // namespace cormorant::ops::scan
