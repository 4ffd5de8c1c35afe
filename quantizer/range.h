// SPDX-License-Identifier: Apache-2.0
//
// From what a tensor was observed to hold to the integers that will stand for it. A rule looks at a distribution and
// proposes quantization parameters; rules are plain functions, so another one (percentile, divergence) is one more
// function with this type. 0 is always expressed exactly: padding and ReLU depend on it.
#pragma once

#include <cstdint>

#include "ir/types.h"
#include "quantizer/histogram.h"

namespace cormorant::quantizer {

// The integers that an activation may take.
struct Grid {
  DType dtype = DType::i8;
  std::int32_t qmin = -128;
  std::int32_t qmax = 127;
};

using RangeRule = ir::QuantParams (*)(const Distribution&, const Grid&);

// Everything that was seen is expressed: no clipping, the coarsest step.
[[nodiscard]] ir::QuantParams minmax_range(const Distribution& distribution, const Grid& grid);
// Clips where a finer step gains more than the clipped values lose: least expected squared error.
[[nodiscard]] ir::QuantParams mse_range(const Distribution& distribution, const Grid& grid);

// Parameters whose integers cover [low, high] widened to include 0. The scale is a float32 number, since the kernels
// that convert from and to float compute with one; the zero point is rounded, so an end may move by half a step.
[[nodiscard]] ir::QuantParams params_for_range(double low, double high, const Grid& grid);

// What the parameters make of a distribution.
struct RangeError {
  double squared_error = 0;  // mean, of rounding and clipping
  double signal = 0;         // mean square of the values
  double clipped_share = 0;  // of the values, outside what the integers express
};
[[nodiscard]] RangeError range_error(const Distribution& distribution, const ir::QuantParams& params);

}  // namespace cormorant::quantizer
