// SPDX-License-Identifier: Apache-2.0
//
// How good a program is on data, and how close to the float model it came from. What is compared depends on what the
// model is, which follows from its outputs and labels: for a classifier the largest output is the answer, for a dense
// map the largest along the channels of each place; everything else is compared as numbers.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "formats/npy/data_set.h"
#include "formats/pt2/symbols.h"
#include "program/program_io.h"

namespace cormorant {

enum class Task : std::uint8_t { numbers, classifier, binary, dense };
const char* name_of(Task task);

struct OutputScore {
  std::string name;
  Task task = Task::numbers;
  std::optional<double> accuracy, float_accuracy;  // with labels: the share of correct answers
  std::optional<double> agreement;                 // with a float model: the share of the same answers
  std::optional<double> rmse, float_rmse;          // with expected values
  std::optional<double> sqnr_db;                   // against the float model
};

struct Scores {
  std::size_t samples = 0;
  std::vector<OutputScore> outputs;
  std::vector<std::vector<std::size_t>> confusion;  // [label][answer], of a labelled classifier's first output
  std::vector<std::string> notes;                   // what was not used, and how labels were read

  [[nodiscard]] std::optional<double> worst_sqnr() const;
};

struct ScoreRequest {
  const ProgramFile* program = nullptr;  // none: the float model itself is scored
  std::string float_model;               // a file; empty: nothing to compare with
  std::string method = {};               // of a float model that has several
  pt2::Shapes shapes = {};               // of its inputs with dynamic dimensions; else those that the program has
  ExecuteOn where;
  compiler::Axes axes = compiler::Axes::samples;
};

Scores score(const ScoreRequest& request, const npy::DataSet& data);
nlohmann::ordered_json scores_json(const Scores& scores);

}  // namespace cormorant
