// SPDX-License-Identifier: Apache-2.0
//
// Comparisons, logic, choice, conversion, and arithmetic composed of other arithmetic.
#include <fmt/format.h>

#include <limits>
#include <numbers>

#include "ops/decompose/forms.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

// The name between namespace and overload: "aten.eq_.Scalar" -> "eq".
std::string_view name_of(const Build& b) {
  std::string_view op = b.call().op;
  op.remove_prefix(op.find('.') + 1);
  op = op.substr(0, op.find('.'));
  if (op.ends_with('_') && !op.ends_with("__")) op.remove_suffix(1);  // in place, but not __and__
  return op;
}

// Comparisons and other functions of two operands, either of which may be a number.
constexpr struct {
  std::string_view name;
  const char* op;
} kBinary[] = {
    {"eq", nodes::aten_eq_Tensor_out},
    {"ne", nodes::aten_ne_Tensor_out},
    {"not_equal", nodes::aten_ne_Tensor_out},
    {"lt", nodes::aten_lt_Tensor_out},
    {"less", nodes::aten_lt_Tensor_out},
    {"le", nodes::aten_le_Tensor_out},
    {"less_equal", nodes::aten_le_Tensor_out},
    {"gt", nodes::aten_gt_Tensor_out},
    {"greater", nodes::aten_gt_Tensor_out},
    {"ge", nodes::aten_ge_Tensor_out},
    {"greater_equal", nodes::aten_ge_Tensor_out},
    {"logical_and", nodes::aten_logical_and},
    {"logical_or", nodes::aten_logical_or},
    {"logical_xor", nodes::aten_logical_xor},
    {"bitwise_and", nodes::aten_bitwise_and_Tensor_out},
    {"bitwise_or", nodes::aten_bitwise_or_Tensor_out},
    {"bitwise_xor", nodes::aten_bitwise_xor_Tensor_out},
    {"__and__", nodes::aten_bitwise_and_Tensor_out},
    {"__or__", nodes::aten_bitwise_or_Tensor_out},
    {"__xor__", nodes::aten_bitwise_xor_Tensor_out},
    {"bitwise_left_shift", nodes::aten_bitwise_left_shift_Tensor_out},
    {"bitwise_right_shift", nodes::aten_bitwise_right_shift_Tensor_out},
    {"__lshift__", nodes::aten_bitwise_left_shift_Tensor_out},
    {"__rshift__", nodes::aten_bitwise_right_shift_Tensor_out},
    {"fmod", "aten.fmod.Tensor_out"},
    {"remainder", "aten.remainder.Tensor_out"},
    {"floor_divide", nodes::aten_floor_divide},
    {"atan2", nodes::aten_atan2},
    {"arctan2", nodes::aten_atan2},
    {"hypot", nodes::cormorant_hypot_any},
    {"fmax", nodes::cormorant_fmax_any},
    {"fmin", nodes::cormorant_fmin_any},
    {"copysign", nodes::cormorant_copysign_any},
    {"logaddexp", nodes::cormorant_logaddexp_any},
    {"logaddexp2", nodes::cormorant_logaddexp2_any},
    {"xlogy", nodes::cormorant_xlogy_any},
    {"special_xlogy", nodes::cormorant_xlogy_any},
    {"special_xlog1py", nodes::cormorant_xlog1py_any},
};

Values import_binary(Importer& importer) {
  const Build b(importer);
  for (const auto& [name, op] : kBinary) {
    if (name != name_of(b)) continue;
    // If the result is float, so is the arithmetic, whatever the operands are.
    const bool is_real = b.type().dtype == DType::f32;
    V self = b.operand("self");
    V other = b.operand("other");
    if (is_real) {
      self = b.real(self);
      other = b.real(other);
    }
    return {b.finish(b.map(op, self, other))};
  }
  b.reject(fmt::format("the operator {} is not supported", b.call().op),
           "use another one, or compute it before the model");
}

Values import_equal(Importer& importer) {
  const Build b(importer);
  return {b.finish(b.all(b.eq(b.tensor("self"), b.tensor("other")), all_dims(b.tensor("self")->type.rank())))};
}

// ---- predicates -----------------------------------------------------------------------------------------------------

