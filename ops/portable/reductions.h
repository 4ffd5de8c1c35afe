// SPDX-License-Identifier: Apache-2.0
//
// Reductions with and without the reduced dimensions in the result, and distances.
#pragma once

#include "base/fields.h"
#include "ops/reduce_any/kernel.h"

namespace cormorant::ops::portable {

// Which dimensions are reduced, as bits; all if the list is empty or absent.
inline bool reduced_dims(Call& call, const Tensor& self, const IntList& dims, std::uint32_t& reduced) {
  reduced = 0;
  call.require(dims.count <= kMaxRank, Error::bad_value);
  for (std::uint32_t i = 0; i < dims.count && call.error() == Error::ok; ++i) {
    const std::int32_t dim = dim_of(dims.items[i], self);
    call.require(dim >= 0, Error::bad_value);
    if (dim >= 0) reduced |= 1U << dim;
  }
  if (dims.count == 0) reduced = (1U << kMaxRank) - 1;
  return call.error() == Error::ok;
}

// Whether the result has the remaining sizes, with or without the reduced dimensions as ones.
inline bool is_reduced_shape(const Tensor& self, std::uint32_t reduced, const Tensor& out) {
  std::uint32_t at = 0;
  const bool keeps = out.rank == self.rank;
  for (std::uint32_t i = 0; i < self.rank; ++i) {
    const bool is_reduced = (reduced >> i & 1U) != 0;
    if (is_reduced && !keeps) continue;
    if (at >= out.rank || out.sizes[at++] != (is_reduced ? 1 : self.sizes[i])) return false;
  }
  return at == out.rank;
}

[[gnu::noinline]] inline Error plan_reduced(Call& call, const Tensor& self, std::uint32_t reduced, const Tensor& out) {
  call.require(is_number(self.dtype) && is_number(out.dtype), Error::unsupported);
  call.require(self.is_contiguous() && out.is_contiguous(), Error::unsupported);
  call.require(is_reduced_shape(self, reduced, out), Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<reduce_any::Plan>();
  if (plan == nullptr) return call.error();
  plan->self = self.data;
  plan->out = out.data;
  plan->self_type = self.dtype;
  plan->out_type = out.dtype;
  plan->count = static_cast<std::uint32_t>(self.elements());
  plan->results = static_cast<std::uint32_t>(out.elements());
  plan->rank = self.rank;
  std::uint32_t step = 1;
  for (std::int32_t i = self.rank; i-- > 0;) {
    const bool is_reduced = (reduced >> i & 1U) != 0;
    plan->loops[i] = {static_cast<std::uint32_t>(self.sizes[i]), is_reduced ? 0 : step};
    if (!is_reduced) step *= static_cast<std::uint32_t>(self.sizes[i]);
  }
  return Error::ok;
}

struct ReduceAll {
  Tensor self{};
  OutTensor out{};

  CORMORANT_FIELDS(self, out)
};
struct ReduceAllTyped {
  Tensor self{};
  OptionalInt dtype{};  // out has it
  OutTensor out{};

  CORMORANT_FIELDS(self, dtype, out)
};
struct AnyAlong {
  Tensor self{};
  std::int32_t dim{};
  bool keepdim{};
  OutTensor out{};

  CORMORANT_FIELDS(self, dim, keepdim, out)
};
struct AnyDims {
  Tensor self{};
  OptionalIntList dim{};
  bool keepdim{};
  OutTensor out{};

  CORMORANT_FIELDS(self, dim, keepdim, out)
};
struct ProdAlong {
  Tensor self{};
  std::int32_t dim{};
  bool keepdim{};
  OptionalInt dtype{};
  OutTensor out{};

  CORMORANT_FIELDS(self, dim, keepdim, dtype, out)
};

template <class Signature>
Error load_all(Call& call) {
  Signature args;
  if (!call.read_signature(args)) return call.error();
  return plan_reduced(call, args.self, (1U << kMaxRank) - 1, args.out);
}
inline Error load_along(Call& call, const Tensor& self, std::int32_t signed_dim, const Tensor& out) {
  const std::int32_t dim = dim_of(signed_dim, self);
  call.require(dim >= 0, Error::bad_value);
  if (call.error() != Error::ok) return call.error();
  return plan_reduced(call, self, 1U << dim, out);
}
inline Error load_any_along(Call& call) {
  AnyAlong args;
  if (!call.read_signature(args)) return call.error();
  return load_along(call, args.self, args.dim, args.out);
}
inline Error load_prod(Call& call) {
  ProdAlong args;
  if (!call.read_signature(args)) return call.error();
  return load_along(call, args.self, args.dim, args.out);
}
inline Error load_any_dims(Call& call) {
  AnyDims args;
  if (!call.read_signature(args)) return call.error();
  std::uint32_t reduced = 0;
  if (!reduced_dims(call, args.self, args.dim, reduced)) return call.error();
  return plan_reduced(call, args.self, reduced, args.out);
}

inline void execute_any(const void* plan) {
  const auto& p = *static_cast<const reduce_any::Plan*>(plan);
  for (std::uint32_t i = 0; i < p.results; ++i) set_integer(p.out_type, p.out, i, 0);
  std::uint32_t turn[kMaxRank] = {};
  std::uint32_t to = 0;
  for (std::uint32_t i = 0; i < p.count; ++i) {
    const bool is_true =
        p.self_type == DType::f32 ? element<float>(p.self, i) != 0 : integer_at(p.self_type, p.self, i) != 0;
    if (is_true) set_integer(p.out_type, p.out, to, 1);
    for (std::uint32_t d = p.rank; d-- > 0;) {
      to += p.loops[d].step;
      if (++turn[d] < p.loops[d].size) break;
      to -= p.loops[d].step * p.loops[d].size;
      turn[d] = 0;
    }
  }
}

inline void execute_mean_of_all(const void* plan) {
  const auto& p = *static_cast<const reduce_any::Plan*>(plan);
  float sum = 0;
  for (std::uint32_t i = 0; i < p.count; ++i) sum += real_at(p.self_type, p.self, i);
  set_real(p.out_type, p.out, 0, sum / static_cast<float>(p.count));
}

// The largest or smallest along a dimension, and where it is.
struct ExtremeAlong {
  Tensor self{};
  std::int32_t dim{};
  bool keepdim{};
  OutTensor values{}, indices{};

  CORMORANT_FIELDS(self, dim, keepdim, values, indices)
};
struct ExtremePlan {
  static constexpr std::uint32_t kStateBytes = 28;
  reduce_any::ArgPlan arg;  // its out are the indices
  std::byte* values;
};

inline Error load_extreme_along(Call& call) {
  ExtremeAlong args;
  if (!call.read_signature(args)) return call.error();
  const Tensor& self = args.self;
  const std::int32_t dim = dim_of(args.dim, self);
  call.require(dim >= 0, Error::bad_value);
  call.require(is_number(self.dtype) && args.values.dtype == self.dtype && args.indices.dtype == DType::i64,
               Error::unsupported);
  call.require(self.is_contiguous() && args.values.is_contiguous() && args.indices.is_contiguous(), Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  call.require(is_reduced_shape(self, 1U << dim, args.values) && same_sizes(args.values, args.indices),
               Error::bad_shape);
  call.require(self.elements() != 0, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<ExtremePlan>();
  if (plan == nullptr) return call.error();
  *plan = {{self.data, args.indices.data, self.dtype, DType::i64, around(self, dim)}, args.values.data};
  return Error::ok;
}

template <int kSign>
void execute_extreme_along(const void* plan) {
  const auto& p = *static_cast<const ExtremePlan*>(plan);
  reduce_any::execute_arg<kSign>(&p.arg);
  const std::size_t width = size_of(p.arg.self_type);
  const Around& shape = p.arg.shape;
  for (std::uint32_t o = 0; o < shape.outer; ++o) {
    for (std::uint32_t i = 0; i < shape.inner; ++i) {
      const std::uint32_t to = o * shape.inner + i;
      const std::uint32_t place = place_at(DType::i64, p.arg.out, to, shape.size);
      std::memcpy(p.values + to * width, p.arg.self + ((o * shape.size + place) * shape.inner + i) * width, width);
    }
  }
}

// ---- variances ------------------------------------------------------------------------------------------------------

struct VarUnbiased {
  Tensor self{};
  OptionalIntList dim{};
  bool unbiased{}, keepdim{};
  OutTensor out{};

  CORMORANT_FIELDS(self, dim, unbiased, keepdim, out)
};
struct VarCorrection {
  Tensor self{};
  OptionalIntList dim{};
  OptionalScalar correction{};
  bool keepdim{};
  OutTensor out{};

  CORMORANT_FIELDS(self, dim, correction, keepdim, out)
};
struct VarMean {
  Tensor self{};
  OptionalIntList dim{};
  OptionalScalar correction{};
  bool keepdim{};
  OutTensor out{}, mean{};

  CORMORANT_FIELDS(self, dim, correction, keepdim, out, mean)
};

struct VarPlan {
  static constexpr std::uint32_t kStateBytes = 76;
  const float* self;
  float* out;
  float* mean;  // may be null
  float correction;
  std::uint32_t results, count;  // count: elements per result
  std::uint8_t rank, kept;       // loops; those that are kept are in front
  struct {
    std::uint32_t size, step;
  } loops[kMaxRank];
};

[[gnu::noinline]] inline Error plan_var(Call& call, const Tensor& self, const IntList& dims, const Tensor& out,
                                        float* mean, float correction) {
  std::uint32_t reduced = 0;
  if (!reduced_dims(call, self, dims, reduced)) return call.error();
  call.require(self.dtype == DType::f32 && out.dtype == DType::f32, Error::unsupported);
  call.require(self.is_contiguous() && out.is_contiguous(), Error::unsupported);
  call.require(is_reduced_shape(self, reduced, out), Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<VarPlan>();
  if (plan == nullptr) return call.error();
  plan->self = self.as<const float>();
  plan->out = out.as<float>();
  plan->mean = mean;
  plan->correction = correction;
  plan->results = static_cast<std::uint32_t>(out.elements());
  plan->count = plan->results == 0 ? 0 : static_cast<std::uint32_t>(self.elements()) / plan->results;
  for (const bool kept : {true, false}) {
    auto step = static_cast<std::uint32_t>(self.elements());
    for (std::uint32_t i = 0; i < self.rank; ++i) {
      const auto size = static_cast<std::uint32_t>(self.sizes[i]);
      step = size == 0 ? 0 : step / size;
      if (((reduced >> i & 1U) == 0) == kept) plan->loops[plan->rank++] = {size, step};
    }
    if (kept) plan->kept = plan->rank;
  }
  return Error::ok;
}

template <class Signature>
Error load_var(Call& call) {
  Signature args;
  if (!call.read_signature(args)) return call.error();
  float correction = 1;
  float* mean = nullptr;
  if constexpr (requires { args.unbiased; }) {
    correction = args.unbiased ? 1.0F : 0.0F;
  } else {
    correction = args.correction.value_or(1);
  }
  if constexpr (requires { args.mean; }) {
    call.require(args.mean.lies_like(args.out) && args.mean.dtype == DType::f32, Error::bad_shape);
    mean = args.mean.template as<float>();
  }
  return plan_var(call, args.self, args.dim, args.out, mean, correction);
}

// The next position along loops from `first` on.
template <class Loops>
void advance(const Loops& loops, std::uint32_t first, std::uint32_t end, std::uint32_t* turn, std::uint32_t& at) {
  for (std::uint32_t d = end; d-- > first;) {
    at += loops[d].step;
    if (++turn[d] < loops[d].size) break;
    at -= loops[d].step * loops[d].size;
    turn[d] = 0;
  }
}

inline void execute_var(const void* plan) {
  const auto& p = *static_cast<const VarPlan*>(plan);
  std::uint32_t turn[kMaxRank] = {};
  std::uint32_t at = 0;
  const auto count = static_cast<float>(p.count);
  const float divisor = count - p.correction > 0 ? count - p.correction : 0.0F;
  for (std::uint32_t r = 0; r < p.results; ++r) {
    float sum = 0;
    for (std::uint32_t i = 0; i < p.count; ++i) {
      sum += p.self[at];
      advance(p.loops, p.kept, p.rank, turn, at);
    }
    const float mean = sum / count;
    float squares = 0;
    for (std::uint32_t i = 0; i < p.count; ++i) {
      const float apart = p.self[at] - mean;
      squares += apart * apart;
      advance(p.loops, p.kept, p.rank, turn, at);
    }
    p.out[r] = squares / divisor;
    if (p.mean != nullptr) p.mean[r] = mean;
    advance(p.loops, 0, p.kept, turn, at);
  }
}

// ---- distances ------------------------------------------------------------------------------------------------------

struct Cdist {
  Tensor x1{}, x2{};
  float p{};
  OptionalInt compute_mode{};
  OutTensor out{};

  CORMORANT_FIELDS(x1, x2, p, compute_mode, out)
};
struct Pdist {
  Tensor self{};
  float p{};
  OutTensor out{};

  CORMORANT_FIELDS(self, p, out)
};
struct DistancePlan {
  static constexpr std::uint32_t kStateBytes = 32;
  const float* a;
  const float* b;
  float* out;
  std::uint32_t batches, rows, columns, size;
  float p;
};

inline Error load_cdist(Call& call) {
  Cdist args;
  if (!call.read_signature(args)) return call.error();
  const Tensor& x1 = args.x1;
  const Tensor& x2 = args.x2;
  const Tensor& out = args.out;
  call.require(x1.dtype == DType::f32 && x2.dtype == DType::f32 && out.dtype == DType::f32, Error::unsupported);
  call.require(x1.is_contiguous() && x2.is_contiguous() && out.is_contiguous(), Error::unsupported);
  call.require(args.p >= 0, Error::bad_value);
  const std::int32_t rank = x1.rank;
  call.require(rank >= 2 && x2.rank == rank && out.rank == rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  std::uint32_t batches = 1;
  for (std::int32_t i = 0; i + 2 < rank; ++i) {
    call.require(x1.sizes[i] == out.sizes[i] && x2.sizes[i] == out.sizes[i], Error::unsupported);
    batches *= static_cast<std::uint32_t>(out.sizes[i]);
  }
  call.require(x1.sizes[rank - 2] == out.sizes[rank - 2] && x2.sizes[rank - 2] == out.sizes[rank - 1] &&
                   x1.sizes[rank - 1] == x2.sizes[rank - 1],
               Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<DistancePlan>();
  if (plan == nullptr) return call.error();
  *plan = {x1.as<const float>(),
           x2.as<const float>(),
           out.as<float>(),
           batches,
           static_cast<std::uint32_t>(x1.sizes[rank - 2]),
           static_cast<std::uint32_t>(x2.sizes[rank - 2]),
           static_cast<std::uint32_t>(x1.sizes[rank - 1]),
           args.p};
  return Error::ok;
}

inline Error load_pdist(Call& call) {
  Pdist args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, p, out] = args;
  call.require(self.dtype == DType::f32 && out.dtype == DType::f32, Error::unsupported);
  call.require(self.is_contiguous() && out.is_contiguous(), Error::unsupported);
  call.require(p >= 0, Error::bad_value);
  call.require(self.rank == 2 && out.rank == 1, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const std::int64_t rows = self.sizes[0];
  call.require(out.sizes[0] == rows * (rows - 1) / 2, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<DistancePlan>();
  if (plan == nullptr) return call.error();
  *plan = {self.as<const float>(),
           self.as<const float>(),
           out.as<float>(),
           1,
           static_cast<std::uint32_t>(rows),
           static_cast<std::uint32_t>(rows),
           static_cast<std::uint32_t>(self.sizes[1]),
           p};
  return Error::ok;
}

inline float distance(const float* a, const float* b, std::uint32_t size, float p) {
  float sum = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const float apart = float_math::abs(a[i] - b[i]);
    if (p == 0) {
      sum += apart != 0 ? 1.0F : 0.0F;
    } else if (p == 1) {
      sum += apart;
    } else if (p == 2) {
      sum += apart * apart;
    } else if (p == float_math::kInfinity) {
      sum = apart > sum || apart != apart ? apart : sum;
    } else {
      sum += float_math::pow(apart, p);
    }
  }
  if (p == 2) return float_math::sqrt(sum);
  return p == 0 || p == 1 || p == float_math::kInfinity ? sum : float_math::pow(sum, 1 / p);
}

inline void execute_cdist(const void* plan) {
  const auto& p = *static_cast<const DistancePlan*>(plan);
  float* out = p.out;
  for (std::uint32_t n = 0; n < p.batches; ++n) {
    const float* const b = p.b + std::size_t{n} * p.columns * p.size;
    for (std::uint32_t r = 0; r < p.rows; ++r) {
      const float* const a = p.a + (std::size_t{n} * p.rows + r) * p.size;
      for (std::uint32_t c = 0; c < p.columns; ++c) *out++ = distance(a, b + std::size_t{c} * p.size, p.size, p.p);
    }
  }
}

inline void execute_pdist(const void* plan) {
  const auto& p = *static_cast<const DistancePlan*>(plan);
  float* out = p.out;
  for (std::uint32_t r = 0; r < p.rows; ++r) {
    for (std::uint32_t c = r + 1; c < p.rows; ++c) {
      *out++ = distance(p.a + std::size_t{r} * p.size, p.a + std::size_t{c} * p.size, p.size, p.p);
    }
  }
}

}  // namespace cormorant::ops::portable
