// SPDX-License-Identifier: Apache-2.0
//
// Quantization options of the command line: the same options for `compile` and for `evaluate --layers`.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cormorant::cli {

struct QuantizationFlags {
  std::string scheme = "8w8a";
  std::string observer = "auto";
  bool equalize = true, round_weights = true, correct_biases = true;
  std::vector<std::string> float_layers;
  std::string layers_file;

  [[nodiscard]] bool chooses_bits() const { return scheme == "auto"; }
  [[nodiscard]] bool names_layers() const { return !float_layers.empty() || !layers_file.empty(); }
};

// `layers_option` is the command's name for the option with the file of exceptions. `chooses`: the compiler may choose
// a scheme per layer.
void add_quantization(CLI::App& command, QuantizationFlags& flags, const std::string& layers_option, bool chooses);
// Reads the file of exceptions.
void apply(const QuantizationFlags& flags, compiler::Options& options);

}  // namespace cormorant::cli
