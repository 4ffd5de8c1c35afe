// SPDX-License-Identifier: Apache-2.0
//
// `compile` without its terminal: options as the command line spells them, a model in, a program and all that is known
// of it out. The command prints and writes what comes out; the Python module hands it to its caller.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/calibration.h"
#include "cli/goal.h"
#include "cli/quantization.h"
#include "compiler/compile.h"
#include "formats/npy/data_set.h"
#include "program/budget.h"
#include "program/firmware_table.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cormorant::cli {

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
};

// The only list of them.
void add_compile_options(CLI::App& command, CompileFlags& flags);

// What is not said by options.
struct CompileInputs {
  std::shared_ptr<const npy::DataSet> calibration;  // instead of --calibrate
  std::function<void(std::size_t done, std::size_t total)> progress;
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

// Writes nothing but --intermediates.
CompileResult compile_model(const CompileFlags& flags, const CompileInputs& inputs);

// The page of --report, for what was compiled with options.explain.
std::string report_page(const CompileFlags& flags, const CompileResult& result);

}  // namespace cormorant::cli
