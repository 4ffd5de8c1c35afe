// SPDX-License-Identifier: Apache-2.0
//
// Reductions over any dimensions of an int8 tensor, which keep their place with size 1: mean (and sum, which is the
// mean with another factor) into parameters of its own, and maximum, whose input and output share theirs. In memory the
// dimensions of any tensor fall into groups that are reduced and groups that are kept; with at most two of the former a
// result is a Window of kernels/window.h.
#pragma once

#include <cstdint>

#include "target/target.h"

namespace cormorant::ops {

template <class W>
struct Mean {
  static constexpr const char* kName = "cormorant::mean.scalar";
  typename W::Tensor input{};
  typename W::IntList dim{};
  typename W::Int input_zero_point{};
  typename W::Int left_shift{};  // as in kernels/window.h
  typename W::Int multiplier{};
  typename W::Int right_shift{};
  typename W::Int output_zero_point{};
  typename W::Int output_min{};
  typename W::Int output_max{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("input", input);
    v("dim", dim);
    v("input_zero_point", input_zero_point);
    v("left_shift", left_shift);
    v("multiplier", multiplier);
    v("right_shift", right_shift);
    v("output_zero_point", output_zero_point);
    v("output_min", output_min);
    v("output_max", output_max);
    v("out", out);
  }
};

template <class W>
struct Amax {
  static constexpr const char* kName = "cormorant::amax.scalar";
  typename W::Tensor input{};
  typename W::IntList dim{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("input", input);
    v("dim", dim);
    v("out", out);
  }
};

inline constexpr const char* kMeanScalar = "cormorant::mean.scalar";
inline constexpr const char* kMeanDsp = "cormorant::mean.dsp";
inline constexpr const char* kMeanMve = "cormorant::mean.mve";
inline constexpr const char* kAmaxScalar = "cormorant::amax.scalar";
inline constexpr const char* kAmaxDsp = "cormorant::amax.dsp";
inline constexpr const char* kAmaxMve = "cormorant::amax.mve";

constexpr const char* mean_variant(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return kMeanScalar;
  return target.isa == Isa::dsp ? kMeanDsp : kMeanMve;
}

constexpr const char* amax_variant(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return kAmaxScalar;
  return target.isa == Isa::dsp ? kAmaxDsp : kAmaxMve;
}

}  // namespace cormorant::ops
