// SPDX-License-Identifier: Apache-2.0
//
// `compile` without its terminal: options as the command line spells them, a model in, a program and all that is known
// of it out. The command prints and writes what comes out; the Python module hands it to its caller.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/progress.h"
#include "compiler/compile.h"
#include "driver/calibration.h"
#include "driver/flags.h"
#include "driver/goal.h"
#include "formats/npy/data_set.h"
#include "program/budget.h"
#include "program/firmware_table.h"

namespace cormorant::driver {

// What is not said by options.
struct CompileInputs {
  std::shared_ptr<const npy::DataSet> calibration;                             // instead of --calibrate
  std::map<std::string, std::shared_ptr<const npy::DataSet>> of_methods = {};  // the same of a file with several
  Progress progress;
  bool advises = true;  // where a budget is exceeded, tries what would meet it
};

struct CompileResult {
  std::string model;  // the file that was read
  compiler::Options options;
  compiler::Compiled compiled;
  std::optional<CalibrationFacts> calibration;  // where there was data
  Firmware firmware;
  std::optional<Budget> budget;
  std::optional<Diagnostic> excess;  // of the budget
  std::optional<Goal> goal;
  nlohmann::ordered_json figures;      // what --json prints
  nlohmann::ordered_json explanation;  // what --explain adds; null where it was not recorded
};

// Writes nothing but --intermediates. Where the model or the data is at fault it throws a CompileError, with what it
// had to warn of (driver/compile_error.h).
CompileResult compile_model(const CompileFlags& flags, const CompileInputs& inputs);
// With the flags' options (driver/options.h), where they are known already.
CompileResult compile_model(const CompileFlags& flags, compiler::Options options, const CompileInputs& inputs);

// The firmware that the flags ask for, without cycles.
FirmwareRequest request_of(const CompileFlags& flags, const ops::Config& config);

// The page of --report, for what was compiled with options.explain.
std::string report_page(const CompileFlags& flags, const CompileResult& result);

}  // namespace cormorant::driver
