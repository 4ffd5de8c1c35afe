// SPDX-License-Identifier: Apache-2.0
//
// A summary of calibration data, one line per input, and warnings about likely mistakes: nothing costs more accuracy
// than data that differs from what the model will see.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compiler/samples.h"
#include "formats/npy/data_set.h"
#include "ir/graph.h"
#include "quantizer/samples.h"

namespace cormorant::driver {

struct CalibrationInput {
  std::string name;
  DType dtype = DType::f32;  // of the array
  double min = 0, max = 0;
  bool is_integral = true;  // every element
  bool is_float = true;     // what the model takes
  bool is_scaled = false;   // the model divides it before anything else
};

struct CalibrationFacts {
  std::size_t samples = 0, steps = 1;
  std::vector<CalibrationInput> inputs;
  std::vector<std::string> warnings;
};

// `graph` is the model as it was imported, with its batch norms.
CalibrationFacts look_at(const quantizer::Samples& samples, const npy::DataSet& data, const ir::Graph& graph);

// The samples in a file for that model.
struct Calibration {
  quantizer::Samples samples;
  CalibrationFacts facts;
};
Calibration read_calibration(const std::string& path, const ir::Graph& graph, compiler::Axes axes,
                             const std::string& method);
nlohmann::ordered_json calibration_json(const CalibrationFacts& facts);

}  // namespace cormorant::driver
