// SPDX-License-Identifier: Apache-2.0
//
// Tensors combined with numbers from the program: the number becomes a tensor of one element in the state memory, and
// the rest is ops/map. The types decide which arithmetic (base/element.h): the result's and, for comparisons, the
// operands'.
#pragma once

#include "base/fields.h"
#include "ops/map/kernel.h"
#include "runtime/kernel.h"

namespace cormorant::ops::portable {

struct WithNumber {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{};
  Number other{};
  OutTensor out{};

  CORMORANT_FIELDS(self, other, out)
};
struct WithNumberAlpha {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{};
  Number other{}, alpha{};
  OutTensor out{};

  CORMORANT_FIELDS(self, other, alpha, out)
};
template <class Other>
struct WithMode {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{};
  Other other{};
  std::string_view rounding_mode;
  OutTensor out{};

  CORMORANT_FIELDS(self, other, rounding_mode, out)
};
struct ClampTensor {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{};
  OptionalTensor min{}, max{};
  OutTensor out{};

  CORMORANT_FIELDS(self, min, max, out)
};
struct MaskedFill {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{}, mask{};
  Number value{};
  OutTensor out{};

  CORMORANT_FIELDS(self, mask, value, out)
};
struct CopyOf {  // aten::copy.out: src in the shape and type of self
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{}, src{};
  bool non_blocking{};
  OutTensor out{};

