// SPDX-License-Identifier: Apache-2.0
//
// Positions given by index tensors. A negative index counts from the end. One that is outside its dimension reads the
// nearest element inside, and writes nothing; PyTorch refuses it.
#pragma once

#include "base/checked_size.h"
#include "base/fields.h"
#include "ops/argsort/kernel.h"
#include "ops/gather/kernel.h"
#include "ops/load/broadcast.h"
#include "ops/portable/numbers.h"
#include "ops/scatter/kernel.h"

namespace cormorant::ops::portable {

struct Embedding {
  Tensor weight{}, indices{};
  std::int32_t padding_idx{};
  bool scale_grad_by_freq{}, sparse{};
  OutTensor out{};

  CORMORANT_FIELDS(weight, indices, padding_idx, scale_grad_by_freq, sparse, out)
};

inline Error load_embedding(Call& call) {
  Embedding args;
  if (!call.read_signature(args)) return call.error();
  const Tensor& weight = args.weight;
  const Tensor& indices = args.indices;
  const Tensor& out = args.out;
  call.require(weight.dtype == out.dtype && is_integer(indices.dtype), Error::unsupported);
  call.require(weight.is_contiguous() && indices.is_contiguous() && out.is_contiguous(), Error::unsupported);
  call.require(weight.rank == 2 && out.rank == indices.rank + 1, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  for (std::int32_t i = 0; i < indices.rank; ++i) call.require(out.sizes[i] == indices.sizes[i], Error::bad_shape);
  call.require(out.sizes[indices.rank] == weight.sizes[1], Error::bad_shape);
  call.require(weight.sizes[0] > 0 || out.elements() == 0, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<gather::SelectPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.self = weight.data,
           .index = indices.data,
           .out = out.data,
           .index_type = indices.dtype,
           .outer = 1,
           .size = static_cast<std::uint32_t>(weight.sizes[0]),
           .places = static_cast<std::uint32_t>(indices.elements()),
           .bytes = static_cast<std::uint32_t>(weight.sizes[1]) * static_cast<std::uint32_t>(size_of(weight.dtype))};
  return Error::ok;
}

// ---- self[indices] --------------------------------------------------------------------------------------------------

// One of the index tensors, which broadcast against each other.
struct IndexOf {
  static constexpr std::uint32_t kStateBytes = 40;
  const std::byte* data;
  DType dtype;
  std::uint32_t size, step;      // of the dimension of self that it is for
  std::int32_t steps[kMaxRank];  // its own, for the dimensions of the view
};
// All indices together: how many dimensions of self they take, the first of them, whether they are adjacent, and their
// broadcast shape, aligned at the end.
struct IndexShape {
  std::uint32_t count = 0, rank = 0, first = 0;
  bool together = true;
  std::int32_t sizes[kMaxRank] = {};
};
// The indexed elements, as a tensor: dimensions of self without an index, and those of the indices, which are where the
// first index is if all are adjacent, else in front.
struct ViewPlan {
  static constexpr std::uint32_t kStateBytes = 140;
  std::byte* tensor;  // of self's shape
  std::byte* other;   // the view's elements
  const std::byte* self;
  IndexOf* indices;
  std::uint32_t count, tensor_bytes;
  DType dtype;
  bool accumulates;
  std::uint8_t rank, index_count;
  struct {
    std::uint32_t size, step;  // step of self; 0 in the indices' dimensions
    std::int32_t other_step;
  } loops[kMaxRank];
  IndexShape shape;  // only needed while loading: there is no room on the stack
};

// A plan with the indices' shape. Called before plan_view, not by it, because the arguments are on the stack while they
// are read.
[[gnu::noinline]] inline ViewPlan* begin_view(Call& call, const OptionalTensorList& list, std::uint32_t rank) {
  auto* const plan = call.make_plan<ViewPlan>();
  if (plan == nullptr) return nullptr;
  IndexShape& shape = plan->shape;
  call.require(list.count <= rank, Error::bad_shape);
  if (call.error() != Error::ok) return nullptr;
  std::uint32_t last = 0;
  for (std::int32_t& size : shape.sizes) size = 1;
  for (std::uint32_t i = 0; i < list.count; ++i) {
    OptionalTensor index;
    if (!call.item(list, i, index)) return nullptr;
    if (!index.present()) continue;
    call.require(is_integer(index.dtype) && index.dtype != DType::boolean && index.dtype != DType::u8,
                 Error::unsupported);
    call.require(index.is_contiguous(), Error::unsupported);
    if (shape.count == 0) {
      shape.first = i;
    } else if (last + 1 != i) {
      shape.together = false;
    }
    last = i;
    ++shape.count;
    if (index.rank > shape.rank) shape.rank = index.rank;
    for (std::uint32_t d = 0; d < index.rank; ++d) {
      std::int32_t& size = shape.sizes[kMaxRank - index.rank + d];
      if (index.sizes[d] != 1) {
        call.require(size == 1 || size == index.sizes[d], Error::bad_shape);
        size = index.sizes[d];
      }
    }
  }
  call.require(shape.count != 0, Error::unsupported);
  call.require(shape.rank + rank - shape.count <= kMaxRank, Error::unsupported);
  return call.error() == Error::ok ? plan : nullptr;
}

// The view's loops and indices. Never inlined, because the arguments are on the stack while they are read.
[[gnu::noinline]] inline bool plan_view(Call& call, const OptionalTensorList& list, const Tensor& self,
                                        ViewPlan* plan) {
  if (plan == nullptr) return false;
  call.require(is_number(self.dtype), Error::unsupported);
  if (call.error() != Error::ok) return false;
  const IndexShape& shape = plan->shape;
  std::int32_t steps[kMaxRank];  // in whichever order the elements are in memory
  broadcast_strides(self, self, steps);
  auto* const indices = call.allocate_list<IndexOf>(shape.count);
  if (indices == nullptr) return false;
  plan->indices = indices;
  plan->dtype = self.dtype;
  plan->tensor_bytes = self.bytes();
  plan->index_count = static_cast<std::uint8_t>(shape.count);
  plan->rank = static_cast<std::uint8_t>(shape.rank + self.rank - shape.count);
  const std::uint32_t place = shape.together ? shape.first : 0;
  std::uint32_t at = 0;
  IndexOf* to = indices;
  CheckedSize count(1U);
  const auto put_indices = [&] {
    for (std::uint32_t d = 0; d < shape.rank; ++d) {
      const auto size = static_cast<std::uint32_t>(shape.sizes[kMaxRank - shape.rank + d]);
      plan->loops[at++] = {size, 0, 0};
      count = count * size;
    }
  };
  for (std::uint32_t i = 0; i < self.rank; ++i) {
    if (at == place && i == place) put_indices();
    const auto size = static_cast<std::uint32_t>(self.sizes[i]);
    const auto step = static_cast<std::uint32_t>(steps[i]);
    OptionalTensor index;
    if (i < list.count && !call.item(list, i, index)) return false;
    if (!index.present()) {
      plan->loops[at++] = {size, step, 0};
      count = count * size;
      continue;
    }
    *to = {index.data, index.dtype, size, step, {}};
    std::int32_t own = 1;
    for (std::uint32_t d = index.rank; d-- > 0;) {
      const std::uint32_t dim = place + shape.rank - index.rank + d;
      to->steps[dim] = index.sizes[d] == 1 ? 0 : own;
      own *= index.sizes[d];
    }
    ++to;
    call.require(size != 0, Error::bad_shape);
  }
  call.require(count <= 0x7FFFFFFFU, Error::bad_shape);
  plan->count = count.value();
  return call.error() == Error::ok;
}

// Of a tensor whose dimensions are the view's last.
[[gnu::noinline]] inline void put_other_steps(const Tensor& other, ViewPlan& plan) {
  std::int32_t steps[kMaxRank];
  broadcast_strides(other, other, steps);
  for (std::uint32_t i = 0; i < other.rank; ++i) plan.loops[plan.rank - other.rank + i].other_step = steps[i];
}

// use(place in self, place in the other, whether all indices are inside)
template <class F>
void for_each_place(const ViewPlan& p, F use) {
  std::uint32_t turn[kMaxRank] = {};
  std::uint32_t base = 0;
  std::int32_t other = 0;
  for (std::uint32_t i = 0; i < p.count; ++i) {
    std::uint32_t place = base;
    bool inside = true;
    for (std::uint32_t k = 0; k < p.index_count; ++k) {
      const IndexOf& index = p.indices[k];
      std::int32_t at = 0;
      for (std::uint32_t d = 0; d < p.rank; ++d) at += static_cast<std::int32_t>(turn[d]) * index.steps[d];
      std::int64_t value = integer_at(index.dtype, index.data, static_cast<std::uint32_t>(at));
      if (value < 0) value += index.size;
      if (value < 0 || value >= index.size) {
        inside = false;
        value = value < 0 ? 0 : index.size - 1;
      }
      place += static_cast<std::uint32_t>(value) * index.step;
    }
    use(place, static_cast<std::uint32_t>(other), inside);
    for (std::uint32_t d = p.rank; d-- > 0;) {
      base += p.loops[d].step;
      other += p.loops[d].other_step;
      if (++turn[d] < p.loops[d].size) break;
      base -= p.loops[d].step * p.loops[d].size;
      other -= p.loops[d].other_step * static_cast<std::int32_t>(p.loops[d].size);
      turn[d] = 0;
    }
  }
}

struct Index {
  Tensor self{};
  OptionalTensorList indices{};
  OutTensor out{};

  CORMORANT_FIELDS(self, indices, out)
};

// The signature's own check does not cover tensors in lists.
inline void require_indices_apart(Call& call, const OptionalTensorList& list, const Tensor& out) {
  for (std::uint32_t i = 0; i < list.count; ++i) {
    OptionalTensor index;
    if (!call.item(list, i, index)) return;
    if (index.present() && !index.constant) call.require_apart(index, out);
  }
}

inline Error load_index(Call& call) {
  Index args;
  if (!call.read_signature(args)) return call.error();
  ViewPlan* const plan = begin_view(call, args.indices, args.self.rank);
  if (!plan_view(call, args.indices, args.self, plan)) return call.error();
  require_indices_apart(call, args.indices, args.out);
  call.require(args.out.dtype == args.self.dtype, Error::unsupported);
  call.require(args.out.rank == plan->rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  for (std::uint32_t i = 0; i < plan->rank; ++i) {
    call.require(static_cast<std::uint32_t>(args.out.sizes[i]) == plan->loops[i].size, Error::bad_shape);
  }
  put_other_steps(args.out, *plan);
  plan->self = args.self.data;
  plan->other = args.out.data;
  return call.error();
}

inline void execute_index(const void* plan) {
  const auto& p = *static_cast<const ViewPlan*>(plan);
  const std::size_t width = size_of(p.dtype);
  for_each_place(p, [&](std::uint32_t place, std::uint32_t to, bool) {
    std::memcpy(p.other + to * width, p.self + place * width, width);
  });
}

struct IndexPut {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{};
  OptionalTensorList indices{};
  Tensor values{};
  bool accumulate{};
  OutTensor out{};

  CORMORANT_FIELDS(self, indices, values, accumulate, out)
};

[[gnu::noinline]] inline Error plan_index_put(Call& call, ViewPlan* plan, const Tensor& self,
                                              const OptionalTensorList& indices, const Tensor& values, bool accumulate,
                                              const Tensor& out) {
  require_indices_apart(call, indices, out);
  if (!values.constant) call.require_apart(values, out);
  call.require(values.dtype == out.dtype && self.dtype == out.dtype, Error::unsupported);
  call.require(self.lies_like(out) && values.rank <= plan->rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  for (std::uint32_t i = 0; i < values.rank; ++i) {
    const auto size = static_cast<std::uint32_t>(values.sizes[i]);
    call.require(size == 1 || size == plan->loops[plan->rank - values.rank + i].size, Error::bad_shape);
  }
  put_other_steps(values, *plan);
  plan->self = self.data;
  plan->tensor = out.data;
  plan->other = values.data;
  plan->accumulates = accumulate;
  return call.error();
}

inline Error load_index_put(Call& call) {
  IndexPut args;
  if (!call.read_signature(args)) return call.error();
  ViewPlan* const plan = begin_view(call, args.indices, args.self.rank);
  if (!plan_view(call, args.indices, args.self, plan)) return call.error();
  return plan_index_put(call, plan, args.self, args.indices, args.values, args.accumulate, args.out);
}

inline void execute_index_put(const void* plan) {
  const auto& p = *static_cast<const ViewPlan*>(plan);
  if (p.tensor != p.self) std::memcpy(p.tensor, p.self, p.tensor_bytes);
  for_each_place(p, [&](std::uint32_t place, std::uint32_t from, bool inside) {
    if (!inside) return;
    if (p.dtype == DType::f32) {
      const float before = p.accumulates ? element<float>(p.tensor, place) : 0;
      const float value = element<float>(p.other, from);
      set_element(p.tensor, place, p.accumulates ? before + value : value);
    } else {
      const std::int64_t before = p.accumulates ? integer_at(p.dtype, p.tensor, place) : 0;
      set_integer(p.dtype, p.tensor, place, scatter::Add::of(before, integer_at(p.dtype, p.other, from)));
    }
  });
}

// In place, as a program changes its state: aten::index_put_ and aten::copy_ return the tensor as their result.
struct IndexPutInPlace {
  static constexpr Overlap kOverlap = Overlap::in_place;
  OutTensor self{};
  OptionalTensorList indices{};
  Tensor values{};
  bool accumulate{};
  Tensor result{};

  CORMORANT_FIELDS(self, indices, values, accumulate, result)
};
inline Error load_index_put_in_place(Call& call) {
  IndexPutInPlace args;
  if (!call.read_signature(args)) return call.error();
  call.require(args.result.data == args.self.data, Error::bad_value);
  ViewPlan* const plan = begin_view(call, args.indices, args.self.rank);
  if (!plan_view(call, args.indices, args.self, plan)) return call.error();
  return plan_index_put(call, plan, args.self, args.indices, args.values, args.accumulate, args.self);
}

struct CopyInPlace {
  static constexpr Overlap kOverlap = Overlap::in_place;
  OutTensor self{};
  Tensor src{};
  bool non_blocking{};
  Tensor result{};

  CORMORANT_FIELDS(self, src, non_blocking, result)
};
inline Error load_copy_in_place(Call& call) {
  CopyInPlace args;
  if (!call.read_signature(args)) return call.error();
  call.require(args.result.data == args.self.data, Error::bad_value);
  return plan_numbers(call, {&args.src}, args.self, args.self.dtype == DType::f32);
}

// ---- a part of a tensor replaced ------------------------------------------------------------------------------------

struct ScatterValue {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{};
  std::int32_t dim{};
  Tensor index{};
  Number value{};
  OutTensor out{};

  CORMORANT_FIELDS(self, dim, index, value, out)
};

inline Error load_scatter_value(Call& call) {
  ScatterValue args;
  if (!call.read_signature(args)) return call.error();
  if (!args.index.constant) call.require_apart(args.index, args.out);
  // One element, at every index.
  Tensor src = args.index;
  src.dtype = args.out.dtype;
  src.data = number_tensor(call, args.value, args.out.dtype == DType::f32).data;
  auto* const plan = call.make_plan<scatter::Plan>();
  if (call.error() != Error::ok) return call.error();
  if (args.out.dtype != DType::f32) set_integer(args.out.dtype, src.data, 0, args.value.integer);
  scatter::Scatter<TargetWorld> as_tensor;
  as_tensor.self = args.self;
  as_tensor.dim = args.dim;
  as_tensor.index = args.index;
  as_tensor.src = src;
  as_tensor.out = args.out;
  call.fail(scatter::plan_scatter(as_tensor, *plan));
  for (auto& loop : plan->loops) loop.src_step = 0;
  return call.error();
}

struct SelectScatter {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{}, src{};
  std::int32_t dim{}, index{};
  OutTensor out{};

  CORMORANT_FIELDS(self, src, dim, index, out)
};
struct SliceScatter {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{}, src{};
  std::int32_t dim{};
  OptionalInt start{}, end{};
  std::int32_t step{};
  OutTensor out{};

  CORMORANT_FIELDS(self, src, dim, start, end, step, out)
};

struct PartPlan {
  static constexpr std::uint32_t kStateBytes = 40;
  const std::byte* self;  // may be the output
  const std::byte* src;
  std::byte* out;
  std::uint32_t bytes;  // of the result
  std::uint32_t outer, places, run;
  std::uint32_t first, step, outer_step;  // all in bytes
};

// `places` entries of src along a dimension of self, from `start` on, `step` apart.
[[gnu::noinline]] inline Error plan_part(Call& call, const Tensor& self, const Tensor& src, const Tensor& out,
                                         std::int32_t dim, std::int32_t start, std::int32_t step, std::int32_t places) {
  call.require(self.dtype == out.dtype && src.dtype == out.dtype, Error::unsupported);
  call.require(self.is_contiguous() && src.is_contiguous() && out.is_contiguous(), Error::unsupported);
  call.require(same_sizes(self, out), Error::bad_shape);
  if (!src.constant) call.require_apart(src, out);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<PartPlan>();
  if (plan == nullptr) return call.error();
  const Around a = around(self, dim);
  const auto run = a.inner * static_cast<std::uint32_t>(size_of(self.dtype));
  *plan = {.self = self.data,
           .src = src.data,
           .out = out.data,
           .bytes = out.bytes(),
           .outer = a.outer,
           .places = static_cast<std::uint32_t>(places),
           .run = run,
           .first = static_cast<std::uint32_t>(start) * run,
           .step = places > 1 ? static_cast<std::uint32_t>(step) * run : 0,
           .outer_step = a.size * run};
  return Error::ok;
}

inline Error load_select_scatter(Call& call) {
  SelectScatter args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, src, signed_dim, signed_index, out] = args;
  const std::int32_t dim = dim_of(signed_dim, self);
  call.require(dim >= 0 && self.rank == src.rank + 1, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  for (std::int32_t i = 0; i < src.rank; ++i)
    call.require(src.sizes[i] == self.sizes[i < dim ? i : i + 1], Error::bad_shape);
  const std::int32_t size = self.sizes[dim];
  call.require(signed_index >= -size && signed_index < size, Error::bad_value);
  return plan_part(call, self, src, out, dim, signed_index < 0 ? signed_index + size : signed_index, 1, 1);
}

inline std::int32_t bound_of(std::int32_t bound, std::int32_t size) {
  if (bound < 0) bound += size;
  return bound < 0 ? 0 : bound > size ? size : bound;
}
inline Error load_slice_scatter(Call& call) {
  SliceScatter args;
  if (!call.read_signature(args)) return call.error();
  const Tensor& self = args.self;
  const Tensor& src = args.src;
  const std::int32_t dim = dim_of(args.dim, self);
  call.require(dim >= 0 && self.rank != 0 && self.rank == src.rank && args.step >= 1, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const std::int32_t size = self.sizes[dim];
  const std::int32_t start = bound_of(args.start.value_or(0), size);
  const std::int32_t end = bound_of(args.end.value_or(size), size);
  const std::int32_t places = end <= start ? 0 : (end - start - 1) / args.step + 1;
  for (std::int32_t i = 0; i < src.rank; ++i) {
    call.require(src.sizes[i] == (i == dim ? places : self.sizes[i]), Error::bad_shape);
  }
  return plan_part(call, self, src, args.out, dim, places == 0 ? 0 : start, args.step, places);
}

inline void execute_part(const void* plan) {
  const auto& p = *static_cast<const PartPlan*>(plan);
  if (p.out != p.self) std::memcpy(p.out, p.self, p.bytes);
  const std::byte* src = p.src;
  std::byte* out = p.out + p.first;
  for (std::uint32_t o = 0; o < p.outer; ++o, out += p.outer_step) {
    for (std::uint32_t i = 0; i < p.places; ++i, src += p.run) std::memcpy(out + std::size_t{i} * p.step, src, p.run);
  }
}

// ---- the largest few ------------------------------------------------------------------------------------------------

struct TopK {
  Tensor self{};
  std::int32_t k{}, dim{};
  bool largest{}, sorted{};  // they are in any case
  OutTensor values{}, indices{};

  CORMORANT_FIELDS(self, k, dim, largest, sorted, values, indices)
};
struct TopKPlan {
  static constexpr std::uint32_t kStateBytes = 32;
  const std::byte* self;
  std::byte* values;
  std::byte* indices;
  DType dtype;
  bool largest;
  std::uint32_t k;
  Around shape;
};

inline Error load_topk(Call& call) {
  TopK args;
  if (!call.read_signature(args)) return call.error();
  const Tensor& self = args.self;
  const std::int32_t dim = dim_of(args.dim, self);
  call.require(is_number(self.dtype) && args.values.dtype == self.dtype && args.indices.dtype == DType::i64,
               Error::unsupported);
  call.require(self.is_contiguous() && args.values.is_contiguous() && args.indices.is_contiguous(), Error::unsupported);
  call.require(dim >= 0 && self.rank == args.values.rank && same_sizes(args.values, args.indices), Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  for (std::int32_t i = 0; i < self.rank; ++i) {
    call.require(args.values.sizes[i] == (i == dim ? args.k : self.sizes[i]), Error::bad_shape);
  }
  const Around shape = around(self, dim);
  call.require(args.k >= 0 && static_cast<std::uint32_t>(args.k) <= shape.size, Error::bad_value);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<TopKPlan>();
  if (plan == nullptr) return call.error();
  *plan = {self.data, args.values.data, args.indices.data, self.dtype, args.largest, static_cast<std::uint32_t>(args.k),
           shape};
  return Error::ok;
}

// The best so far are in the result, in order; each further element is inserted among them or dropped.
inline void execute_topk(const void* plan) {
  const auto& p = *static_cast<const TopKPlan*>(plan);
  const std::size_t width = size_of(p.dtype);
  const std::uint32_t inner = p.shape.inner;
  for (std::uint32_t o = 0; o < p.shape.outer; ++o) {
    for (std::uint32_t i = 0; i < inner; ++i) {
      const std::uint32_t row = o * p.shape.size * inner + i;
      const std::uint32_t to = o * p.k * inner + i;
      const auto placed = [&](std::uint32_t at) {
        return place_at(DType::i64, p.indices, to + at * inner, p.shape.size);
      };
      for (std::uint32_t n = 0; n < p.shape.size; ++n) {
        std::uint32_t at = n < p.k ? n : p.k;
        while (at > 0) {
          const std::uint32_t a = row + n * inner, b = row + placed(at - 1) * inner;
          const bool is_better = p.largest ? argsort::is_less(p.dtype, p.self, b, p.self, a)
                                           : argsort::is_less(p.dtype, p.self, a, p.self, b);
          if (!is_better) break;
          if (at < p.k) set_integer(DType::i64, p.indices, to + at * inner, placed(at - 1));
          --at;
        }
        if (at < p.k) set_integer(DType::i64, p.indices, to + at * inner, n);
      }
      for (std::uint32_t n = 0; n < p.k; ++n) {
        std::memcpy(p.values + (to + std::size_t{n} * inner) * width,
                    p.self + (row + std::size_t{placed(n)} * inner) * width, width);
      }
    }
  }
}

}  // namespace cormorant::ops::portable
