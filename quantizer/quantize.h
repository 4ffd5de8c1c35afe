// SPDX-License-Identifier: Apache-2.0
//
// Post-training quantization of a float graph: annotate (which nodes compute with integers, which tensors share a
// scale), calibrate (run the float graph over samples and watch every tensor), convert (put types, integer constants
// and the conversions between float and integers into the graph). The result is a graph of quantized aten nodes, whose
// meaning is the float operator on dequantized operands, rounded to the result's parameters.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "quantizer/annotate.h"
#include "quantizer/bits.h"
#include "quantizer/equalize.h"
#include "quantizer/options.h"
#include "quantizer/samples.h"

namespace cormorant::quantizer {

// What was decided about one tensor.
struct ValueRange {
  std::string value;
  double min = 0, max = 0;  // observed
  double scale = 0;
  std::int32_t zero_point = 0;
  double clipped_share = 0;  // of the observed values
  double sqnr_db = 0;        // of rounding this tensor alone; infinite if it is exact
};

struct QuantizeReport {
  std::vector<FloatNode> float_nodes;
  std::vector<ValueRange> ranges;  // in the graph's order
  std::vector<std::string> warnings;
  std::vector<Decision> decisions;        // one per node, in the graph's order
  std::vector<EqualizedLayer> equalized;  // the largest factor first
  std::optional<BitsReport> bits;         // where they were chosen
  std::shared_ptr<const ir::Graph> real;  // the float graph that the quantized one stands for, equalized
};

// Without samples, seeded random inputs stand in and a warning says so. Throws InputError where the data does not fit
// the model or the model computes something that is not a finite number.
QuantizeReport quantize(ir::Graph& graph, const Samples& samples, const QuantizeOptions& options = {});

}  // namespace cormorant::quantizer
