// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/float_math.h"
#include "ops/load/planned.h"
#include "ops/reduce_any/reduce_any.h"

namespace cormorant::ops::reduce_any {

struct Plan {
  static constexpr std::uint32_t kStateBytes = 72;
  const std::byte* self;
  std::byte* out;
  DType self_type, out_type;
  std::uint32_t count, results, rank;
  struct {
    std::uint32_t size, step;  // of the result, 0 along what is reduced
  } loops[kMaxRank];
};

inline Error plan_reduce(const Reduce<TargetWorld>& args, Plan& plan) {
  const auto& [self, dims, out] = args;
  if (!is_number(self.dtype) || !is_number(out.dtype)) return Error::unsupported;
  if (self.rank != out.rank || dims.count > self.rank) return Error::bad_shape;
  if (!self.is_contiguous() || !out.is_contiguous()) return Error::unsupported;
  std::uint32_t reduced = 0;
  for (std::uint32_t i = 0; i < dims.count; ++i) {
    const std::int32_t dim = dim_of(dims.items[i], self);
    if (dim < 0) return Error::bad_value;
    reduced |= 1U << dim;
  }
  std::uint32_t step = 1;
  for (std::int32_t i = self.rank; i-- > 0;) {
    const bool is_reduced = (reduced >> i & 1U) != 0;
    if (out.sizes[i] != (is_reduced ? 1 : self.sizes[i])) return Error::bad_shape;
    plan.loops[i] = {static_cast<std::uint32_t>(self.sizes[i]), is_reduced ? 0 : step};
    step *= static_cast<std::uint32_t>(out.sizes[i]);
  }
  plan.self = self.data;
  plan.out = out.data;
  plan.self_type = self.dtype;
  plan.out_type = out.dtype;
  plan.count = static_cast<std::uint32_t>(self.elements());
  plan.results = static_cast<std::uint32_t>(out.elements());
  plan.rank = self.rank;
  return Error::ok;
}

struct Sum {
  static constexpr float kRealFirst = 0;
  static constexpr std::int64_t kFirst = 0;
  static float of(float y, float x) { return y + x; }
  static std::int64_t of(std::int64_t y, std::int64_t x) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(y) + static_cast<std::uint64_t>(x));
  }
};
struct Product {
  static constexpr float kRealFirst = 1;
  static constexpr std::int64_t kFirst = 1;
  static float of(float y, float x) { return y * x; }
  static std::int64_t of(std::int64_t y, std::int64_t x) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(y) * static_cast<std::uint64_t>(x));
  }
};
struct Largest {
  static constexpr float kRealFirst = -float_math::kInfinity;
  static constexpr std::int64_t kFirst = INT64_MIN;
  template <class T>
  static T of(T y, T x) {
    return x > y || x != x ? x : y;
  }
};
struct Smallest {
  static constexpr float kRealFirst = float_math::kInfinity;
  static constexpr std::int64_t kFirst = INT64_MAX;
  template <class T>
  static T of(T y, T x) {
    return x < y || x != x ? x : y;
  }
};

// The result holds what was reduced so far, initially a neutral value. In types smaller than 64 bits a sum or product
// wraps alike at every step, and a comparison only has to begin at their own limits.
template <class F>
void execute_reduce(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  const bool is_real = p.out_type == DType::f32;
  const std::int64_t first = p.out_type == DType::i64 || F::kFirst == 0 || F::kFirst == 1 ? F::kFirst
                             : p.out_type == DType::i32 ? (F::kFirst < 0 ? INT32_MIN : INT32_MAX)
                             : p.out_type == DType::i16 ? (F::kFirst < 0 ? INT16_MIN : INT16_MAX)
                             : p.out_type == DType::i8  ? (F::kFirst < 0 ? INT8_MIN : INT8_MAX)
                             : p.out_type == DType::u8  ? (F::kFirst < 0 ? 0 : UINT8_MAX)
                                                        : (F::kFirst < 0 ? 0 : 1);
  for (std::uint32_t i = 0; i < p.results; ++i) {
    if (is_real) {
      set_element(p.out, i, F::kRealFirst);
    } else {
      set_integer(p.out_type, p.out, i, first);
    }
  }
  std::uint32_t turn[kMaxRank] = {};
  std::uint32_t to = 0;
  for (std::uint32_t i = 0; i < p.count; ++i) {
    if (is_real) {
      set_element(p.out, to, F::of(element<float>(p.out, to), real_at(p.self_type, p.self, i)));
    } else {
      set_integer(p.out_type, p.out, to, F::of(integer_at(p.out_type, p.out, to), integer_at(p.self_type, p.self, i)));
    }
    for (std::uint32_t d = p.rank; d-- > 0;) {
      to += p.loops[d].step;
      if (++turn[d] < p.loops[d].size) break;
      to -= p.loops[d].step * p.loops[d].size;
      turn[d] = 0;
    }
  }
}

struct ArgPlan {
  static constexpr std::uint32_t kStateBytes = 24;
  const std::byte* self;
  std::byte* out;
  DType self_type, out_type;
  Around shape;
};

inline Error plan_arg(const ArgReduce<TargetWorld>& args, ArgPlan& plan) {
  const auto& [self, signed_dim, keepdim, out] = args;
  if (!is_number(self.dtype) || !is_integer(out.dtype)) return Error::unsupported;
  if (!self.is_contiguous() || !out.is_contiguous()) return Error::unsupported;
  if (self.elements() == 0) return Error::bad_shape;
  plan = {self.data, out.data, self.dtype, out.dtype, {}};
  if (signed_dim.present) {
    const std::int32_t dim = dim_of(signed_dim.value, self);
    if (dim < 0) return Error::bad_value;
    plan.shape = around(self, dim);
  } else {
    plan.shape.size = static_cast<std::uint32_t>(self.elements());
  }
  return static_cast<std::uint32_t>(out.elements()) == plan.shape.outer * plan.shape.inner ? Error::ok
                                                                                           : Error::bad_shape;
}

template <int kSign>
void execute_arg(const void* plan) {
  const auto& p = *static_cast<const ArgPlan*>(plan);
  const std::uint32_t inner = p.shape.inner;
  for (std::uint32_t o = 0; o < p.shape.outer; ++o) {
    for (std::uint32_t i = 0; i < inner; ++i) {
      const std::uint32_t first = o * p.shape.size * inner + i;
      std::uint32_t best = 0;
      for (std::uint32_t k = 1; k < p.shape.size; ++k) {
        bool is_better;
        if (p.self_type == DType::f32) {
          const float x = element<float>(p.self, first + k * inner), y = element<float>(p.self, first + best * inner);
          is_better = y == y && (x != x || (kSign > 0 ? x > y : x < y));
        } else {
          const std::int64_t x = integer_at(p.self_type, p.self, first + k * inner);
          const std::int64_t y = integer_at(p.self_type, p.self, first + best * inner);
          is_better = kSign > 0 ? x > y : x < y;
        }
        if (is_better) best = k;
      }
      set_integer(p.out_type, p.out, o * inner + i, best);
    }
  }
}

inline Error load_reduce(Call& call) { return load_planned<Reduce, Plan, plan_reduce>(call); }
inline Error load_arg(Call& call) { return load_planned<ArgReduce, ArgPlan, plan_arg>(call); }

}  // namespace cormorant::ops::reduce_any
