// SPDX-License-Identifier: Apache-2.0
//
// Quantization options of the command line: the same for `compile` and for `evaluate --layers`.
#pragma once

#include <string>

#include "driver/flags.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cormorant::cli {

// `layers_option` is the command's name for the option with the file of exceptions. `chooses`: the compiler may choose
// a scheme per layer.
void add_quantization(CLI::App& command, driver::QuantizationFlags& flags, const std::string& layers_option,
                      bool chooses);

}  // namespace cormorant::cli
