// SPDX-License-Identifier: Apache-2.0
//
// Forms that other folders import for floats, where the result is an integer or a boolean.
#include "ops/host/build.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

using Values = std::vector<ir::Value*>;

// alpha · x, where the schema has an alpha.
V times_alpha(const Build& b, V x) {
  if (!b.given("alpha")) return x;
  V alpha = b.operand("alpha", b.type().dtype);
  return b.numbers_of(alpha) == std::vector{1.0} ? x : b.mul(x, alpha);
}
V second(const Build& b) { return times_alpha(b, b.operand("other", b.type().dtype)); }
V first(const Build& b) { return b.operand("self", b.type().dtype); }
// Both, in this order: that in which a call's arguments are evaluated is each compiler's own.
struct Operands {
  V self, other;
};
Operands operands(const Build& b) { return {first(b), second(b)}; }

Values import_add(Importer& importer) {
  const Build b(importer);
  const Operands of = operands(b);
  return {b.finish(b.add(of.self, of.other))};
}
Values import_sub(Importer& importer) {
  const Build b(importer);
  const Operands of = operands(b);
  return {b.finish(b.sub(of.self, of.other))};
}
Values import_rsub(Importer& importer) {
  const Build b(importer);
  V self = times_alpha(b, first(b));
  return {b.finish(b.sub(b.operand("other", b.type().dtype), self))};
}
Values import_mul(Importer& importer) {
  const Build b(importer);
  const Operands of = operands(b);
  return {b.finish(b.mul(of.self, of.other))};
}
Values import_minimum(Importer& importer) {
  const Build b(importer);
  const Operands of = operands(b);
  return {b.finish(b.minimum(of.self, of.other))};
}
Values import_maximum(Importer& importer) {
  const Build b(importer);
  const Operands of = operands(b);
  return {b.finish(b.maximum(of.self, of.other))};
}
Values import_neg(Importer& importer) {
  const Build b(importer);
  return {b.finish(b.sub(b.number(0, b.type().dtype), first(b)))};
}
Values import_abs(Importer& importer) {
  const Build b(importer);
  return {b.finish(b.map(nodes::cormorant_abs_any, first(b)))};
}
Values import_sign(Importer& importer) {
  const Build b(importer);
  V self = first(b);
  V zero = b.number(0, self->type.dtype);
  V positive = b.to(b.gt(self, zero), b.type().dtype);
  V negative = b.to(b.lt(self, zero), b.type().dtype);
  return {b.finish(b.sub(positive, negative))};
}
Values import_same(Importer& importer) {
  const Build b(importer);
  return {b.finish(first(b))};
}
Values import_square(Importer& importer) {
  const Build b(importer);
  return {b.finish(b.mul(first(b), first(b)))};
}
Values import_pow(Importer& importer) {
  const Build b(importer);
  return {b.finish(b.map(nodes::aten_pow_Tensor_Tensor_out, first(b), b.operand("exponent", b.type().dtype)))};
}
Values import_clamp(Importer& importer) {
  const Build b(importer);
  V x = first(b);
  if (b.given("min")) x = b.maximum(x, b.operand("min", b.type().dtype));
  if (b.given("max")) x = b.minimum(x, b.operand("max", b.type().dtype));
  return {b.finish(x)};
}
Values import_relu(Importer& importer) {
  const Build b(importer);
  return {b.finish(b.maximum(first(b), b.number(0, b.type().dtype)))};
}
Values import_sum(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  return {b.finish(b.sum(self, b.dims("dim", self->type.rank())))};
}
Values import_amax(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  return {b.finish(b.amax(self, b.dims("dim", self->type.rank())))};
}
Values import_amin(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  return {b.finish(b.amin(self, b.dims("dim", self->type.rank())))};
}
Values import_pad(Importer& importer) {
  const Build b(importer);
  if (b.given("mode") && b.call().string("mode") != "constant") {
    b.reject("integers padded in mode '" + b.call().string("mode") + "'", "pad floats, or with a constant");
  }
  const double value = b.given("value") ? b.call().number("value") : 0;
  return {b.finish(b.pad(b.tensor("self"), b.call().integers("pad"), value))};
}

}  // namespace

Operator integers_operator() {
  return {.name = "integers",
          .for_integers = true,
          .forms = {{"add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", import_add},
                    {"add.Scalar(Tensor self, Scalar other, Scalar alpha=1)", import_add},
                    {"sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", import_sub},
                    {"sub.Scalar(Tensor self, Scalar other, Scalar alpha=1)", import_sub},
                    {"rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", import_rsub},
                    {"rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1)", import_rsub},
                    {"mul.Tensor(Tensor self, Tensor other)", import_mul},
                    {"mul.Scalar(Tensor self, Scalar other)", import_mul},
                    {"minimum.default(Tensor self, Tensor other)", import_minimum},
                    {"maximum.default(Tensor self, Tensor other)", import_maximum},
                    {"min.other(Tensor self, Tensor other)", import_minimum},
                    {"max.other(Tensor self, Tensor other)", import_maximum},
                    {"neg.default(Tensor self)", import_neg},
                    {"abs.default(Tensor self)", import_abs},
                    {"sign.default(Tensor self)", import_sign},
                    {"sgn.default(Tensor self)", import_sign},
                    {"ceil.default(Tensor self)", import_same},
                    {"floor.default(Tensor self)", import_same},
                    {"round.default(Tensor self)", import_same},
                    {"trunc.default(Tensor self)", import_same},
                    {"square.default(Tensor self)", import_square},
                    {"pow.Tensor_Scalar(Tensor self, Scalar exponent)", import_pow},
                    {"pow.Scalar(Scalar self, Tensor exponent)", import_pow},
                    {"clamp.default(Tensor self, Scalar? min=None, Scalar? max=None)", import_clamp},
                    {"clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None)", import_clamp},
                    {"clamp_min.default(Tensor self, Scalar min)", import_clamp},
                    {"clamp_max.default(Tensor self, Scalar max)", import_clamp},
                    {"relu.default(Tensor self)", import_relu},
                    {"sum.default(Tensor self, *, ScalarType? dtype=None)", import_sum},
                    {"sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)",
                     import_sum},
                    {"amax.default(Tensor self, int[1] dim=[], bool keepdim=False)", import_amax},
                    {"amin.default(Tensor self, int[1] dim=[], bool keepdim=False)", import_amin},
                    {"max.default(Tensor self)", import_amax},
                    {"min.default(Tensor self)", import_amin},
                    {"constant_pad_nd.default(Tensor self, SymInt[] pad, Scalar value=0)", import_pad},
                    {"pad.default(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None)", import_pad}},
          .canonical = {}};
}

}  // namespace cormorant::ops
