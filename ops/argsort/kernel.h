// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/argsort/argsort.h"
#include "ops/load/planned.h"

namespace cormorant::ops::argsort {

// Whether an element precedes another in ascending order.
inline bool is_less(DType type, const std::byte* a, std::uint32_t i, const std::byte* b, std::uint32_t j) {
  if (type == DType::f32) {
    const float x = element<float>(a, i), y = element<float>(b, j);
    return x < y || (y != y && x == x);
  }
  return integer_at(type, a, i) < integer_at(type, b, j);
}

struct Plan {
  static constexpr std::uint32_t kStateBytes = 24;
  const std::byte* self;
  std::byte* out;
  DType self_type, out_type;
  bool descending;
  Around shape;
};

inline Error plan_argsort(const Argsort<TargetWorld>& args, Plan& plan) {
  const auto& [self, signed_dim, descending, out] = args;
  const std::int32_t dim = dim_of(signed_dim, self);
  if (!is_number(self.dtype) || (out.dtype != DType::i64 && out.dtype != DType::i32)) return Error::unsupported;
  if (dim < 0 || !same_sizes(self, out)) return Error::bad_shape;
  if (!self.is_contiguous() || !out.is_contiguous()) return Error::unsupported;
  plan = {self.data, out.data, self.dtype, out.dtype, descending, around(self, dim)};
  return Error::ok;
}

// Each element is inserted into the sorted part before it, at a position found by bisection. What was written there is
// read back as an index within the row, wherever a hostile file places other tensors.
inline void execute_argsort(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  const std::uint32_t inner = p.shape.inner;
  for (std::uint32_t o = 0; o < p.shape.outer; ++o) {
    for (std::uint32_t i = 0; i < inner; ++i) {
      const std::uint32_t first = o * p.shape.size * inner + i;
      const auto placed = [&](std::uint32_t at) {
        return place_at(p.out_type, p.out, first + at * inner, p.shape.size);
      };
      for (std::uint32_t k = 0; k < p.shape.size; ++k) {
        std::uint32_t low = 0;
        std::uint32_t high = k;
        while (low < high) {  // skip all that do not come after it
          const std::uint32_t middle = (low + high) / 2;
          const std::uint32_t a = first + k * inner, b = first + placed(middle) * inner;
          const bool before =
              p.descending ? is_less(p.self_type, p.self, b, p.self, a) : is_less(p.self_type, p.self, a, p.self, b);
          if (before) {
            high = middle;
          } else {
            low = middle + 1;
          }
        }
        for (std::uint32_t at = k; at > low; --at) set_integer(p.out_type, p.out, first + at * inner, placed(at - 1));
        set_integer(p.out_type, p.out, first + low * inner, k);
      }
    }
  }
}

struct SearchPlan {
  static constexpr std::uint32_t kStateBytes = 32;
  const std::byte* sorted;
  const std::byte* values;
  std::byte* out;
  DType type, out_type;
  bool right;
  std::uint32_t size, rows, count;  // of a sorted row; rows and values per row
  bool shared;                      // one row for all
};

inline Error plan_search(const SearchSorted<TargetWorld>& args, SearchPlan& plan) {
  const auto& [sorted, values, right, out] = args;
  if (!is_number(sorted.dtype) || sorted.dtype != values.dtype || !is_integer(out.dtype)) return Error::unsupported;
  if (sorted.rank == 0 || !same_sizes(values, out)) return Error::bad_shape;
  if (!sorted.is_contiguous() || !values.is_contiguous() || !out.is_contiguous()) return Error::unsupported;
  const bool shared = sorted.rank == 1;
  const auto elements = static_cast<std::uint32_t>(values.elements());
  std::uint32_t rows = 1;
  if (!shared) {
    if (sorted.rank != values.rank) return Error::bad_shape;
    for (std::int32_t i = 0; i + 1 < sorted.rank; ++i) {
      if (sorted.sizes[i] != values.sizes[i]) return Error::bad_shape;
      rows *= static_cast<std::uint32_t>(sorted.sizes[i]);
    }
  }
  plan = {sorted.data,
          values.data,
          out.data,
          sorted.dtype,
          out.dtype,
          right,
          static_cast<std::uint32_t>(sorted.sizes[sorted.rank - 1]),
          rows,
          rows == 0 ? 0 : elements / rows,
          shared};
  return Error::ok;
}

inline void execute_search(const void* plan) {
  const auto& p = *static_cast<const SearchPlan*>(plan);
  for (std::uint32_t row = 0; row < p.rows; ++row) {
    const std::uint32_t first = row * p.size;
    for (std::uint32_t i = 0; i < p.count; ++i) {
      const std::uint32_t at = row * p.count + i;
      std::uint32_t low = 0;
      std::uint32_t high = p.size;
      while (low < high) {
        const std::uint32_t middle = (low + high) / 2;
        const bool goes_on = p.right ? !is_less(p.type, p.values, at, p.sorted, first + middle)
                                     : is_less(p.type, p.sorted, first + middle, p.values, at);
        if (goes_on) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      set_integer(p.out_type, p.out, at, low);
    }
  }
}

inline Error load_argsort(Call& call) { return load_planned<Argsort, Plan, plan_argsort>(call); }
inline Error load_search(Call& call) { return load_planned<SearchSorted, SearchPlan, plan_search>(call); }

}  // namespace cormorant::ops::argsort
