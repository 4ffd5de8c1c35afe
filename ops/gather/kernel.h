// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/gather/gather.h"
#include "ops/load/planned.h"

namespace cormorant::ops::gather {

struct SelectPlan {
  static constexpr std::uint32_t kStateBytes = 32;
  const std::byte* self;
  const std::byte* index;
  std::byte* out;
  DType index_type;
  std::uint32_t outer, size, places;  // places: of the index
  std::uint32_t bytes;                // of a stretch after the dimension
};

inline Error plan_select(const IndexSelect<TargetWorld>& args, SelectPlan& plan) {
  const auto& [self, signed_dim, index, out] = args;
  const std::int32_t dim = dim_of(signed_dim, self);
  if (self.dtype != out.dtype || !is_integer(index.dtype)) return Error::unsupported;
  if (dim < 0 || index.rank > 1 || self.rank != out.rank) return Error::bad_shape;
  for (std::int32_t i = 0; i < out.rank; ++i) {
    if (out.sizes[i] != (i == dim ? index.elements() : self.sizes[i])) return Error::bad_shape;
  }
  if (!self.is_contiguous() || !out.is_contiguous()) return Error::unsupported;
  const Around a = around(self, dim);
  if (a.size == 0 && out.elements() != 0) return Error::bad_shape;
  plan = {.self = self.data,
          .index = index.data,
          .out = out.data,
          .index_type = index.dtype,
          .outer = a.outer,
          .size = a.size,
          .places = static_cast<std::uint32_t>(index.elements()),
          .bytes = a.inner * static_cast<std::uint32_t>(size_of(self.dtype))};
  return Error::ok;
}

inline void execute_select(const void* plan) {
  const auto& p = *static_cast<const SelectPlan*>(plan);
  if (p.size == 0) return;
  std::byte* out = p.out;
  for (std::uint32_t o = 0; o < p.outer; ++o) {
    const std::byte* const self = p.self + std::size_t{o} * p.size * p.bytes;
    for (std::uint32_t i = 0; i < p.places; ++i) {
      std::memcpy(out, self + std::size_t{place_at(p.index_type, p.index, i, p.size)} * p.bytes, p.bytes);
      out += p.bytes;
    }
  }
}

struct GatherPlan {
  static constexpr std::uint32_t kStateBytes = 80;
  const std::byte* self;
  const std::byte* index;
  std::byte* out;
  DType index_type, dtype;
  std::uint32_t size, count, rank;
  std::uint32_t step;  // of the dimension in self, in elements
  struct {
    std::uint32_t size, step;  // of the result; the step in self, 0 along the dimension
  } loops[kMaxRank];
};

inline Error plan_gather(const Gather<TargetWorld>& args, GatherPlan& plan) {
  const auto& [self, signed_dim, index, sparse, out] = args;
  const std::int32_t dim = dim_of(signed_dim, self);
  if (self.dtype != out.dtype || !is_number(self.dtype) || !is_integer(index.dtype)) return Error::unsupported;
  if (dim < 0 || !same_sizes(index, out) || self.rank != out.rank) return Error::bad_shape;
  if (!self.is_contiguous() || !index.is_contiguous() || !out.is_contiguous()) return Error::unsupported;
  for (std::int32_t i = 0; i < out.rank; ++i) {
    if (i != dim && out.sizes[i] > self.sizes[i]) return Error::bad_shape;
  }
  plan.self = self.data;
  plan.index = index.data;
  plan.out = out.data;
  plan.index_type = index.dtype;
  plan.dtype = self.dtype;
  plan.size = size_along(self, dim);
  plan.count = static_cast<std::uint32_t>(out.elements());
  plan.rank = out.rank;
  plan.step = 1;
  if (plan.size == 0 && plan.count != 0) return Error::bad_shape;
  std::uint32_t step = 1;
  for (std::int32_t i = out.rank; i-- > 0;) {
    plan.loops[i] = {static_cast<std::uint32_t>(out.sizes[i]), i == dim ? 0 : step};
    if (i == dim) plan.step = step;
    step *= static_cast<std::uint32_t>(self.sizes[i]);
  }
  return Error::ok;
}

inline void execute_gather(const void* plan) {
  const auto& p = *static_cast<const GatherPlan*>(plan);
  const std::size_t width = size_of(p.dtype);
  std::uint32_t turn[kMaxRank] = {};
  std::uint32_t base = 0;
  for (std::uint32_t i = 0; i < p.count; ++i) {
    const std::uint32_t place = base + place_at(p.index_type, p.index, i, p.size) * p.step;
    std::memcpy(p.out + i * width, p.self + place * width, width);
    for (std::uint32_t d = p.rank; d-- > 0;) {
      base += p.loops[d].step;
      if (++turn[d] < p.loops[d].size) break;
      base -= p.loops[d].step * p.loops[d].size;
      turn[d] = 0;
    }
  }
}

inline Error load_select(Call& call) { return load_planned<IndexSelect, SelectPlan, plan_select>(call); }
inline Error load_gather(Call& call) { return load_planned<Gather, GatherPlan, plan_gather>(call); }

}  // namespace cormorant::ops::gather