Values import_logical_not(Importer& importer) {
  const Build b(importer);
  return {b.finish(b.map(nodes::aten_logical_not, b.tensor("self")))};
}
Values import_bitwise_not(Importer& importer) {
  const Build b(importer);
  const bool is_truth = b.type().dtype == DType::boolean;
  return {b.map(is_truth ? nodes::aten_logical_not : "aten.bitwise_not", b.tensor("self"))};
}
Values import_isnan(Importer& importer) {
  const Build b(importer);
  return {b.map(nodes::aten_isnan, b.tensor("self"))};
}
Values import_isinf(Importer& importer) {
  const Build b(importer);
  return {b.map(nodes::aten_isinf, b.tensor("self"))};
}
Values import_isfinite(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  if (self->type.dtype != DType::f32) return {b.filled(1, b.type())};
  return {b.lt(b.f("abs", self), b.number(kInfinity))};
}
Values import_isposinf(Importer& importer) {
  const Build b(importer);
  return {b.eq(b.real(b.tensor("self")), b.number(kInfinity))};
}
Values import_isneginf(Importer& importer) {
  const Build b(importer);
  return {b.eq(b.real(b.tensor("self")), b.number(-kInfinity))};
}
Values import_isreal(Importer& importer) {
  const Build b(importer);
  return {b.filled(1, b.type())};
}
Values import_isclose(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  V other = b.tensor("other");
  V equal = b.eq(self, other);
  self = b.real(self);
  other = b.real(other);
  const auto also = [&](V condition) { equal = b.map(nodes::aten_logical_or, equal, condition); };
  if (b.call().boolean("equal_nan")) {
    also(b.map(nodes::aten_logical_and, b.map(nodes::aten_isnan, self), b.map(nodes::aten_isnan, other)));
  }
  V apart = b.f("abs", b.sub(self, other));
  V allowed = b.add(b.mul(b.f("abs", other), std::abs(b.call().number("rtol"))), b.call().number("atol"));
  V finite = b.lt(apart, b.number(kInfinity));
  also(b.map(nodes::aten_logical_and, finite, b.le(apart, allowed)));
  return {b.finish(equal)};
}
Values import_signbit(Importer& importer) {
  const Build b(importer);
  return {b.map(nodes::cormorant_signbit_any, b.tensor("self"))};
}

// ---- choice ---------------------------------------------------------------------------------------------------------

Values import_where(Importer& importer) {
  const Build b(importer);
  const DType type = b.type().dtype;
  V self = b.operand("self", type);
  V other = b.operand("other", type);
  return {b.finish(b.where(b.tensor("condition"), self, other))};
}
Values import_masked_fill(Importer& importer) {
  const Build b(importer);
  const DType type = b.type().dtype;
  V value = b.operand("value", type);
  V self = b.operand("self", type);
  return {b.finish(b.where(b.tensor("mask"), value, self))};
}
Values import_fill(Importer& importer) {
  const Build b(importer);
  return {b.finish(b.expand(b.operand("value", b.type().dtype), b.type().shape))};
}
Values import_nan_to_num(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  if (self->type.dtype != DType::f32) return {self};
  constexpr double kLargest = std::numeric_limits<float>::max();
  const auto value = [&](const char* name, double otherwise) {
    return b.given(name) ? b.call().number(name) : otherwise;
  };
  V x = b.where(b.map(nodes::aten_isnan, self), value("nan", 0), self);
  x = b.where(b.eq(x, b.number(kInfinity)), value("posinf", kLargest), x);
  return {b.where(b.eq(x, b.number(-kInfinity)), value("neginf", -kLargest), x)};
}
// Bounds that are tensors, on either side or both.
Values import_clamp_tensor(Importer& importer) {
  const Build b(importer);
  V x = b.operand("self", b.type().dtype);
  if (b.given("min")) x = b.maximum(x, b.operand("min", b.type().dtype));
  if (b.given("max")) x = b.minimum(x, b.operand("max", b.type().dtype));
  return {b.finish(x)};
}

// ---- conversion -----------------------------------------------------------------------------------------------------

Values import_conversion(Importer& importer) {
  const Build b(importer);
  return {b.to(b.tensor("self"), b.type().dtype)};
}

// ---- arithmetic -----------------------------------------------------------------------------------------------------

