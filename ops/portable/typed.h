// SPDX-License-Identifier: Apache-2.0
//
// Operators whose other kernels take only floats, for all types. A program has one or the other (runtime/call_types.h),
// so these take floats as well, and compute the same with them. ExecuTorch's promotions are in the types of a call: if
// the result is float, operands are taken as floats.
#pragma once

#include "base/checked_size.h"
#include "base/fields.h"
#include "ops/portable/numbers.h"
#include "ops/portable/places.h"
#include "ops/portable/reductions.h"

namespace cormorant::ops::portable {

struct OfOne {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{};
  OutTensor out{};

  CORMORANT_FIELDS(self, out)
};
struct OfTwo {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{}, other{};
  OutTensor out{};

  CORMORANT_FIELDS(self, other, out)
};
struct OfTwoAlpha {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{}, other{};
  Number alpha{};
  OutTensor out{};

  CORMORANT_FIELDS(self, other, alpha, out)
};
struct NumberFirst {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Number self{};
  Tensor exponent{};
  OutTensor out{};

  CORMORANT_FIELDS(self, exponent, out)
};
struct ClampNumbers {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{};
  OptionalNumber min{}, max{};
  OutTensor out{};

  CORMORANT_FIELDS(self, min, max, out)
};
template <class Format>
struct Converted {
  static constexpr Overlap kOverlap = Overlap::in_place;
  Tensor self{};
  bool non_blocking{};
  Format format{};  // out has it
  OutTensor out{};

  CORMORANT_FIELDS(self, non_blocking, format, out)
};

inline Error load_one(Call& call) {
  OfOne args;
  if (!call.read_signature(args)) return call.error();
  return plan_numbers(call, {&args.self}, args.out, args.out.dtype == DType::f32);
}
inline Error load_two(Call& call) {
  OfTwo args;
  if (!call.read_signature(args)) return call.error();
  return plan_numbers(call, {&args.self, &args.other}, args.out, args.out.dtype == DType::f32);
}
inline Error load_two_alpha(Call& call) {
  OfTwoAlpha args;
  if (!call.read_signature(args)) return call.error();
  const bool is_real = args.out.dtype == DType::f32;
  const Tensor alpha = number_tensor(call, args.alpha, is_real);
  return plan_numbers(call, {&args.self, &args.other, &alpha}, args.out, is_real);
}
inline Error load_number_first(Call& call) {
  NumberFirst args;
  if (!call.read_signature(args)) return call.error();
  const bool is_real = is_computed_real(args.exponent, args.self, args.out);
  const Tensor base = number_tensor(call, args.self, is_real);
  return plan_numbers(call, {&base, &args.exponent}, args.out, is_real);
}
inline Error load_clamp_numbers(Call& call) {
  ClampNumbers args;
  if (!call.read_signature(args)) return call.error();
  const bool is_real = args.out.dtype == DType::f32;
  if (!args.min.present) static_cast<Number&>(args.min) = {INT64_MIN, -float_math::kInfinity, true};
  if (!args.max.present) static_cast<Number&>(args.max) = {INT64_MAX, float_math::kInfinity, true};
  // PyTorch converts integers that are clamped to floats.
  call.require(is_real || (args.min.is_integer && args.max.is_integer), Error::unsupported);
  const Tensor least = number_tensor(call, args.min, is_real);
  const Tensor most = number_tensor(call, args.max, is_real);
  return plan_numbers(call, {&args.self, &least, &most}, args.out, is_real);
}
template <class Format>
Error load_converted(Call& call) {
  Converted<Format> args;
  if (!call.read_signature(args)) return call.error();
  call.require(same_sizes(args.self, args.out), Error::bad_shape);
  return plan_numbers(call, {&args.self}, args.out, args.out.dtype == DType::f32);
}

struct AddScaled {
  template <class T>
  static T of(T a, T b, T alpha) {
    return map::Add::of(a, map::Multiply::of(b, alpha, T{0}), T{0});
  }
};
struct SubtractScaled {
  template <class T>
  static T of(T a, T b, T alpha) {
    return map::Subtract::of(a, map::Multiply::of(b, alpha, T{0}), T{0});
  }
};
struct Negate {
  static float of(float a, float, float) { return -a; }
  static std::int64_t of(std::int64_t a, std::int64_t, std::int64_t) { return map::wrapped_product(a, -1); }
};
struct Sign {
  template <class T>
  static T of(T a, T, T) {
    return a > 0 ? T{1} : a < 0 ? T{-1} : a;
  }
};
template <float (*kFunction)(float)>
struct Whole {  // what integers are
  static float of(float a, float, float) { return kFunction(a); }
  static std::int64_t of(std::int64_t a, std::int64_t, std::int64_t) { return a; }
};
struct Relu {
  template <class T>
  static T of(T a, T, T) {
    return a < 0 ? T{0} : a;
  }
};

// ---- reductions -----------------------------------------------------------------------------------------------------

struct ReduceDims {
  Tensor self{};
  IntList dim{};
  bool keepdim{};
  OutTensor out{};