  CORMORANT_FIELDS(self, src, non_blocking, out)
};

// The number as a tensor of one element; no data (and a failure) when the state is used up.
inline Tensor number_tensor(Call& call, const Number& number, bool is_real) {
  Tensor tensor;
  tensor.dtype = is_real ? DType::f32 : DType::i64;
  tensor.data = reinterpret_cast<std::byte*>(call.allocate<std::int64_t>());
  if (tensor.data == nullptr) return tensor;
  if (is_real) {
    set_element(tensor.data, 0, number.real);
  } else {
    set_element(tensor.data, 0, number.integer);
  }
  return tensor;
}

template <std::size_t kCount>
Error plan_numbers(Call& call, const Tensor* const (&operands)[kCount], const Tensor& out, bool is_real) {
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<map::Plan>();
  if (plan == nullptr) return call.error();
  call.fail(map::plan_operands(operands, kCount, out, *plan));
  for (const Tensor* operand : operands) {  // in place: an element is read before it is written
    const bool is_same = size_of(operand->dtype) == size_of(out.dtype) && operand->lies_like(out);
    call.require(operand->data != out.data || is_same, Error::bad_memory);
  }
  plan->is_real = plan->is_real || is_real;
  return call.error();
}

inline bool is_computed_real(const Tensor& self, const Number& number, const Tensor& out) {
  return self.dtype == DType::f32 || out.dtype == DType::f32 || (out.dtype == DType::boolean && !number.is_integer);
}

inline Error plan_with_number(Call& call, const Tensor& self, const Number& number, const Tensor& out) {
  const bool is_real = is_computed_real(self, number, out);
  const Tensor other = number_tensor(call, number, is_real);
  return plan_numbers(call, {&self, &other}, out, is_real);
}

inline Error load_number(Call& call) {
  WithNumber args;
  if (!call.read_signature(args)) return call.error();
  return plan_with_number(call, args.self, args.other, args.out);
}

inline Error load_number_alpha(Call& call) {
  WithNumberAlpha args;
  if (!call.read_signature(args)) return call.error();
  const Number product = {map::wrapped_product(args.other.integer, args.alpha.integer),
                          args.other.real * args.alpha.real, args.other.is_integer && args.alpha.is_integer};
  return plan_with_number(call, args.self, product, args.out);
}

inline Error load_reversed(Call& call) {
  WithNumberAlpha args;
  if (!call.read_signature(args)) return call.error();
  const bool is_real = is_computed_real(args.self, args.other, args.out);
  const Tensor other = number_tensor(call, args.other, is_real);
  const Tensor alpha = number_tensor(call, args.alpha, is_real);
  return plan_numbers(call, {&args.self, &other, &alpha}, args.out, is_real);
}
struct ReverseSubtract {
  template <class T>
  static T of(T a, T b, T alpha) {
    return map::Subtract::of(b, map::Multiply::of(a, alpha, T{0}), T{0});
  }
};

struct Divide {
  static float of(float a, float b, float) { return a / b; }
  static std::int64_t of(std::int64_t a, std::int64_t b, std::int64_t) {
    return map::TruncDivide::of(a, b, std::int64_t{0});
  }
};
// 0 as it is, 1 towards zero, 2 downwards.
struct DivideByMode {
  template <class T>
  static T of(T a, T b, T mode) {
    return mode == 0   ? Divide::of(a, b, T{0})
           : mode == 1 ? map::TruncDivide::of(a, b, T{0})
                       : map::FloorDivide::of(a, b, T{0});
  }
};
inline Tensor mode_tensor(Call& call, std::string_view name, bool is_real) {
  Number mode{0, 0, true};
  if (name == "trunc") {
    mode = {1, 1, true};
  } else if (name == "floor") {
    mode = {2, 2, true};
  } else {
    call.require(name.empty(), Error::bad_value);
  }
  return number_tensor(call, mode, is_real);
}
inline Error load_number_mode(Call& call) {
  WithMode<Number> args;
  if (!call.read_signature(args)) return call.error();
  const bool is_real = is_computed_real(args.self, args.other, args.out);
  const Tensor other = number_tensor(call, args.other, is_real);
  const Tensor mode = mode_tensor(call, args.rounding_mode, is_real);
  return plan_numbers(call, {&args.self, &other, &mode}, args.out, is_real);
}
inline Error load_tensor_mode(Call& call) {
  WithMode<Tensor> args;
  if (!call.read_signature(args)) return call.error();
  const bool is_real = args.out.dtype == DType::f32;
  const Tensor mode = mode_tensor(call, args.rounding_mode, is_real);
  return plan_numbers(call, {&args.self, &args.other, &mode}, args.out, is_real);
}

struct Clamp {
  template <class T>
  static T of(T x, T low, T high) {
    const T above = x < low ? low : x;  // x itself where both are equal: zeros keep their sign
    return above > high ? high : above;
  }
};
inline Error load_clamp_tensor(Call& call) {
  ClampTensor args;
  if (!call.read_signature(args)) return call.error();
  const bool is_real = args.out.dtype == DType::f32;
  Tensor low = args.min, high = args.max;
  if (!args.min.present()) low = number_tensor(call, {INT64_MIN, -float_math::kInfinity, true}, is_real);
  if (!args.max.present()) high = number_tensor(call, {INT64_MAX, float_math::kInfinity, true}, is_real);
  return plan_numbers(call, {&args.self, &low, &high}, args.out, is_real);
}

inline Error load_masked_fill(Call& call) {
  MaskedFill args;
  if (!call.read_signature(args)) return call.error();
  call.require(args.mask.dtype == DType::boolean, Error::unsupported);
  const bool is_real = args.out.dtype == DType::f32;
  const Tensor value = number_tensor(call, args.value, is_real);
  return plan_numbers(call, {&args.mask, &value, &args.self}, args.out, is_real);
}

inline Error load_copy(Call& call) {
  CopyOf args;
  if (!call.read_signature(args)) return call.error();
  call.require(same_sizes(args.self, args.out), Error::bad_shape);
  return plan_numbers(call, {&args.src}, args.out, args.out.dtype == DType::f32);
}

// ---- tensors made of one number -------------------------------------------------------------------------------------

struct FillLike {
  Tensor self{};
  Number value{};
  OutTensor out{};

  CORMORANT_FIELDS(self, value, out)
};
struct FullLike {
  Tensor self{};
  Number value{};
  OptionalInt memory_format{};
  OutTensor out{};

  CORMORANT_FIELDS(self, value, memory_format, out)
};
struct Full {
  IntList size{};
  Number value{};
  OutTensor out{};

