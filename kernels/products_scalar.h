// SPDX-License-Identifier: Apache-2.0
//
// int8 products of one vector with four rows of weights, without SIMD: what linear and recurrent layers have in common.
// Weights are stored + 128, as bytes without a sign, four rows interleaved: ARMv6-M loads unsigned bytes with an
// immediate offset but signed ones only through an index register. Σ x · 128 is the caller's to subtract.
#pragma once

#include <cstdint>

namespace cormorant {

inline constexpr std::uint32_t kScalarTaps = 8;  // of x per turn: the immediate offsets reach 8 · 4 bytes

// A group under way: its sums, and what is multiplied next.
struct ScalarProducts {
  std::int32_t sums[4];
  const std::int8_t* x;
  const std::uint8_t* weights;
  const std::int8_t* end;  // of the whole turns; beyond x
};

// sums[n] += Σ x[k] · weights[4k + n] from x to end; x and weights move on.
extern "C" void cormorant_products_scalar(ScalarProducts* products);

}  // namespace cormorant
