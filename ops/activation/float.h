// SPDX-License-Identifier: Apache-2.0
//
// Functions of one element in float. Those that ExecuTorch's portable kernels have keep their names and schemas; the
// others are cormorant::<function>.float with up to two parameters.
#pragma once

#include "base/overlap.h"

namespace cormorant::ops::activation {

template <class W>
struct Unary {
  static constexpr const char* kName = "aten::exp.out";
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("out", out);
  }
  void get(float (&)[3]) const {}
};

// cormorant::<function>.float
template <class W>
struct Unary1 {
  static constexpr const char* kName = "cormorant::celu.float";
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Scalar a{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("a", a);
    v("out", out);
  }
  void get(float (&p)[3]) const { p[0] = a.value; }
};

template <class W>
struct Unary2 {
  static constexpr const char* kName = "cormorant::softplus.float";
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Scalar a{};
  typename W::Scalar b{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("a", a);
    v("b", b);
    v("out", out);
  }
  void get(float (&p)[3]) const {
    p[0] = a.value;
    p[1] = b.value;
  }
};

template <class W>
struct Elu {
  static constexpr const char* kName = "aten::elu.out";
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Scalar alpha{};
  typename W::Scalar scale{};
  typename W::Scalar input_scale{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("alpha", alpha);
    v("scale", scale);
    v("input_scale", input_scale);
    v("out", out);
  }
  void get(float (&p)[3]) const {
    p[0] = alpha.value;
    p[1] = scale.value;
    p[2] = input_scale.value;
  }
};

template <class W>
struct Gelu {
  static constexpr const char* kName = "aten::gelu.out";
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::String approximate{};  // "none" or "tanh"
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("approximate", approximate);
    v("out", out);
  }
  void get(float (&p)[3]) const { p[0] = approximate == "tanh" ? 1.0F : 0.0F; }
};

template <class W>
struct LeakyRelu {
  static constexpr const char* kName = "aten::leaky_relu.out";
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Scalar negative_slope{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("negative_slope", negative_slope);
    v("out", out);
  }
  void get(float (&p)[3]) const { p[0] = negative_slope.value; }
};

template <class W>
struct Logit {
  static constexpr const char* kName = "aten::logit.out";
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::OptionalScalar eps{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("eps", eps);
    v("out", out);
  }
  void get(float (&p)[3]) const { p[0] = eps.value_or(-1); }  // none
};

template <class W>
struct Pow {
  static constexpr const char* kName = "aten::pow.Tensor_Scalar_out";
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Scalar exponent{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("exponent", exponent);
    v("out", out);
  }
  void get(float (&p)[3]) const { p[0] = exponent.value; }
};

template <class W>
struct PowOfBase {
  static constexpr const char* kName = "aten::pow.Scalar_out";
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Scalar self{};
  typename W::Tensor exponent{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("exponent", exponent);
    v("out", out);
  }
  void get(float (&p)[3]) const { p[0] = self.value; }
};

// clang-format off
// function, signature: the portable operators aten::<function>.out …
#define CORMORANT_PORTABLE_FUNCTIONS(X) \
  X(abs, Unary) X(acos, Unary) X(acosh, Unary) X(asin, Unary) X(asinh, Unary) \
  X(atan, Unary) X(atanh, Unary) X(ceil, Unary) X(cos, Unary) X(cosh, Unary) \
  X(elu, Elu) X(erf, Unary) X(exp, Unary) X(expm1, Unary) X(floor, Unary) \
  X(gelu, Gelu) X(leaky_relu, LeakyRelu) X(log, Unary) X(log10, Unary) X(log1p, Unary) \
  X(log2, Unary) X(logit, Logit) X(neg, Unary) X(reciprocal, Unary) X(round, Unary) \
  X(rsqrt, Unary) X(sigmoid, Unary) X(sign, Unary) X(sin, Unary) X(sinh, Unary) \
  X(sqrt, Unary) X(tan, Unary) X(tanh, Unary) X(trunc, Unary)
// … those that only programs of ExecuTorch's Cortex-M compiler name so, also aten::<function>.out …
#define CORMORANT_FOREIGN_FUNCTIONS(X) X(hardsigmoid, Unary) X(hardswish, Unary) X(silu, Unary)
// … and ours, cormorant::<function>.float.
#define CORMORANT_OWN_FUNCTIONS(X) \
  X(celu, Unary1) X(erfc, Unary) X(exp2, Unary) X(frac, Unary) X(hardshrink, Unary1) \
  X(hardsigmoid, Unary) X(hardswish, Unary) X(log_sigmoid, Unary) X(mish, Unary) X(round_decimals, Unary1) \
  X(selu, Unary) X(sgn, Unary) X(silu, Unary) X(softplus, Unary2) X(softshrink, Unary1) \
  X(square, Unary) X(threshold, Unary2)
// clang-format on

}  // namespace cormorant::ops::activation