  CORMORANT_FIELDS(size, value, out)
};
template <int kValue>
struct Sized {
  IntList size{};
  OutTensor out{};
  Number value{kValue, kValue, true};

  CORMORANT_FIELDS(size, out)
};
// Uninitialized memory would differ from machine to machine: zeros.
template <class Format>
struct EmptyOf {
  IntList size{};
  Format format{};
  OutTensor out{};
  Number value{0, 0, true};

  CORMORANT_FIELDS(size, format, out)
};
using Empty = EmptyOf<OptionalInt>;
using EmptyDimOrder = EmptyOf<OptionalIntList>;
struct ScalarTensor {
  Number value{};
  OutTensor out{};

  CORMORANT_FIELDS(value, out)
};
struct FillTensor {
  Tensor self{}, value{};
  OutTensor out{};

  CORMORANT_FIELDS(self, value, out)
};

template <class Signature>
Error load_fill(Call& call) {
  Signature args;
  if (!call.read_signature(args)) return call.error();
  if constexpr (requires { args.self; }) call.require(same_sizes(args.self, args.out), Error::bad_shape);
  if constexpr (requires { args.size; }) {
    call.require(args.size.count == args.out.rank, Error::bad_shape);
    if (call.error() != Error::ok) return call.error();
    for (std::uint32_t i = 0; i < args.out.rank; ++i) {
      call.require(args.size.items[i] == args.out.sizes[i], Error::bad_shape);
    }
  }
  const bool is_real = args.out.dtype == DType::f32;
  const Tensor value = number_tensor(call, args.value, is_real);
  return plan_numbers(call, {&value}, args.out, is_real);
}

inline Error load_fill_tensor(Call& call) {
  FillTensor args;
  if (!call.read_signature(args)) return call.error();
  call.require(same_sizes(args.self, args.out) && args.value.elements() == 1 && args.value.rank <= args.out.rank,
               Error::bad_shape);
  return plan_numbers(call, {&args.value}, args.out, args.out.dtype == DType::f32);
}

// ---- counting -------------------------------------------------------------------------------------------------------

struct UpTo {
  Number start{0, 0, true}, end{}, step{1, 1, true};
  OutTensor out{};

  CORMORANT_FIELDS(end, out)
};
struct FromTo {
  Number start{}, end{}, step{};
  OutTensor out{};

