// SPDX-License-Identifier: Apache-2.0
//
// Channels of a convolution whose factors and sums no fast loop can requantize, each another one: for the loops that
// take them all.
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace cormorant::conformance {

// The scales of the weights and the biases. Tiny factors shift far to the right, and have biases near 2^31 that leave
// the result half way between two steps, so that the weights tip it; factors of 0.5 and above shift left, until sums
// wrap.
inline void make_wild(double output_scale, const ir::Value* x, ir::Value* w, ir::Value* b) {
  struct Kind {
    double factor;
    double steps;  // of the bias
  };
  constexpr Kind kKinds[] = {{0x1.4p-31, 0.5},  {0x1p-10, 3},      {0x1.4p-29, -2.5},
                             {0x1p-23, -130.5}, {0x1.5p-25, 36.5}, {0x1.9p-24, 70.5},
                             {0x1p-24, -99.5},  {0.75, 4},         {1, 0},
                             {1.5, -20},        {0x1.8p12, 0},     {0x1.2p20, 0},
                             {0x1.1p28, 0},     {0x1p-2, 10},      {0x1p-1, 0}};
  std::vector<std::int32_t> biases;
  for (std::size_t c = 0; c < w->type.quant->scales.size(); ++c) {
    const Kind& kind = kKinds[c % std::size(kKinds)];
    w->type.quant->scales[c] = kind.factor * output_scale / x->type.quant->scale();
    b->type.quant->scales[c] = kind.factor * output_scale;
    biases.push_back(static_cast<std::int32_t>(kind.steps / kind.factor));
  }
  b->data = ir::Bytes::of(std::span<const std::int32_t>(biases));
}

}  // namespace cormorant::conformance
