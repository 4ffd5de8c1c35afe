// SPDX-License-Identifier: Apache-2.0
//
// How good a program is on labelled data, and how close to the float model it came from.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "cli/cli.h"
#include "cli/shared_options.h"
#include "cli/summary.h"
#include "cli/terminal.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "compiler/samples.h"
#include "driver/calibration.h"
#include "driver/options.h"
#include "formats/npy/data_set.h"
#include "formats/pte/method_names.h"
#include "program/files.h"
#include "program/json.h"
#include "program/json_text.h"
#include "program/program_io.h"
#include "program/score.h"
#include "report/explain.h"
#include "target/parse.h"

namespace cormorant::cli {
namespace {

struct EvaluateFlags {
  std::string model, data, float_model, target = "host", isa, compiler = "gcc", calibrate, method;
  std::vector<std::string> shapes;
  bool json = false, quiet = false, layers = false, sequence = false;

  [[nodiscard]] compiler::Axes axes() const { return sequence ? compiler::Axes::sequences : compiler::Axes::samples; }
  driver::QuantizationFlags quantization;  // with layers
};

// --method is about whichever of the files has several: a program that was compiled from one of them has no other.
std::string method_in(const EvaluateFlags& flags, const std::vector<std::string>& methods) {
  return methods.size() > 1 ? flags.method : "";
}

Progress progress_of(const EvaluateFlags& flags) {
  return flags.json || flags.quiet ? Progress() : terminal_progress();
}

Scores score(const EvaluateFlags& flags) {
  const npy::DataSet data = npy::read_data_set(flags.data, flags.method);
  const bool is_program = kind_of(flags.model) != FileKind::model;
  if (!is_program && flags.target != "host") {
    throw UsageError("a .pt2 is evaluated in float on the host\n  compile it first to evaluate it on " + flags.target);
  }
  ScoreRequest request{.float_model = is_program ? flags.float_model : flags.model, .where = {}, .axes = flags.axes()};
  if (request.float_model.empty() && !flags.shapes.empty()) {
    throw UsageError(
        "--shape is for a .pt2, and a program's shapes are fixed\n  add --float MODEL.pt2, or remove --shape");
  }
  std::optional<ProgramFile> program;
  if (is_program) {
    program = read_program(flags.model, flags.float_model.empty()
                                            ? flags.method
                                            : method_in(flags, pte::method_names(read_file(flags.model))));
  }
  if (!request.float_model.empty()) {
    const std::string model = find_model(request.float_model);
    request.method = method_in(flags, compiler::method_names(model));
    request.shapes = driver::shapes_for(model, flags.shapes, request.method);
  }
  request.program = program ? &*program : nullptr;
  if (flags.target != "host") request.where.target = parse_target(flags.target, flags.isa);
  request.where.compiler = flags.compiler == "clang" ? Compiler::clang : Compiler::gcc;
  request.where.time_limit = std::chrono::minutes(10);
  request.where.progress = progress_of(flags);
  return score(request, data);
}

void print_layers_json(const compiler::Accuracy& accuracy) {
  nlohmann::ordered_json json;
  json["outputs"] = nlohmann::json::array();
  for (const double db : accuracy.report.output_db) json["outputs"].push_back({{"sqnr_db", number_or_null(db)}});
  json["equalized"] = equalized_json(accuracy.equalized);
  json["layers"] = nlohmann::json::array();
  for (const quantizer::LayerError& layer : accuracy.report.layers) {
    nlohmann::ordered_json entry = {
        {"value", layer.value}, {"node", layer.node}, {"operator", layer.op}, {"source", layer.source}};
    entry["precision"] = ops::name_of(layer.precision);
    entry["alone_db"] = number_or_null(layer.alone_db);
    entry["sqnr_db"] = number_or_null(layer.sqnr_db);
    entry["own_db"] = number_or_null(layer.own_db);
    entry["inherited_db"] = number_or_null(layer.inherited_db);
    entry["range"] = {layer.min, layer.max};
    entry["scale"] = layer.scale;
    entry["zero_point"] = layer.zero_point;
    entry["clipped_share"] = layer.clipped_share;
    json["layers"].push_back(std::move(entry));
  }
  fmt::print("{}\n", json_text(json, 2));
}

void print_layers(const compiler::Accuracy& accuracy, bool is_plain) {
  for (std::size_t k = 0; k < accuracy.report.output_db.size(); ++k) {
    fmt::print("output {}: {:.1f} dB with all layers quantized\n", k, accuracy.report.output_db[k]);
  }
  if (is_plain) fmt::print("only one sample: SQNR is of whole tensors, not of what varies with the input\n");
  for (const quantizer::EqualizedLayer& layer : accuracy.equalized) {
    fmt::print("outliers: {} {}: {} channels equalized by up to {} with {}\n", layer.node, layer.source, layer.channels,
               layer.largest_factor, layer.next);
  }
  fmt::print("\n{:>8} {:>8} {:>8} {:>9} {:>8}  {:<24} {:<9} {}\n", "alone", "SQNR", "own", "inherited", "clipped",
             "range", "precision", "layer");
  for (const quantizer::LayerError& layer : accuracy.report.layers) {
    const auto db = [](double value) { return std::isfinite(value) ? fmt::format("{:.1f}", value) : "exact"; };
    fmt::print("{:>8} {:>8} {:>8} {:>9} {:>6.2f} %  {:<24} {:<9} {} {}  {}\n", db(layer.alone_db), db(layer.sqnr_db),
               db(layer.own_db), db(layer.inherited_db), layer.clipped_share * 100,
               fmt::format("{:.4g} to {:.4g}", layer.min, layer.max), ops::name_of(layer.precision), layer.node,
               layer.op, layer.source);
  }
}

// The model is quantized here as `compile` does it, and every layer compared with its float form over the data.
void run_layers(const EvaluateFlags& flags) {
  if (kind_of(flags.model) != FileKind::model) {
    throw UsageError("--layers compares a float model with its quantized form\n  give the .pt2, not the .pte");
  }
  const auto warn = [&](const std::vector<std::string>& warnings) {
    if (!flags.quiet) print_warnings(warnings);
  };
  const std::string model = find_model(flags.model);
  std::vector<std::string> notes;
  ir::Graph graph = compiler::import_model(
      model,
      {.shapes = driver::shapes_for(model, flags.shapes, flags.method), .notes = &notes, .method = flags.method});
  warn(notes);
  const bool has_own = flags.calibrate.empty();
  const driver::Calibration calibration =
      driver::read_calibration(has_own ? flags.data : flags.calibrate, graph, flags.axes(), flags.method);
  warn(calibration.facts.warnings);
  const quantizer::Samples data =
      has_own ? calibration.samples : compiler::read_samples(flags.data, graph, flags.axes(), flags.method);
  compiler::Options options;
  options.config.target = parse_target(flags.target == "host" ? "cortex-m55" : flags.target, flags.isa);
  options.quantize = true;
  options.progress = progress_of(flags);
  apply(flags.quantization, options);
  options.calibration = calibration.samples;
  const compiler::Accuracy accuracy = compiler::compare_layers(graph, options, data);
  warn(accuracy.warnings);
  if (flags.json) {
    print_layers_json(accuracy);
  } else {
    print_layers(accuracy, data.count == 1);
  }
}

void print_confusion(const std::vector<std::vector<std::size_t>>& counts) {
  constexpr std::size_t kMany = 20;  // more than a terminal is wide
  if (counts.empty()) return;
  if (counts.size() > kMany) {
    fmt::print("  (confusion of {} classes: --json)\n", counts.size());
    return;
  }
  fmt::print("  confusion (rows: label, columns: answer)\n       ");
  for (std::size_t k = 0; k < counts.size(); ++k) fmt::print("{:>6}", k);
  for (std::size_t label = 0; label < counts.size(); ++label) {
    fmt::print("\n  {:>5}", label);
    for (const std::size_t count : counts[label]) fmt::print("{:>6}", count);
  }
  fmt::print("\n");
}

void print_output(const OutputScore& output, bool is_only, bool is_plain) {
  const auto share = [](const char* what, std::optional<double> value) {
    if (value) fmt::print("  {:<15} {:6.2f} %\n", what, *value * 100);
  };
  const bool is_dense = output.task == Task::dense;
  share(is_dense ? "accuracy (map)" : "accuracy", output.accuracy);
  share("float accuracy", output.float_accuracy);
  share("agreement", output.agreement);
  if (output.rmse) fmt::print("  {:<15} {:8.4g} from the expected values\n", "RMSE", *output.rmse);
  if (output.float_rmse) fmt::print("  {:<15} {:8.4g}\n", "float RMSE", *output.float_rmse);
  if (output.sqnr_db) {
    fmt::print("  {:<15} {:6.1f} dB{}\n", is_only ? "worst SQNR" : "SQNR", *output.sqnr_db,
               is_plain ? " (only one sample: of the whole output, not of what varies)" : "");
  }
}

void print_scores(const Scores& scores) {
  fmt::print("{} samples\n", scores.samples);
  const bool is_plain = scores.samples == 1;
  for (std::size_t k = 0; k < scores.outputs.size(); ++k) {
    const OutputScore& output = scores.outputs[k];
    if (scores.outputs.size() > 1) fmt::print("output {}{}\n", k, output.name.empty() ? "" : ", " + output.name);
    print_output(output, scores.outputs.size() == 1, is_plain);
  }
  if (const auto worst = scores.worst_sqnr(); worst && scores.outputs.size() > 1) {
    fmt::print("worst SQNR        {:6.1f} dB\n", *worst);
  }
  print_confusion(scores.confusion);
}

void run(const EvaluateFlags& flags) {
  if (flags.layers) {
    run_layers(flags);
    return;
  }
  if (!flags.calibrate.empty())
    throw UsageError("--calibrate needs --layers here\n  add --layers, or remove --calibrate");
  const Scores scores = score(flags);
  if (flags.json) {
    fmt::print("{}\n", json_text(scores_json(scores), 2));
    return;
  }
  if (flags.quiet) return print_scores(scores);
  for (const std::string& note : scores.notes) fmt::print(stderr, "note: {}\n", note);
  const auto is_measured = [](const OutputScore& output) {
    return output.accuracy || output.agreement || output.rmse || output.sqnr_db;
  };
  if (std::ranges::none_of(scores.outputs, is_measured)) {
    fmt::print(stderr,
               "note: nothing to compare with: add labels or expected outputs y to the data, or --float MODEL.pt2\n");
  }
  print_scores(scores);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto flags = std::make_shared<EvaluateFlags>();
  CLI::App* command = app.add_subcommand(
      "evaluate", "Measure a model's accuracy on labelled data, and its agreement with the float model");
  command->add_option("model", flags->model, "A .pte, or a .pt2 in float")->required();
  command
      ->add_option("--data", flags->data,
                   ".npz with x (or an array per input) and labels y: classes of any type, one-hot vectors, or "
                   "expected values (y0, y1, … for several outputs)")
      ->required();
  command->add_option("-t,--target", flags->target, "CPU whose emulated board runs it, or host")->capture_default_str();
  command->add_option("--isa", flags->isa, "Kernels of this instruction set for operators that do not name one");
  command->add_option("--float", flags->float_model, "The float .pt2 to compare with");
  command->add_option("--compiler", flags->compiler, "Compiler whose kernel archives are linked")
      ->check(CLI::IsMember({"gcc", "clang"}))
      ->capture_default_str();
  command->add_flag(
      "--sequence", flags->sequence,
      "x is [samples, steps, …], where … is the input's whole shape; y is [samples] for the last step, or "
      "[samples, steps]. State is kept along the steps");
  command->add_option("--method", flags->method,
                      "The method, of files with several (default: forward); its arrays in --data may be called "
                      "METHOD.x, METHOD.y");
  command->add_flag("--layers", flags->layers,
                    "Quantize the .pt2 as compile does and report what every layer costs, worst first");
  command->add_option("--calibrate", flags->calibrate,
                      "With --layers: inputs for calibration (default: those of --data)");
  add_shapes(*command, flags->shapes);
  add_quantization(*command, flags->quantization, "--layer-settings", false);
  command->add_flag("--quiet", flags->quiet, "Print errors and the result only: neither notes nor progress");
  command->add_flag("--json", flags->json, "Print one JSON object and nothing else");
  command->footer(
      "Examples:\n"
      "  cormorant evaluate model.pte --data test.npz --float model.pt2     accuracy compared with the float model's\n"
      "  cormorant evaluate model.pt2 --data test.npz --layers              where quantization costs most\n");
  command->callback([flags] { run(*flags); });
}

}  // namespace cormorant::cli
