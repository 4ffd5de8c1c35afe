// SPDX-License-Identifier: Apache-2.0
//
// Options that several commands have.
#pragma once

#include <string>
#include <vector>

#include "driver/flags.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cormorant::cli {

// Of a model's inputs, for driver::shapes_for().
void add_shapes(CLI::App& command, std::vector<std::string>& shapes);

// Quantization, the same for `compile` and for `evaluate --layers`. `layers_option` is the command's name for the
// option with the file of exceptions. `chooses`: the compiler may choose a scheme per layer.
void add_quantization(CLI::App& command, driver::QuantizationFlags& flags, const std::string& layers_option,
                      bool chooses);

}  // namespace cormorant::cli
