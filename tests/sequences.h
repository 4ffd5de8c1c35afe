// SPDX-License-Identifier: Apache-2.0
//
// Sequences that PyTorch computed for models with state (zoo/state.py, zoo/listening.py): x and y, both
// [samples, steps, …].
#pragma once

#include <span>
#include <string>
#include <vector>

#include "evaluate/sqnr.h"
#include "formats/npy/data_set.h"
#include "program/program_io.h"

namespace cormorant::tests {

struct Expected {
  std::vector<Arrays> inputs;  // every step of every sequence, one after the other
  std::size_t steps = 0;
  std::vector<float> outputs;
};

// Of the first samples, or of all.
inline Expected expected_of(const ProgramFile& program, const std::string& file, std::int64_t samples = 1 << 20) {
  const npy::DataSet data = npy::read_data_set(file);
  Expected all;
  const npy::Array& x = *npy::find(data.arrays, "x");
  const npy::Array& y = *npy::find(data.arrays, "y");
  all.steps = static_cast<std::size_t>(x.shape.at(1));
  for (std::int64_t sample = 0; sample < std::min(samples, x.shape.at(0)); ++sample) {
    const auto bytes = npy::sample(x, sample);
    const npy::Array sequence{x.dtype, {x.shape.begin() + 1, x.shape.end()}, {bytes.begin(), bytes.end()}};
    for (npy::Array& step : steps_of(sequence, program.inputs.at(0), file)) all.inputs.push_back({std::move(step)});
    const auto wanted = npy::sample(y, sample);
    const auto* values = reinterpret_cast<const float*>(wanted.data());
    all.outputs.insert(all.outputs.end(), values, values + wanted.size() / sizeof(float));
  }
  return all;
}

inline std::vector<float> outputs_of(const ProgramFile& program, const Execution& execution) {
  std::vector<float> all;
  for (const Arrays& arrays : execution.outputs) {
    const std::vector<float> values = real_values(arrays.at(0), program.outputs.at(0));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// Of what varies from step to step.
inline double sqnr(const std::vector<float>& got, const std::vector<float>& wanted, std::size_t steps) {
  evaluate::Sqnr sqnr;
  const std::size_t each = wanted.size() / steps;
  for (std::size_t i = 0; i < steps; ++i) {
    sqnr.add(std::span(wanted).subspan(i * each, each), std::span(got).subspan(i * each, each));
  }
  return sqnr.db();
}

}  // namespace cormorant::tests