Values import_div_mode(Importer& importer) {
  const Build b(importer);
  const DType type = b.type().dtype;
  V self = b.operand("self", type);
  V other = b.operand("other", type);
  if (!b.given("rounding_mode")) return {b.finish(b.div(self, other))};
  const bool floor = b.call().string("rounding_mode") == "floor";
  return {b.finish(b.map(floor ? nodes::aten_floor_divide : nodes::cormorant_trunc_divide_any, self, other))};
}
Values import_pow_tensor(Importer& importer) {
  const Build b(importer);
  const DType type = b.type().dtype;
  V self = b.operand("self", type);
  V exponent = b.operand("exponent", type);
  return {b.finish(b.map(nodes::aten_pow_Tensor_Tensor_out, self, exponent))};
}
Values import_float_power(Importer& importer) {
  const Build b(importer);
  V self = b.operand("self", DType::f32);
  V exponent = b.operand("exponent", DType::f32);
  return {b.finish(b.map(nodes::aten_pow_Tensor_Tensor_out, self, exponent))};
}
// As PyTorch: from the nearer end, so that a weight of 1 gives the end itself.
Values import_lerp(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  V end = b.tensor("end");
  V weight = b.operand("weight", DType::f32);
  V distance = b.sub(end, self);
  V from_start = b.add(self, b.mul(weight, distance));
  V from_end = b.sub(end, b.mul(distance, b.sub(b.number(1), weight)));
  if (const auto number = b.numbers_of(weight); number && number->size() == 1) {
    return {b.finish(std::abs(number->front()) < 0.5 ? from_start : from_end)};
  }
  return {b.finish(b.where(b.lt(b.f("abs", weight), b.number(0.5)), from_start, from_end))};
}
Values import_addcmul(Importer& importer) {
  const Build b(importer);
  V product = b.mul(b.mul(b.tensor("tensor1"), b.tensor("tensor2")), b.operand("value", b.type().dtype));
  return {b.finish(b.add(b.tensor("self"), product))};
}
Values import_addcdiv(Importer& importer) {
  const Build b(importer);
  V quotient = b.div(b.tensor("tensor1"), b.tensor("tensor2"));
  return {b.finish(b.add(b.tensor("self"), b.mul(quotient, b.operand("value", DType::f32))))};
}
Values import_deg2rad(Importer& importer) {
  const Build b(importer);
  return {b.mul(b.real(b.tensor("self")), std::numbers::pi / 180)};
}
Values import_rad2deg(Importer& importer) {
  const Build b(importer);
  return {b.mul(b.real(b.tensor("self")), 180 / std::numbers::pi)};
}
Values import_heaviside(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  V positive = b.to(b.gt(self, b.number(0, self->type.dtype)), self->type.dtype);
  return {b.finish(b.where(b.eq(self, b.number(0, self->type.dtype)), b.tensor("values"), positive))};
}
Values import_ldexp(Importer& importer) {
  const Build b(importer);
  V self = b.real(b.tensor("self"));
  V power = b.f("exp2", b.tensor("other"));
  return {b.finish(b.mul(self, power))};
}
Values import_entr(Importer& importer) {
  const Build b(importer);
  V x = b.real(b.tensor("self"));
  V inside = b.f("neg", b.map(nodes::cormorant_xlogy_any, x, x));
  return {b.finish(b.where(b.lt(x, b.number(0)), -kInfinity, inside))};
}
Values import_glu(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const std::int64_t dim = b.dim("dim", self->type.rank());
  const std::int64_t half = size_at(self, dim) / 2;
  V values = b.slice(self, dim, 0, half);
  V gate = b.f("sigmoid", b.slice(self, dim, half, 2 * half));
  return {b.finish(b.mul(values, gate))};
}
Values import_softsign(Importer& importer) {
  const Build b(importer);
  V self = b.real(b.tensor("self"));
  return {b.finish(b.div(self, b.add(b.f("abs", self), 1)))};
}
#define BOTH(name, import) \
  {name ".Tensor(Tensor self, Tensor other)", import}, { name ".Scalar(Tensor self, Scalar other)", import }
#define TENSORS(name) {name ".default(Tensor self, Tensor other)", import_binary}

}  // namespace

