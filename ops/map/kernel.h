// SPDX-License-Identifier: Apache-2.0
//
// One walk over the result in memory order, for all functions. A function is given in two arithmetics (see
// base/element.h); if it is a template, the same text serves both.
#pragma once

#include <type_traits>

#include "base/float_math.h"
#include "ops/load/broadcast.h"
#include "ops/load/planned.h"
#include "ops/map/map.h"

namespace cormorant::ops::map {

namespace fm = float_math;

struct Operand {
  const std::byte* data;
  DType dtype;
};
struct Loop {
  std::uint32_t size;
  std::int32_t steps[3];  // of the operands, in elements
};
struct Plan {
  static constexpr std::uint32_t kStateBytes = 132;
  Operand operands[3];
  std::byte* out;
  DType dtype;
  bool is_real;
  std::uint8_t rank;    // loops, outermost first
  std::uint32_t count;  // elements
  Loop loops[kMaxRank];
};

inline Error plan_operands(const Tensor* const* operands, std::size_t count, const Tensor& out, Plan& plan) {
  if (!is_number(out.dtype)) return Error::unsupported;
  std::int32_t strides[3][kMaxRank] = {};
  for (std::size_t k = 0; k < count; ++k) {
    if (!is_number(operands[k]->dtype)) return Error::unsupported;
    if (!broadcast_strides(*operands[k], out, strides[k])) return Error::bad_shape;
    plan.operands[k] = {operands[k]->data, operands[k]->dtype};
    plan.is_real = plan.is_real || operands[k]->dtype == DType::f32;
  }
  plan.out = out.data;
  plan.dtype = out.dtype;
  plan.count = static_cast<std::uint32_t>(out.elements());
  for (std::size_t i = 0; i < out.rank; ++i) {
    const std::size_t dim = out.dim_order[i];
    const std::int32_t size = out.sizes[dim];
    if (size == 1) continue;
    Loop loop{static_cast<std::uint32_t>(size), {strides[0][dim], strides[1][dim], strides[2][dim]}};
    if (plan.rank != 0) {  // merged with the loop around it, if all operands continue
      Loop& outer = plan.loops[plan.rank - 1];
      bool runs_on = true;
      for (std::size_t k = 0; k < 3; ++k) runs_on = runs_on && outer.steps[k] == loop.steps[k] * size;
      if (runs_on) {
        loop.size *= outer.size;
        outer = loop;
        continue;
      }
    }
    plan.loops[plan.rank++] = loop;
  }
  return Error::ok;
}

inline Error plan_unary(const Unary<TargetWorld>& args, Plan& plan) {
  const Tensor* const operands[] = {&args.self};
  return plan_operands(operands, 1, args.out, plan);
}
inline Error plan_binary(const Binary<TargetWorld>& args, Plan& plan) {
  const Tensor* const operands[] = {&args.self, &args.other};
  return plan_operands(operands, 2, args.out, plan);
}
// The condition is only tested: the others decide the arithmetic.
inline Error plan_where(const Where<TargetWorld>& args, Plan& plan) {
  const Tensor* const operands[] = {&args.condition, &args.self, &args.other};
  return plan_operands(operands, 3, args.out, plan);
}
// Integers that stand for real numbers are selected unchanged.
template <DType kType>
inline Error plan_integer_where(const Where<TargetWorld>& args, Plan& plan) {
  const bool are_integers = args.condition.dtype == DType::boolean && args.self.dtype == kType &&
                            args.other.dtype == kType && args.out.dtype == kType;
  return are_integers ? plan_where(args, plan) : Error::unsupported;
}
inline Error load_unary(Call& call) { return load_planned<Unary, Plan, plan_unary>(call); }
// All bits of a number change, but only the lowest of a boolean.
inline Error plan_bitwise_not(const Unary<TargetWorld>& args, Plan& plan) {
  static constexpr std::int8_t kAll = -1, kOne = 1;
  const std::int8_t* const mask = args.out.dtype == DType::boolean ? &kOne : &kAll;
  const Error error = plan_unary(args, plan);
  plan.operands[1] = {reinterpret_cast<const std::byte*>(mask), DType::i8};
  return error;
}
inline Error load_bitwise_not(Call& call) { return load_planned<Unary, Plan, plan_bitwise_not>(call); }
inline Error load_binary(Call& call) { return load_planned<Binary, Plan, plan_binary>(call); }
inline Error load_where(Call& call) { return load_planned<Where, Plan, plan_where>(call); }
inline Error load_int8_where(Call& call) { return load_planned<Where, Plan, plan_integer_where<DType::i8>>(call); }
inline Error load_int16_where(Call& call) { return load_planned<Where, Plan, plan_integer_where<DType::i16>>(call); }

// ---- functions ------------------------------------------------------------------------------------------------------

template <class T>
inline constexpr bool kIsReal = std::is_same_v<T, float>;

#define CORMORANT_TRUTH(Name, expression)          \
  struct Name {                                    \
    template <class T>                             \
    static bool of(T a, [[maybe_unused]] T b, T) { \
      return expression;                           \
    }                                              \
  };
CORMORANT_TRUTH(Equal, a == b)
CORMORANT_TRUTH(NotEqual, a != b)
CORMORANT_TRUTH(Less, a < b)
CORMORANT_TRUTH(LessEqual, a <= b)
CORMORANT_TRUTH(Greater, a > b)
CORMORANT_TRUTH(GreaterEqual, a >= b)
CORMORANT_TRUTH(LogicalAnd, a != 0 && b != 0)
CORMORANT_TRUTH(LogicalOr, a != 0 || b != 0)
CORMORANT_TRUTH(LogicalXor, (a != 0) != (b != 0))
CORMORANT_TRUTH(LogicalNot, a == 0)
#undef CORMORANT_TRUTH

struct IsNan {
  static bool of(float a, float, float) { return fm::is_nan(a); }
  static bool of(std::int64_t, std::int64_t, std::int64_t) { return false; }
};
struct IsInf {
  static bool of(float a, float, float) { return fm::abs(a) == fm::kInfinity; }
  static bool of(std::int64_t, std::int64_t, std::int64_t) { return false; }
};
struct SignBit {
  static bool of(float a, float, float) { return (fm::bits_of(a) & 0x80000000U) != 0; }
  static bool of(std::int64_t a, std::int64_t, std::int64_t) { return a < 0; }
};

// Integers only; a float is converted to an integer.
#define CORMORANT_BITS(Name, expression)                                                                         \
  struct Name {                                                                                                  \
    static std::int64_t of(std::int64_t a, [[maybe_unused]] std::int64_t b, std::int64_t) { return expression; } \
    static float of(float a, float b, float) {                                                                   \
      return static_cast<float>(of(saturated(a), saturated(b), std::int64_t{0}));                                \
    }                                                                                                            \
  };
CORMORANT_BITS(BitwiseAnd, a& b)
CORMORANT_BITS(BitwiseOr, a | b)
CORMORANT_BITS(BitwiseXor, a ^ b)
CORMORANT_BITS(LeftShift, b < 0 || b > 63 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b))
CORMORANT_BITS(RightShift, b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b)
#undef CORMORANT_BITS

