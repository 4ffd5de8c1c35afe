// SPDX-License-Identifier: Apache-2.0
//
// Options as the command line spells them. `driver/options.h` makes the compiler's of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"

namespace cormorant::driver {

// Of `compile` and of `evaluate --layers`.
struct QuantizationFlags {
  std::string scheme = "8w8a";
  std::string observer = "auto";
  bool equalize = true, round_weights = true, correct_biases = true;
  std::vector<std::string> float_layers;
  std::string layers_file;

  [[nodiscard]] bool chooses_bits() const { return scheme == "auto"; }
  [[nodiscard]] bool names_layers() const { return !float_layers.empty() || !layers_file.empty(); }
};

// Reads the file of exceptions.
void apply(const QuantizationFlags& flags, compiler::Options& options);

struct CompileFlags {
  std::string model, target = "cortex-m55", isa, output, calibrate, io = "float", runtime = "cormorant", memory,
                     intermediates;
  std::string method, bundle, report, optimize = "balanced", budget, weights_in = "flash", compiler = "gcc", stream,
                                      feed = "whole";
  std::vector<std::string> shapes;
  std::optional<double> min_sqnr;
  double recompute = 1;
  QuantizationFlags quantization;
  bool quantize = false, strict = false, bundle_io = false, delegate = false, json = false, names = true,
       measure = false, link = true, explain = false, sequence = false, quiet = false, stream_causal = false;

  [[nodiscard]] bool bundles() const { return bundle_io || !bundle.empty(); }
  [[nodiscard]] bool is_for_executorch() const { return runtime != "cormorant"; }
};

}  // namespace cormorant::driver
