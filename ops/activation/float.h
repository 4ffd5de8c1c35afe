// SPDX-License-Identifier: Apache-2.0
//
// Functions of one element in float. Those that ExecuTorch's portable kernels have keep their names and schemas; the
// others are cormorant::<function>.float with up to two parameters.
#pragma once

#include "base/fields.h"
#include "base/overlap.h"

namespace cormorant::ops::activation {

template <class W>
struct Unary {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, out)
  void get(float (&)[3]) const {}
};

// cormorant::<function>.float
template <class W>
struct Unary1 {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Scalar a{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, a, out)
  void get(float (&p)[3]) const { p[0] = a.value; }
};

template <class W>
struct Unary2 {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Scalar a{};
  typename W::Scalar b{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, a, b, out)
  void get(float (&p)[3]) const {
    p[0] = a.value;
    p[1] = b.value;
  }
};

template <class W>
struct Elu {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Scalar alpha{};
  typename W::Scalar scale{};
  typename W::Scalar input_scale{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, alpha, scale, input_scale, out)
  void get(float (&p)[3]) const {
    p[0] = alpha.value;
    p[1] = scale.value;
    p[2] = input_scale.value;
  }
};

template <class W>
struct Gelu {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::String approximate{};  // "none" or "tanh"
  typename W::Out out{};

  CORMORANT_FIELDS(self, approximate, out)
  void get(float (&p)[3]) const { p[0] = approximate == "tanh" ? 1.0F : 0.0F; }
};

template <class W>
struct LeakyRelu {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Scalar negative_slope{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, negative_slope, out)
  void get(float (&p)[3]) const { p[0] = negative_slope.value; }
};

template <class W>
struct Logit {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::OptionalScalar eps{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, eps, out)
  void get(float (&p)[3]) const { p[0] = eps.value_or(-1); }  // none
};

template <class W>
struct Pow {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Scalar exponent{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, exponent, out)
  void get(float (&p)[3]) const { p[0] = exponent.value; }
};

template <class W>
struct PowOfBase {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Scalar self{};
  typename W::Tensor exponent{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, exponent, out)
  void get(float (&p)[3]) const { p[0] = self.value; }
};

}  // namespace cormorant::ops::activation
