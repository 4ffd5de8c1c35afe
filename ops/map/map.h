// SPDX-License-Identifier: Apache-2.0
//
// Functions of one, two or three elements in any type: comparisons, logic, choice, conversion, and arithmetic beyond
// that of the folders add, mul, div and activation. Operands broadcast. If one of them is float, all are taken as
// floats, else all as integers; the compiler has already made their types equal by PyTorch's promotion.
#pragma once

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"

// clang-format off
#define CORMORANT_MAP_KERNELS(OURS, THEIRS, FOREIGN) \
  THEIRS(aten, eq, Tensor_out, any_cpu, load_binary, execute_binary<Equal>, ordered, Binary) \
  THEIRS(aten, ne, Tensor_out, any_cpu, load_binary, execute_binary<NotEqual>, ordered, Binary) \
  THEIRS(aten, lt, Tensor_out, any_cpu, load_binary, execute_binary<Less>, ordered, Binary) \
  THEIRS(aten, le, Tensor_out, any_cpu, load_binary, execute_binary<LessEqual>, ordered, Binary) \
  THEIRS(aten, gt, Tensor_out, any_cpu, load_binary, execute_binary<Greater>, ordered, Binary) \
  THEIRS(aten, ge, Tensor_out, any_cpu, load_binary, execute_binary<GreaterEqual>, ordered, Binary) \
  THEIRS(aten, logical_and, out, any_cpu, load_binary, execute_binary<LogicalAnd>, numbers, Binary) \
  THEIRS(aten, logical_or, out, any_cpu, load_binary, execute_binary<LogicalOr>, numbers, Binary) \
  THEIRS(aten, logical_xor, out, any_cpu, load_binary, execute_binary<LogicalXor>, numbers, Binary) \
  THEIRS(aten, logical_not, out, any_cpu, load_unary, execute_unary<LogicalNot>, numbers, Unary) \
  THEIRS(aten, isnan, out, any_cpu, load_unary, execute_unary<IsNan>, numbers, Unary) \
  THEIRS(aten, isinf, out, any_cpu, load_unary, execute_unary<IsInf>, numbers, Unary) \
  OURS(signbit, any, any_cpu, load_unary, execute_unary<SignBit>, numbers, Unary) \
  THEIRS(aten, bitwise_and, Tensor_out, any_cpu, load_binary, execute_binary<BitwiseAnd>, numbers, Binary) \
  THEIRS(aten, bitwise_or, Tensor_out, any_cpu, load_binary, execute_binary<BitwiseOr>, numbers, Binary) \
  THEIRS(aten, bitwise_xor, Tensor_out, any_cpu, load_binary, execute_binary<BitwiseXor>, numbers, Binary) \
  THEIRS(aten, bitwise_not, out, any_cpu, load_bitwise_not, execute_binary<BitwiseXor>, numbers, Unary) \
  THEIRS(aten, bitwise_left_shift, Tensor_out, any_cpu, load_binary, execute_binary<LeftShift>, numbers, Binary) \
  THEIRS(aten, bitwise_right_shift, Tensor_out, any_cpu, load_binary, execute_binary<RightShift>, numbers, Binary) \
  OURS(add, any, any_cpu, load_binary, execute_binary<Add>, numbers, Binary) \
  OURS(sub, any, any_cpu, load_binary, execute_binary<Subtract>, numbers, Binary) \
  OURS(mul, any, any_cpu, load_binary, execute_binary<Multiply>, numbers, Binary) \
  OURS(minimum, any, any_cpu, load_binary, execute_binary<Minimum>, numbers, Binary) \
  OURS(maximum, any, any_cpu, load_binary, execute_binary<Maximum>, numbers, Binary) \
  OURS(abs, any, any_cpu, load_unary, execute_unary<Absolute>, numbers, Unary) \
  THEIRS(aten, pow, Tensor_Tensor_out, any_cpu, load_binary, execute_binary<Pow>, numbers, Binary) \
  THEIRS(aten, fmod, Tensor_out, any_cpu, load_binary, execute_binary<Fmod>, numbers, Binary) \
  THEIRS(aten, remainder, Tensor_out, any_cpu, load_binary, execute_binary<Remainder>, numbers, Binary) \
  THEIRS(aten, floor_divide, out, any_cpu, load_binary, execute_binary<FloorDivide>, numbers, Binary) \
  OURS(trunc_divide, any, any_cpu, load_binary, execute_binary<TruncDivide>, numbers, Binary) \
  THEIRS(aten, atan2, out, any_cpu, load_binary, execute_binary<Atan2>, numbers, Binary) \
  OURS(hypot, any, any_cpu, load_binary, execute_binary<Hypot>, numbers, Binary) \
  OURS(fmax, any, any_cpu, load_binary, execute_binary<Fmax>, numbers, Binary) \
  OURS(fmin, any, any_cpu, load_binary, execute_binary<Fmin>, numbers, Binary) \
  OURS(copysign, any, any_cpu, load_binary, execute_binary<Copysign>, numbers, Binary) \
  OURS(logaddexp, any, any_cpu, load_binary, execute_binary<Logaddexp>, numbers, Binary) \
  OURS(logaddexp2, any, any_cpu, load_binary, execute_binary<Logaddexp2>, numbers, Binary) \
  OURS(xlogy, any, any_cpu, load_binary, execute_binary<Xlogy>, numbers, Binary) \
  OURS(xlog1py, any, any_cpu, load_binary, execute_binary<Xlog1py>, numbers, Binary) \
  THEIRS(aten, where, self_out, any_cpu, load_where, execute_where<Choose>, numbers, Where) \
  OURS(where, int8, any_cpu, load_int8_where, execute_integer_where<std::int8_t>, w8a8, Where) \
  OURS(where, int16, any_cpu, load_int16_where, execute_integer_where<std::int16_t>, w8a16, Where) \
  OURS(convert, any, any_cpu, load_unary, execute_unary<Convert>, numbers, Unary)
// clang-format on
CORMORANT_NAMES(CORMORANT_MAP_KERNELS)

namespace cormorant::ops::map {

template <class W>
struct Unary {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, out)
};

template <class W>
struct Binary {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Tensor other{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, other, out)
};

template <class W>
struct Where {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor condition{};
  typename W::Tensor self{};
  typename W::Tensor other{};
  typename W::Out out{};

  CORMORANT_FIELDS(condition, self, other, out)
};

}  // namespace cormorant::ops::map
