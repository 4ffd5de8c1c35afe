// SPDX-License-Identifier: Apache-2.0
//
// Normalisation by statistics of the input itself: y = (x − mean) / √(variance + ε) · γ + β. What compiler and kernels
// agree on. The input is [outer, groups, channels, inner], contiguous; statistics are taken over channels and inner, γ
// and β belong to (group, channel). Layer norm has one group and inner 1, group norm and instance norm what their names
// say; RMS norm subtracts no mean and divides by √(mean of squares + ε).
#pragma once

#include <cstdint>

#include "base/overlap.h"
#include "target/target.h"

namespace cormorant::ops::layer_norm {

template <class W>
struct LayerNorm {
  static constexpr const char* kName = "cormorant::layer_norm.scalar";
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Tensor packed{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("input", input);
    v("packed", packed);
    v("out", out);
  }
};

inline constexpr const char* kScalar = "cormorant::layer_norm.scalar";
inline constexpr const char* kDsp = "cormorant::layer_norm.dsp";
inline constexpr const char* kMve = "cormorant::layer_norm.mve";

constexpr const char* variant_of(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return kScalar;
  return target.isa == Isa::dsp ? kDsp : kMve;
}

// The packed constant: this header, then γ of every (group, channel), then β, both int32. arithmetic.h says what the
// numbers mean.
struct Header {
  std::uint32_t groups;
  std::uint32_t channels;
  std::uint32_t inner;
  std::int16_t zero_point;      // the input's; of account only where no mean is subtracted
  std::uint8_t subtracts_mean;  // 1 or 0
  std::int8_t fraction;         // bits of a normalised value behind the point; may be negative
  std::uint64_t epsilon;        // size² · ε / scale², with kVarianceBits behind the point
  std::uint32_t shift;          // bits of γ · value and of β behind the point
  std::uint32_t zero;

  [[nodiscard]] constexpr std::uint32_t size() const { return channels * inner; }
};
static_assert(sizeof(Header) == 32);

inline constexpr std::int32_t kVarianceBits = 16;

// So that size² · variance, below 2^46, leaves room for kVarianceBits, and sums of squares fit 31 bits.
inline constexpr std::uint32_t kMaxSize = 1U << 15;
inline constexpr std::uint32_t kMaxParameters = 1U << 20;
inline constexpr std::int32_t kMaxFraction = 29;

// The most fractional bits with which a normalised value, at most √size, can be computed in 32 bits.
constexpr std::int32_t largest_fraction(std::uint32_t size) {
  std::int32_t bits = 0;
  while ((std::uint64_t{1} << (2 * bits)) < size) ++bits;
  return kMaxFraction - bits;
}

constexpr std::uint64_t packed_bytes(std::uint32_t parameters) {
  return sizeof(Header) + std::uint64_t{8} * parameters;
}

}  // namespace cormorant::ops::layer_norm
