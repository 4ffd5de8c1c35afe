// SPDX-License-Identifier: Apache-2.0
//
// repeat_interleave: along each dimension every place as often as `repeats` says, one behind the other (0 0 1 1 2 2).
// Upsampling to the nearest pixel by whole factors is this, in whatever order the image lies. The result's sizes are
// the input's times the repeats.
#pragma once

#include <cstdint>

#include "target/target.h"

namespace cormorant::ops {

template <class W>
struct RepeatInterleave {
  static constexpr const char* kName = "cormorant::repeat_interleave.scalar";
  typename W::Tensor self{};
  typename W::IntList repeats{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("repeats", repeats);
    v("out", out);
  }
};

inline constexpr const char* kRepeatInterleaveScalar = "cormorant::repeat_interleave.scalar";
inline constexpr const char* kRepeatInterleaveDsp = "cormorant::repeat_interleave.dsp";
inline constexpr const char* kRepeatInterleaveMve = "cormorant::repeat_interleave.mve";

constexpr const char* repeat_interleave_variant(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return kRepeatInterleaveScalar;
  return target.isa == Isa::dsp ? kRepeatInterleaveDsp : kRepeatInterleaveMve;
}

}  // namespace cormorant::ops