  CORMORANT_FIELDS(self, dim, keepdim, out)
};
struct ReduceDimsTyped {
  Tensor self{};
  OptionalIntList dim{};
  bool keepdim{};
  OptionalInt dtype{};
  OutTensor out{};

  CORMORANT_FIELDS(self, dim, keepdim, dtype, out)
};
template <class Signature>
Error load_dims(Call& call) {
  Signature args;
  if (!call.read_signature(args)) return call.error();
  std::uint32_t reduced = 0;
  if (!reduced_dims(call, args.self, args.dim, reduced)) return call.error();
  return plan_reduced(call, args.self, reduced, args.out);
}

// ---- padding with a number ------------------------------------------------------------------------------------------

struct PadNumber {
  Tensor self{};
  IntList padding{};
  Number value{};
  OutTensor out{};

  CORMORANT_FIELDS(self, padding, value, out)
};

inline Error load_pad_number(Call& call) {
  PadNumber args;
  if (!call.read_signature(args)) return call.error();
  call.require(is_number(args.out.dtype), Error::unsupported);
  PlacesPlan* const plan = plan_pad(call, args.self, args.padding, args.out, Border::value);
  if (plan == nullptr || call.error() != Error::ok) return call.error();
  if (args.out.dtype == DType::f32) {
    set_element(plan->value, 0, args.value.real);
  } else {
    set_integer(args.out.dtype, plan->value, 0, args.value.integer);
  }
  return Error::ok;
}

// ---- tensors of several types, one after another --------------------------------------------------------------------

struct CatNumbers {
  TensorList tensors{};
  std::int32_t dim{};
  OutTensor out{};

  CORMORANT_FIELDS(tensors, dim, out)
};
struct CatNumbersPart {
  static constexpr std::uint32_t kStateBytes = 12;
  const std::byte* data;
  DType dtype;
  std::uint32_t chunk;  // elements along the dimension and after it
};
struct CatNumbersPlan {
  static constexpr std::uint32_t kStateBytes = 20;
  const CatNumbersPart* parts;
  std::uint32_t count, rows;
  std::byte* out;
  DType dtype;
};

// What PyTorch's promotion allows as a part of the result: no conversion loses anything.
inline bool becomes(DType part, DType out) {
  if (part == out || out == DType::f32) return true;
  const bool is_wider = size_of(part) < size_of(out) || part == DType::boolean;
  return is_integer(part) && out != DType::boolean && is_wider;
}

inline Error load_cat_numbers(Call& call) {
  CatNumbers args;
  if (!call.read_signature(args)) return call.error();
  const auto& [tensors, signed_dim, out] = args;
  const std::int32_t dim = dim_of(signed_dim, out);
  call.require(dim >= 0 && out.rank != 0, Error::bad_value);
  call.require(is_number(out.dtype) && out.is_contiguous(), Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  auto* const parts = call.allocate_list<CatNumbersPart>(tensors.count);
  auto* const plan = call.make_plan<CatNumbersPlan>();
  if (parts == nullptr || plan == nullptr) return call.error();
  const Around shape = around(out, dim);
  std::uint32_t filled = 0;
  for (std::uint32_t i = 0; i < tensors.count; ++i) {
    Tensor part;
    if (!call.item(tensors, i, part)) return call.error();
    call.require_apart(out, part);
    call.require(is_number(part.dtype) && part.is_contiguous(), Error::unsupported);
    call.require(becomes(part.dtype, out.dtype), Error::bad_value);
    call.require(part.rank == out.rank, Error::bad_shape);
    if (call.error() != Error::ok) return call.error();
    for (std::int32_t d = 0; d < out.rank; ++d) {
      call.require(d == dim || part.sizes[d] == out.sizes[d], Error::bad_shape);
    }
    const auto length = static_cast<std::uint32_t>(part.sizes[dim]);
    call.require(length <= shape.size - filled, Error::bad_shape);
    if (call.error() != Error::ok) return call.error();
    filled += length;
    parts[i] = {part.data, part.dtype, length * shape.inner};
  }
  call.require(filled == shape.size, Error::bad_shape);
  *plan = {parts, tensors.count, shape.outer, out.data, out.dtype};
  return call.error();
}

inline void execute_cat_numbers(const void* plan) {
  const auto& p = *static_cast<const CatNumbersPlan*>(plan);
  std::uint32_t to = 0;
  for (std::uint32_t row = 0; row < p.rows; ++row) {
    for (std::uint32_t i = 0; i < p.count; ++i) {
      const CatNumbersPart& part = p.parts[i];
      for (std::uint32_t k = row * part.chunk; k < (row + 1) * part.chunk; ++k, ++to) {
        if (p.dtype == DType::f32) {
          set_element(p.out, to, real_at(part.dtype, part.data, k));
        } else {
          set_integer(p.dtype, p.out, to, integer_at(part.dtype, part.data, k));
        }
      }
    }
  }
}

}  // namespace cormorant::ops::portable
