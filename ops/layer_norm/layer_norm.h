// SPDX-License-Identifier: Apache-2.0
//
// Normalization by statistics of the input itself: y = (x − mean) / √(variance + ε) · γ + β. The contract between
// compiler and kernels. The input is [outer, groups, channels, inner], contiguous; statistics are taken over channels
// and inner, γ and β belong to (group, channel). Layer norm has one group and inner 1, group norm and instance norm
// what their names say; RMS norm subtracts no mean and divides by √(mean of squares + ε).
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_LAYER_NORM_KERNELS(OURS, THEIRS, FOREIGN)                                           \
  OURS(layer_norm, scalar, scalar, load, execute, w8a8, LayerNorm)                                    \
  OURS(layer_norm, dsp, dsp, load, execute, w8a8, LayerNorm)                                          \
  OURS(layer_norm, mve, mve, load, execute, w8a8, LayerNorm)                                          \
  OURS(layer_norm, scalar_words, scalar_words, load_words, execute_words, w8a16, LayerNorm)           \
  OURS(layer_norm, dsp_words, dsp_words, load_words, execute_words, w8a16, LayerNorm)                 \
  OURS(layer_norm, mve_words, mve_words, load_words, execute_words, w8a16, LayerNorm)                 \
  THEIRS(aten, native_layer_norm, out, any_cpu, load_layer_norm, execute_float, f32, NativeLayerNorm) \
  THEIRS(aten, native_group_norm, out, any_cpu, load_group_norm, execute_float, f32, NativeGroupNorm) \
  OURS(rms_norm, float, any_cpu, load_rms_norm, execute_float, f32, FloatRmsNorm)
CORMORANT_NAMES(CORMORANT_LAYER_NORM_KERNELS)

namespace cormorant::ops::layer_norm {

template <class W>
struct LayerNorm {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Tensor packed{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, packed, out)
};

constexpr const char* variant_of(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return names::cormorant_layer_norm_scalar;
  return target.isa == Isa::dsp ? names::cormorant_layer_norm_dsp : names::cormorant_layer_norm_mve;
}
// With activations of 16 bits.
constexpr const char* words_variant_of(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return names::cormorant_layer_norm_scalar_words;
  return target.isa == Isa::dsp ? names::cormorant_layer_norm_dsp_words : names::cormorant_layer_norm_mve_words;
}

// The packed constant: this header, then γ of every (group, channel), then β, both int32. arithmetic.h says what the
// numbers mean.
struct Header {
  std::uint32_t groups;
  std::uint32_t channels;
  std::uint32_t inner;
  std::int16_t zero_point;      // the input's; only used if no mean is subtracted
  std::uint8_t subtracts_mean;  // 1 or 0
  std::int8_t fraction;         // fractional bits of a normalized value; may be negative
  std::uint64_t epsilon;        // size² · ε / scale², with variance_bits() fractional bits
  std::uint32_t shift;          // fractional bits of γ · value and of β
  std::uint32_t zero;

  [[nodiscard]] constexpr std::uint32_t size() const { return channels * inner; }
};
static_assert(sizeof(Header) == 32);

// Of size² · variance, which is below 2^46 for int8 and below 2^60 for int16.
template <class Element>
constexpr std::int32_t variance_bits() {
  return sizeof(Element) == 1 ? 16 : 2;
}

// So that size² · variance leaves room for these bits, and sums of squares of int8 fit 31 bits.
inline constexpr std::uint32_t kMaxSize = 1U << 15;
inline constexpr std::uint32_t kMaxParameters = 1U << 20;
inline constexpr std::int32_t kMaxFraction = 29;

// The most fractional bits with which a normalized value, at most √size, can be computed in 32 bits.
constexpr std::int32_t largest_fraction(std::uint32_t size) {
  std::int32_t bits = 0;
  while ((std::uint64_t{1} << (2 * bits)) < size) ++bits;
  return kMaxFraction - bits;
}

constexpr std::uint64_t packed_bytes(std::uint32_t parameters) {
  return sizeof(Header) + std::uint64_t{8} * parameters;
}

}  // namespace cormorant::ops::layer_norm