inline std::int64_t wrapped_product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
// Sums and products of integers wrap; those of floats have their own folders.
#define CORMORANT_WRAPPING(Name, sign)                                                                    \
  struct Name {                                                                                           \
    static float of(float a, float b, float) { return a sign b; }                                         \
    static std::int64_t of(std::int64_t a, std::int64_t b, std::int64_t) {                                \
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) sign static_cast<std::uint64_t>(b)); \
    }                                                                                                     \
  };
CORMORANT_WRAPPING(Add, +)
CORMORANT_WRAPPING(Subtract, -)
CORMORANT_WRAPPING(Multiply, *)
#undef CORMORANT_WRAPPING
struct Minimum {
  template <class T>
  static T of(T a, T b, T) {
    return a < b || a != a ? a : b;
  }
};
struct Maximum {
  template <class T>
  static T of(T a, T b, T) {
    return a > b || a != a ? a : b;
  }
};
struct Absolute {
  static float of(float a, float, float) { return fm::abs(a); }
  static std::int64_t of(std::int64_t a, std::int64_t, std::int64_t) { return a < 0 ? wrapped_product(a, -1) : a; }
};
struct Pow {
  static float of(float a, float b, float) { return fm::pow(a, b); }
  static std::int64_t of(std::int64_t a, std::int64_t b, std::int64_t) {
    if (b < 0) return a == 1 ? 1 : (a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0);
    std::int64_t power = 1;
    for (; b != 0; b >>= 1, a = wrapped_product(a, a)) {
      if ((b & 1) != 0) power = wrapped_product(power, a);
    }
    return power;
  }
};

