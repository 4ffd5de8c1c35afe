// SPDX-License-Identifier: Apache-2.0
//
// clamp: relu, relu6, hardtanh and clamp that no operator before them absorbed, on int8. Input and output share their
// quantization parameters, so the real bounds are integers and the operator is a byte-wise minimum and maximum.
#pragma once

#include <cstdint>

#include "base/overlap.h"
#include "target/target.h"

namespace cormorant::ops {

template <class W>
struct Clamp {
  static constexpr const char* kName = "cormorant::clamp.scalar";
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Int min{};
  typename W::Int max{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("input", input);
    v("min", min);
    v("max", max);
    v("out", out);
  }
};

inline constexpr const char* kClampScalar = "cormorant::clamp.scalar";
inline constexpr const char* kClampDsp = "cormorant::clamp.dsp";
inline constexpr const char* kClampMve = "cormorant::clamp.mve";

// The variant for a target; the scalar one runs everywhere.
constexpr const char* clamp_variant(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return kClampScalar;
  return target.isa == Isa::dsp ? kClampDsp : kClampMve;
}

}  // namespace cormorant::ops
