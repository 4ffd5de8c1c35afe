// SPDX-License-Identifier: Apache-2.0
//
// Quantization options.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/progress.h"
#include "ops/op.h"
#include "quantizer/settings.h"

namespace cormorant::quantizer {

// The size of a quantized graph's program, in bytes.
struct Footprint {
  std::uint64_t flash = 0, ram = 0;
};

// The goal by which bits per layer are chosen (quantizer/bits.h). Without a limit: to lose next to nothing against
// 8w8a.
struct BitsGoal {
  std::optional<double> min_db;             // SQNR of the worst output, with the least flash
  std::optional<std::uint64_t> flash = {};  // the best SQNR within it
  std::optional<std::uint64_t> ram = {};    // which 16-bit activations must not exceed
  bool may_widen = true;                    // activations may have 16 bits
  std::size_t samples = 16;                 // used for measuring
  std::optional<double> db_8w8a = {};       // to compare with, where 8w8a alone has kernels that are better still
  std::function<Footprint(ir::Graph)> footprint;
};

struct QuantizeOptions {
  bool int8_io = false;                          // the graph's inputs and outputs become integers themselves
  bool pixels = false;                           // inputs that range over [0, 1] or [0, 255] get all of its 256 levels
  ops::Precision scheme = ops::Precision::w8a8;  // what layers get if their operator supports it
  std::unordered_map<std::string, ops::Precision> precisions;  // by node, instead of the scheme
  std::optional<BitsGoal> bits;                                // precisions are to be chosen
  std::vector<std::string>
      per_tensor_weights;             // operators ("aten.linear") whose kernels take one scale for all channels
  std::vector<LayerSettings> layers;  // exceptions by module path; if two set the same, the later one counts
  bool executorch_operators = false;  // ExecuTorch's kernels run: rules that leave the choice share parameters
  Observer observer = Observer::automatic;
  bool equalize = true;        // outlier channels between two layers, which changes nothing in float
  bool round_weights = true;   // to the neighbour that is best for the layer's sums, not the nearest
  bool correct_biases = true;  // by the mean error that calibration finds
  bool refine_alone = false;   // weights and biases as if no other layer were quantized
  std::size_t threads = 0;     // 0: one per core; the result is the same for any number
  Progress progress;
};

}  // namespace cormorant::quantizer