// Integers divided by zero are zero; what overflows wraps.
struct Fmod {
  static float of(float a, float b, float) { return fm::fmod(a, b); }
  static std::int64_t of(std::int64_t a, std::int64_t b, std::int64_t) { return b == 0 || b == -1 ? 0 : a % b; }
};
struct TruncDivide {
  static float of(float a, float b, float) { return fm::trunc(a / b); }
  static std::int64_t of(std::int64_t a, std::int64_t b, std::int64_t) {
    return b == 0 ? 0 : (b == -1 ? wrapped_product(a, -1) : a / b);
  }
};
struct Remainder {  // of the divisor's sign
  template <class T>
  static T of(T a, T b, T) {
    const T rest = Fmod::of(a, b, T{0});
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};
struct FloorDivide {
  static float of(float a, float b, float) {
    if (b == 0) return a / b;
    const float rest = fm::fmod(a, b);
    float quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return a / b < 0 || (fm::bits_of(a / b) >> 31) != 0 ? -0.0F : 0.0F;
    const float whole = fm::floor(quotient);
    return quotient - whole > 0.5F ? whole + 1 : whole;
  }
  static std::int64_t of(std::int64_t a, std::int64_t b, std::int64_t) {
    const std::int64_t quotient = TruncDivide::of(a, b, std::int64_t{0});
    return b != 0 && Fmod::of(a, b, std::int64_t{0}) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
  }
};

// Functions of floats; integers do not get here, since PyTorch converts them to floats first.
#define CORMORANT_REAL(Name, expression)                                        \
  struct Name {                                                                 \
    static float of(float a, float b, float) { return expression; }             \
    static std::int64_t of(std::int64_t a, std::int64_t b, std::int64_t) {      \
      return saturated(of(static_cast<float>(a), static_cast<float>(b), 0.0F)); \
    }                                                                           \
  };
CORMORANT_REAL(Atan2, fm::atan2(a, b))
CORMORANT_REAL(Hypot, fm::hypot(a, b))
CORMORANT_REAL(Copysign, fm::from_bits((fm::bits_of(a) & 0x7FFFFFFFU) | (fm::bits_of(b) & 0x80000000U)))
CORMORANT_REAL(Logaddexp, fm::logaddexp(a, b))
CORMORANT_REAL(Logaddexp2, fm::logaddexp2(a, b))
CORMORANT_REAL(Xlogy, fm::is_nan(b) ? b : (a == 0 ? 0.0F : a * fm::log(b)))
CORMORANT_REAL(Xlog1py, fm::is_nan(b) ? b : (a == 0 ? 0.0F : a * fm::log1p(b)))
#undef CORMORANT_REAL

// A NaN on one side is ignored.
struct Fmax {
  template <class T>
  static T of(T a, T b, T) {
    return a >= b || b != b ? a : b;
  }
};
struct Fmin {
  template <class T>
  static T of(T a, T b, T) {
    return a <= b || b != b ? a : b;
  }
};
struct Choose {
  template <class T>
  static T of(T condition, T a, T b) {
    return condition != 0 ? a : b;
  }
};
// Converts to the type of the result.
struct Convert {
  template <class T>
  static T of(T a, T, T) {
    return a;
  }
};

// ---- the walk -------------------------------------------------------------------------------------------------------

template <class T>
inline T number_at(const Operand& operand, std::uint32_t index) {
  if constexpr (kIsReal<T>) {
    return real_at(operand.dtype, operand.data, index);
  } else {
    return integer_at(operand.dtype, operand.data, index);
  }
}
inline void set_number(DType dtype, std::byte* out, std::uint32_t index, float value) {
  set_real(dtype, out, index, value);
}
inline void set_number(DType dtype, std::byte* out, std::uint32_t index, std::int64_t value) {
  set_integer(dtype, out, index, value);
}
inline void set_number(DType dtype, std::byte* out, std::uint32_t index, bool value) {
  set_integer(dtype, out, index, value ? 1 : 0);
}

template <class F, class T, int kOperands>
void walk(const Plan& p) {
  std::uint32_t turn[kMaxRank] = {};
  std::int32_t at[3] = {};
  for (std::uint32_t i = 0; i < p.count; ++i) {
    const auto operand = [&](int k) {
      return k < kOperands ? number_at<T>(p.operands[k], static_cast<std::uint32_t>(at[k])) : T{0};
    };
    set_number(p.dtype, p.out, i, F::of(operand(0), operand(1), operand(2)));
    for (std::uint32_t d = p.rank; d-- > 0;) {
      const Loop& loop = p.loops[d];
      for (int k = 0; k < kOperands; ++k) at[k] += loop.steps[k];
      if (++turn[d] < loop.size) break;
      for (int k = 0; k < kOperands; ++k) at[k] -= loop.steps[k] * static_cast<std::int32_t>(loop.size);
      turn[d] = 0;
    }
  }
}

template <class F, int kOperands>
void execute_map(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  if (p.is_real) {
    walk<F, float, kOperands>(p);
  } else {
    walk<F, std::int64_t, kOperands>(p);
  }
}
template <class F>
void execute_unary(const void* plan) {
  execute_map<F, 1>(plan);
}
template <class F>
void execute_binary(const void* plan) {
  execute_map<F, 2>(plan);
}
template <class F>
void execute_where(const void* plan) {
  execute_map<F, 3>(plan);
}

template <class T>
void execute_integer_where(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  const Loop single{1, {0, 0, 0}};
  const Loop inner = p.rank == 0 ? single : p.loops[p.rank - 1];
  std::uint32_t turn[kMaxRank] = {};
  const std::byte* from[3] = {p.operands[0].data, p.operands[1].data, p.operands[2].data};
  constexpr std::int32_t kBytes[3] = {1, sizeof(T), sizeof(T)};
  auto* out = reinterpret_cast<T*>(p.out);
  for (std::uint32_t done = 0; done < p.count; done += inner.size) {
    const std::byte* condition = from[0];
    const auto* self = reinterpret_cast<const T*>(from[1]);
    const auto* other = reinterpret_cast<const T*>(from[2]);
    for (std::uint32_t i = 0; i < inner.size; ++i) {
      *out++ = *condition != std::byte{0} ? *self : *other;
      condition += inner.steps[0];
      self += inner.steps[1];
      other += inner.steps[2];
    }
    for (std::uint32_t d = p.rank == 0 ? 0U : p.rank - 1U; d-- > 0;) {
      const Loop& loop = p.loops[d];
      for (int k = 0; k < 3; ++k) from[k] += kBytes[k] * loop.steps[k];
      if (++turn[d] < loop.size) break;
      for (int k = 0; k < 3; ++k) from[k] -= kBytes[k] * loop.steps[k] * static_cast<std::int32_t>(loop.size);
      turn[d] = 0;
    }
  }
}

}  // namespace cormorant::ops::map
