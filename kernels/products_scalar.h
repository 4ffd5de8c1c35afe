// SPDX-License-Identifier: Apache-2.0
//
// Products of one vector and four rows of int8 weights, without SIMD, shared by linear and recurrent layers. Weights
// are stored + 128, as unsigned bytes, four rows interleaved: ARMv6-M loads unsigned bytes with an immediate offset but
// signed ones only with an index register. The caller subtracts Σ x · 128.
#pragma once

#include <cstdint>

namespace cormorant {

inline constexpr std::uint32_t kScalarTaps = 8;  // of x per turn: the immediate offsets reach 8 · 4 bytes

// A group in progress: its sums, and what is multiplied next.
struct ScalarProducts {
  std::int32_t sums[4];
  const std::int8_t* x;
  const std::uint8_t* weights;
  const std::int8_t* end;  // of the whole turns; beyond x
};

// sums[n] += Σ x[k] · weights[4k + n] from x to end; advances x and weights.
extern "C" void cormorant_products_scalar(ScalarProducts* products);
// The same for int16: x and end are addresses of such.
extern "C" void cormorant_products_words_scalar(ScalarProducts* products);

}  // namespace cormorant
