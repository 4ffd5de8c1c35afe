// SPDX-License-Identifier: Apache-2.0
#include "cli/shared_options.h"

#include <CLI/CLI.hpp>

namespace cormorant::cli {

void add_shapes(CLI::App& command, std::vector<std::string>& shapes) {
  command
      .add_option("--shape", shapes, "Shape of a .pt2's input with dynamic dimensions: NAME=D,D,… or METHOD.NAME=D,D,…")
      ->allow_extra_args(false);
}

void add_quantization(CLI::App& command, driver::QuantizationFlags& flags, const std::string& layers_option,
                      bool chooses) {
  std::vector<std::string> schemes = {"8w8a", "8w16a", "4w8a"};
  if (chooses) schemes.emplace_back("auto");
  command
      .add_option(
          "--scheme", flags.scheme,
          std::string(
              "Bits of weights and activations: 8w8a, 8w16a (16-bit activations) or 4w8a (4-bit weights, except for "
              "first, last and depthwise layers); operators that do not support it keep 8w8a and are listed") +
              (chooses ? ". auto: chosen for each layer, so that --min-sqnr holds with the least flash, or for the "
                         "best SQNR within --budget=flash="
                       : ""))
      ->check(CLI::IsMember(schemes))
      ->capture_default_str();
  command
      .add_option("--observer", flags.observer,
                  "How ranges are chosen from calibration data; auto: what is best where the tensor is used")
      ->check(
          CLI::IsMember(std::vector<std::string>(quantizer::kObserverNames.begin(), quantizer::kObserverNames.end())))
      ->capture_default_str();
  command.add_flag_callback(
      "--no-equalize", [&flags] { flags.equalize = false; }, "Do not equalize outlier channels between two layers");
  command.add_flag_callback(
      "--no-weight-rounding", [&flags] { flags.round_weights = false; },
      "Round weights to the nearest integer instead of to the best one for the layer's sums");
  command.add_flag_callback(
      "--no-bias-correction", [&flags] { flags.correct_biases = false; },
      "Do not correct biases where quantization shifts a layer's mean");
  command
      .add_option("--float-layers", flags.float_layers,
                  "Modules to keep in float, including everything inside them: features.0,classifier")
      ->delimiter(',');
  command.add_option(
      layers_option, flags.layers_file,
      "A file of exceptions, one per line: a module path (* and ? allowed), then float, int8, 8w8a, 8w16a, 4w8a, "
      "observer=…, range=MIN..MAX, no-equalize, no-weight-rounding or no-bias-correction");
}

}  // namespace cormorant::cli
