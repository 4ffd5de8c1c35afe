// SPDX-License-Identifier: Apache-2.0
//
// Products of one vector and four rows of int8 weights by SMLAD, shared by linear and recurrent layers.
// ops/linear/linear.h has the two layouts of weights. In pairs, a word holds A + 256 · B of two rows: one SMLAD adds
// that, a second one, after SXTB16, A alone.
#pragma once

#include <cstdint>

namespace cormorant {

// A group in progress: sums, and what is multiplied next. In pairs the sums are Σ A and Σ A + 256 · B of two pairs of
// rows, else those of the rows.
struct DspProducts {
  std::int32_t sums[4];
  const std::int8_t* x;
  const std::uint32_t* weights;
  std::uint32_t blocks;  // of four of x, at least one
};

// Multiplies all blocks and advances x and weights.
extern "C" void cormorant_products_pairs_dsp(DspProducts* products);
extern "C" void cormorant_products_wide_dsp(DspProducts* products);
// The same for int16: x is pairs of them, and a word of weights has two rows' for one pair.
extern "C" void cormorant_products_words_dsp(DspProducts* products);

}  // namespace cormorant