std::vector<AtenForm> elementwise_forms() {
  return {
      BOTH("eq", import_binary),
      BOTH("ne", import_binary),
      BOTH("not_equal", import_binary),
      BOTH("lt", import_binary),
      BOTH("less", import_binary),
      BOTH("le", import_binary),
      BOTH("less_equal", import_binary),
      BOTH("gt", import_binary),
      BOTH("greater", import_binary),
      BOTH("ge", import_binary),
      BOTH("greater_equal", import_binary),
      TENSORS("logical_and"),
      TENSORS("logical_or"),
      TENSORS("logical_xor"),
      BOTH("bitwise_and", import_binary),
      BOTH("bitwise_or", import_binary),
      BOTH("bitwise_xor", import_binary),
      {"bitwise_and.Scalar_Tensor(Scalar self, Tensor other)", import_binary},
      {"bitwise_or.Scalar_Tensor(Scalar self, Tensor other)", import_binary},
      {"bitwise_xor.Scalar_Tensor(Scalar self, Tensor other)", import_binary},
      BOTH("__and__", import_binary),
      BOTH("__or__", import_binary),
      BOTH("__xor__", import_binary),
      BOTH("__lshift__", import_binary),
      BOTH("__rshift__", import_binary),
      {"bitwise_left_shift.Tensor(Tensor self, Tensor other)", import_binary},
      {"bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other)", import_binary},
      {"bitwise_right_shift.Tensor(Tensor self, Tensor other)", import_binary},
      {"bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other)", import_binary},
      BOTH("fmod", import_binary),
      BOTH("remainder", import_binary),
      {"remainder.Scalar_Tensor(Scalar self, Tensor other)", import_binary},
      TENSORS("floor_divide"),
      {"floor_divide.Scalar(Tensor self, Scalar other)", import_binary},
      TENSORS("atan2"),
      TENSORS("arctan2"),
      TENSORS("hypot"),
      TENSORS("fmax"),
      TENSORS("fmin"),
      BOTH("copysign", import_binary),
      TENSORS("logaddexp"),
      TENSORS("logaddexp2"),
      {"xlogy.Tensor(Tensor self, Tensor other)", import_binary},
      {"xlogy.Scalar_Self(Scalar self, Tensor other)", import_binary},
      {"xlogy.Scalar_Other(Tensor self, Scalar other)", import_binary},
      TENSORS("special_xlogy"),
      {"special_xlogy.self_scalar(Scalar self, Tensor other)", import_binary},
      {"special_xlogy.other_scalar(Tensor self, Scalar other)", import_binary},
      TENSORS("special_xlog1py"),
      {"special_xlog1py.self_scalar(Scalar self, Tensor other)", import_binary},
      {"special_xlog1py.other_scalar(Tensor self, Scalar other)", import_binary},
      {"equal.default(Tensor self, Tensor other)", import_equal},
      {"logical_not.default(Tensor self)", import_logical_not},
      {"bitwise_not.default(Tensor self)", import_bitwise_not},
      {"isnan.default(Tensor self)", import_isnan},
      {"isclose.default(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)",
       import_isclose},
      {"isinf.default(Tensor self)", import_isinf},
      {"isfinite.default(Tensor self)", import_isfinite},
      {"isposinf.default(Tensor self)", import_isposinf},
      {"isneginf.default(Tensor self)", import_isneginf},
      {"isreal.default(Tensor self)", import_isreal},
      {"signbit.default(Tensor self)", import_signbit},
      {"where.self(Tensor condition, Tensor self, Tensor other)", import_where},
      {"where.ScalarSelf(Tensor condition, Scalar self, Tensor other)", import_where},
      {"where.ScalarOther(Tensor condition, Tensor self, Scalar other)", import_where},
      {"where.Scalar(Tensor condition, Scalar self, Scalar other)", import_where},
      {"masked_fill.Scalar(Tensor self, Tensor mask, Scalar value)", import_masked_fill},
      {"masked_fill.Tensor(Tensor self, Tensor mask, Tensor value)", import_masked_fill},
      {"fill.Tensor(Tensor self, Tensor value)", import_fill},
      {"nan_to_num.default(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)", import_nan_to_num},
      {"clamp_min.Tensor(Tensor self, Tensor min)", import_clamp_tensor},
      {"clamp_max.Tensor(Tensor self, Tensor max)", import_clamp_tensor},
      {"to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
       "MemoryFormat? memory_format=None)",
       import_conversion},
      {"to.device(Tensor self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
       "MemoryFormat? memory_format=None)",
       import_conversion},
      {"to.dtype_layout(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None)",
       import_conversion},
      {"to.other(Tensor self, Tensor other, bool non_blocking=False, bool copy=False, "
       "MemoryFormat? memory_format=None)",
       import_conversion},
      {"type_as.default(Tensor self, Tensor other)", import_conversion},
      {"dim_order_ops::_to_dim_order_copy.default(Tensor self, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, "
       "int[]? dim_order=None)",
       import_conversion},
      {"_to_copy.default(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None)",
       import_conversion},
      {"div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode)", import_div_mode},
      {"div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode)", import_div_mode},
      {"divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode)", import_div_mode},
      {"divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode)", import_div_mode},
      {"pow.Tensor_Tensor(Tensor self, Tensor exponent)", import_pow_tensor},
      {"pow_.Tensor(Tensor self, Tensor exponent)", import_pow_tensor},
      {"float_power.Tensor_Tensor(Tensor self, Tensor exponent)", import_float_power},
      {"float_power.Scalar(Scalar self, Tensor exponent)", import_float_power},
      {"float_power.Tensor_Scalar(Tensor self, Scalar exponent)", import_float_power},
      {"lerp.Scalar(Tensor self, Tensor end, Scalar weight)", import_lerp},
      {"lerp.Tensor(Tensor self, Tensor end, Tensor weight)", import_lerp},
      {"addcmul.default(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", import_addcmul},
      {"addcdiv.default(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", import_addcdiv},
      {"deg2rad.default(Tensor self)", import_deg2rad},
      {"rad2deg.default(Tensor self)", import_rad2deg},
      {"heaviside.default(Tensor self, Tensor values)", import_heaviside},
      {"ldexp.Tensor(Tensor self, Tensor other)", import_ldexp},
      {"special_entr.default(Tensor self)", import_entr},
      {"glu.default(Tensor self, int dim=-1)", import_glu},
      {"softsign.default(Tensor self)", import_softsign}};
}

#undef BOTH
#undef TENSORS

}  // namespace cormorant::ops