  CORMORANT_FIELDS(start, end, step, out)
};

struct ArangePlan {
  static constexpr std::uint32_t kStateBytes = 48;
  static constexpr std::uint32_t kStateAlignment = 8;
  std::byte* out;
  DType dtype;
  bool is_real;
  std::uint32_t count;
  Number start, step;
};

// The count of numbers is the result's size, which the file gives.
template <class Signature>
Error load_arange(Call& call) {
  Signature args;
  if (!call.read_signature(args)) return call.error();
  call.require(is_number(args.out.dtype), Error::unsupported);
  call.require(args.out.rank == 1, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<ArangePlan>();
  if (plan == nullptr) return call.error();
  *plan = {args.out.data,
           args.out.dtype,
           !args.start.is_integer || !args.step.is_integer,
           static_cast<std::uint32_t>(args.out.elements()),
           args.start,
           args.step};
  return Error::ok;
}

inline void execute_arange(const void* plan) {
  const auto& p = *static_cast<const ArangePlan*>(plan);
  for (std::uint32_t i = 0; i < p.count; ++i) {
    if (p.is_real) {
      set_real(p.dtype, p.out, i, p.start.real + static_cast<float>(i) * p.step.real);
    } else {
      const std::int64_t way = map::wrapped_product(p.step.integer, i);
      set_integer(p.dtype, p.out, i, map::Add::of(p.start.integer, way, std::int64_t{0}));
    }
  }
}

// ---- others ---------------------------------------------------------------------------------------------------------

struct MaskedScatter {
  Tensor self{}, mask{}, source{};
  OutTensor out{};

  CORMORANT_FIELDS(self, mask, source, out)
};

// Where the mask is true, the source's elements in order; nothing once they are used up (PyTorch refuses that).
struct MaskedScatterPlan {
  static constexpr std::uint32_t kStateBytes = 140;
  map::Plan map;  // of mask and self
  const std::byte* source;
  std::uint32_t source_count;
};

inline Error load_masked_scatter(Call& call) {
  MaskedScatter args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, mask, source, out] = args;
  call.require(mask.dtype == DType::boolean && self.dtype == out.dtype && source.dtype == out.dtype,
               Error::unsupported);
  call.require(source.is_contiguous() && out.is_contiguous(), Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<MaskedScatterPlan>();
  if (plan == nullptr) return call.error();
  const Tensor* const operands[] = {&mask, &self};
  call.fail(map::plan_operands(operands, 2, out, plan->map));
  plan->source = source.data;
  plan->source_count = static_cast<std::uint32_t>(source.elements());
  return call.error();
}

inline void execute_masked_scatter(const void* plan) {
  const auto& p = *static_cast<const MaskedScatterPlan*>(plan);
  const std::size_t width = size_of(p.map.dtype);
  std::uint32_t turn[kMaxRank] = {};
  std::int32_t at[2] = {};
  std::uint32_t taken = 0;
  for (std::uint32_t i = 0; i < p.map.count; ++i) {
    const bool takes = integer_at(DType::boolean, p.map.operands[0].data, static_cast<std::uint32_t>(at[0])) != 0;
    const std::byte* from = p.map.operands[1].data + static_cast<std::size_t>(at[1]) * width;
    if (takes && taken < p.source_count) from = p.source + taken++ * width;
    std::memcpy(p.map.out + i * width, from, width);
    for (std::uint32_t d = p.map.rank; d-- > 0;) {
      const map::Loop& loop = p.map.loops[d];
      for (int k = 0; k < 2; ++k) at[k] += loop.steps[k];
      if (++turn[d] < loop.size) break;
      for (int k = 0; k < 2; ++k) at[k] -= loop.steps[k] * static_cast<std::int32_t>(loop.size);
      turn[d] = 0;
    }
  }
}

struct Glu {
  Tensor self{};
  std::int32_t dim{};
  OutTensor out{};

  CORMORANT_FIELDS(self, dim, out)
};
struct GluPlan {
  static constexpr std::uint32_t kStateBytes = 16;
  const float* self;
  float* out;
  std::uint32_t outer, count;  // count: of half a stretch along the dimension and after it
};

inline Error load_glu(Call& call) {
  Glu args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, signed_dim, out] = args;
  const std::int32_t dim = dim_of(signed_dim, self);
  call.require(self.dtype == DType::f32 && out.dtype == DType::f32, Error::unsupported);
  call.require(self.is_contiguous() && out.is_contiguous(), Error::unsupported);
  call.require(dim >= 0 && self.rank != 0 && self.rank == out.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  for (std::int32_t i = 0; i < self.rank; ++i) {
    const bool fits =
        i == dim ? self.sizes[i] % 2 == 0 && out.sizes[i] == self.sizes[i] / 2 : out.sizes[i] == self.sizes[i];
    call.require(fits, Error::bad_shape);
  }
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<GluPlan>();
  if (plan == nullptr) return call.error();
  const Around a = around(out, dim);
  *plan = {self.as<const float>(), out.as<float>(), a.outer, a.size * a.inner};
  return Error::ok;
}

inline void execute_glu(const void* plan) {
  const auto& p = *static_cast<const GluPlan*>(plan);
  const float* self = p.self;
  float* out = p.out;
  for (std::uint32_t o = 0; o < p.outer; ++o, self += 2 * std::size_t{p.count}) {
    for (std::uint32_t i = 0; i < p.count; ++i) *out++ = self[i] * float_math::sigmoid(self[p.count + i]);
  }
}

}  // namespace cormorant::ops::portable
