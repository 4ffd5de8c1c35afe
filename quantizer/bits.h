// SPDX-License-Identifier: Apache-2.0
//
// Bits per layer. What 4-bit weights or 8-bit activations cost the outputs is measured layer by layer, as in `evaluate
// --layers` ("alone"); errors of layers add up nearly as if they were independent, so the sum predicts what a choice
// for all layers costs. To meet an SQNR, layers change in the order of cost per byte of flash; to meet a size, the set
// of layers that costs the least changes. How far to go is found by quantizing the network and measuring: predictions
// only say where to look.
#pragma once

#include <string>
#include <vector>

#include "quantizer/annotate.h"
#include "quantizer/calibrate.h"
#include "quantizer/trial.h"

namespace cormorant::quantizer {

// What a layer got, and what it bought. SQNR is of the worst output when only this layer is quantized.
struct LayerBits {
  std::string node, op, source, precision;
  double alone_db = 0, alone_db_8w8a = 0;
  std::int64_t weight_bytes = 0, weight_bytes_8w8a = 0;
};

struct BitsReport {
  std::string goal;  // "the least flash for 30.0 dB"
  double db = 0, db_8w8a = 0;
  std::uint64_t flash = 0, flash_8w8a = 0;
  std::size_t samples = 0;        // used for measuring
  std::size_t tried = 0;          // quantized networks
  std::vector<LayerBits> layers;  // those with a choice, in the graph's order
};

// Everything that does not depend on the layers' bits.
struct BitsInputs {
  const ir::Graph& graph;  // in float, the one that was observed
  const ir::Graph& real;   // its copy, from which quantized graphs are made
  const Observations& observations;
  const Samples& samples;
  const Parameters& parameters;  // of 8w8a, the best found
};

struct ChosenBits {
  QuantizeOptions options;  // with the precision of every layer
  Parameters parameters;
  Trial trial;
  BitsReport report;
};

// According to options.bits. Throws InputError if its limits cannot be met, naming the nearest that can.
[[nodiscard]] ChosenBits choose_bits(const BitsInputs& inputs, const QuantizeOptions& options);

// Whether the same bits in a network that was quantized otherwise have a better SQNR within the goal; then the report
// is about that network.
[[nodiscard]] bool improves(BitsReport& report, const ir::Graph& quantized, const ir::Graph& real,
                            const Samples& samples, const QuantizeOptions& options);

}  // namespace cormorant::quantizer
