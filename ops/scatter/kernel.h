// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/load/planned.h"
#include "ops/scatter/scatter.h"

namespace cormorant::ops::scatter {

struct Plan {
  static constexpr std::uint32_t kStateBytes = 112;
  const std::byte* self;  // may be the output
  const std::byte* index;
  const std::byte* src;
  std::byte* out;
  DType index_type, dtype;
  std::uint32_t bytes;  // of the result
  std::uint32_t size, count, rank;
  std::uint32_t step;  // of the dimension in the result, in elements
  struct {
    std::uint32_t size, step, src_step;  // of the index; steps of the result (0 along the dimension) and of src
  } loops[kMaxRank];
};

inline Error plan_scatter(const Scatter<TargetWorld>& args, Plan& plan) {
  const auto& [self, signed_dim, index, src, out] = args;
  const std::int32_t dim = dim_of(signed_dim, self);
  if (self.dtype != out.dtype || src.dtype != out.dtype || !is_number(out.dtype)) return Error::unsupported;
  if (!is_integer(index.dtype)) return Error::unsupported;
  if (dim < 0 || !same_sizes(self, out) || index.rank != out.rank || src.rank != out.rank) return Error::bad_shape;
  if (!self.is_contiguous() || !index.is_contiguous() || !src.is_contiguous() || !out.is_contiguous()) {
    return Error::unsupported;
  }
  for (std::int32_t i = 0; i < out.rank; ++i) {
    if ((i != dim && index.sizes[i] > out.sizes[i]) || index.sizes[i] > src.sizes[i]) return Error::bad_shape;
  }
  plan.self = self.data;
  plan.index = index.data;
  plan.src = src.data;
  plan.out = out.data;
  plan.index_type = index.dtype;
  plan.dtype = out.dtype;
  plan.bytes = out.bytes();
  plan.size = size_along(out, dim);
  plan.count = static_cast<std::uint32_t>(index.elements());
  plan.rank = out.rank;
  plan.step = 1;
  std::uint32_t step = 1;
  std::uint32_t src_step = 1;
  for (std::int32_t i = out.rank; i-- > 0;) {
    plan.loops[i] = {static_cast<std::uint32_t>(index.sizes[i]), i == dim ? 0 : step, src_step};
    if (i == dim) plan.step = step;
    step *= static_cast<std::uint32_t>(out.sizes[i]);
    src_step *= static_cast<std::uint32_t>(src.sizes[i]);
  }
  return Error::ok;
}

struct Set {
  template <class T>
  static T of(T, T x) {
    return x;
  }
};
struct Add {
  static float of(float y, float x) { return y + x; }
  static std::int64_t of(std::int64_t y, std::int64_t x) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(y) + static_cast<std::uint64_t>(x));
  }
};
struct Product {
  static float of(float y, float x) { return y * x; }
  static std::int64_t of(std::int64_t y, std::int64_t x) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(y) * static_cast<std::uint64_t>(x));
  }
};
struct Largest {
  template <class T>
  static T of(T y, T x) {
    return x > y || x != x ? x : y;
  }
};
struct Smallest {
  template <class T>
  static T of(T y, T x) {
    return x < y || x != x ? x : y;
  }
};

template <class F>
void execute_scatter(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  if (p.out != p.self) std::memcpy(p.out, p.self, p.bytes);
  std::uint32_t turn[kMaxRank] = {};
  std::uint32_t base = 0;
  std::uint32_t from = 0;
  for (std::uint32_t i = 0; i < p.count; ++i) {
    const std::int64_t place = integer_at(p.index_type, p.index, i);
    if (place >= 0 && place < static_cast<std::int64_t>(p.size)) {
      const std::uint32_t to = base + static_cast<std::uint32_t>(place) * p.step;
      if (p.dtype == DType::f32) {
        set_element(p.out, to, F::of(element<float>(p.out, to), element<float>(p.src, from)));
      } else {
        set_integer(p.dtype, p.out, to, F::of(integer_at(p.dtype, p.out, to), integer_at(p.dtype, p.src, from)));
      }
    }
    for (std::uint32_t d = p.rank; d-- > 0;) {
      base += p.loops[d].step;
      from += p.loops[d].src_step;
      if (++turn[d] < p.loops[d].size) break;
      base -= p.loops[d].step * p.loops[d].size;
      from -= p.loops[d].src_step * p.loops[d].size;
      turn[d] = 0;
    }
  }
}

inline Error load_scatter(Call& call) { return load_planned<Scatter, Plan, plan_scatter>(call); }

}  // namespace cormorant::ops::scatter
