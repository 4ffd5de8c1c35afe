// SPDX-License-Identifier: Apache-2.0
//
// How good a program is on labelled data, and how close to the float model it came from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "cli/cli.h"
#include "cli/explain.h"
#include "cli/files.h"
#include "cli/program_io.h"
#include "cli/quantization.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "compiler/samples.h"
#include "evaluate/graph.h"
#include "evaluate/sqnr.h"
#include "formats/npy/data_set.h"
#include "quantizer/parallel.h"
#include "target/parse.h"

namespace cormorant::cli {
namespace {

struct Flags {
  std::string model, data, float_model, target = "host", isa, compiler = "gcc", calibrate;
  bool json = false, layers = false, sequence = false;

  [[nodiscard]] compiler::Axes axes() const { return sequence ? compiler::Axes::sequences : compiler::Axes::samples; }
  QuantizationFlags quantization;  // with layers
};

using Outputs = std::vector<std::vector<float>>;  // per output

struct Scores {
  std::size_t samples = 0;
  std::optional<double> accuracy, float_accuracy, agreement, sqnr_db;
  std::vector<double> output_db;                    // per output, against the float model
  std::vector<std::vector<std::size_t>> confusion;  // [label][answer], of a classifier with labelled data
};

std::size_t top(const std::vector<float>& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// Of every step, where there are sequences.
std::vector<Outputs> evaluate_float(const std::string& path, const npy::DataSet& data, compiler::Axes axes) {
  const ir::Graph graph = compiler::import_model(find_model(path));
  const quantizer::Samples samples = compiler::samples_of(std::make_shared<const npy::DataSet>(data), graph, axes);
  const evaluate::Evaluator evaluator(graph);
  std::vector<Outputs> all(samples.count);
  const std::size_t sequences = samples.count / samples.steps;
  quantizer::parallel_for(sequences, quantizer::thread_count(0, sequences), [&](std::size_t sequence, std::size_t) {
    std::vector<evaluate::Tensor> states = evaluator.initial_states();
    for (std::size_t i = sequence * samples.steps; i < (sequence + 1) * samples.steps; ++i) {
      for (const evaluate::Tensor& tensor : evaluator.step(samples.load(i), states)) {
        all[i].emplace_back(tensor.values().begin(), tensor.values().end());
      }
    }
  });
  return all;
}

std::vector<Outputs> evaluate_program(const Flags& flags, const npy::DataSet& data) {
  const ProgramFile program = read_program(flags.model);
  ExecuteOn where;
  if (flags.target != "host") where.target = parse_target(flags.target, flags.isa);
  where.compiler = flags.compiler == "clang" ? Compiler::clang : Compiler::gcc;
  where.time_limit = std::chrono::minutes(10);
  const std::vector<Arrays> samples = sample_arrays(program, data, flags.axes());
  where.steps = samples.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, data.samples));
  const Execution execution = execute(program, samples, where);
  std::vector<Outputs> all;
  for (const Arrays& arrays : execution.outputs) {
    Outputs outputs;
    for (std::size_t i = 0; i < arrays.size(); ++i) outputs.push_back(real_values(arrays[i], program.outputs[i]));
    all.push_back(std::move(outputs));
  }
  return all;
}

double accuracy_of(const std::vector<Outputs>& all, const std::vector<float>& labels) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < all.size(); ++i) right += static_cast<float>(top(all[i].at(0))) == labels[i] ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(all.size());
}

// Of every output, against the float model's, over all samples.
std::vector<double> output_sqnr(const std::vector<Outputs>& all, const std::vector<Outputs>& reference) {
  std::vector<evaluate::Sqnr> outputs(reference.at(0).size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k].add(reference[i][k], all[i].at(k));
  }
  std::vector<double> result;
  for (const evaluate::Sqnr& output : outputs) result.push_back(output.db());
  return result;
}

std::vector<std::vector<std::size_t>> confusion_of(const std::vector<Outputs>& all, const std::vector<float>& labels) {
  const std::size_t classes = all.empty() ? 0 : all[0].at(0).size();
  std::vector<std::vector<std::size_t>> counts(classes, std::vector<std::size_t>(classes, 0));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    if (label < classes) ++counts[label][top(all[i].at(0))];
  }
  return counts;
}

// The outputs that labels speak of: all of them, or those of every sequence's last step.
std::vector<Outputs> labelled_steps(const std::vector<Outputs>& all, std::size_t labels, const npy::DataSet& data) {
  if (labels == all.size()) return all;
  const auto sequences = static_cast<std::size_t>(data.samples);
  if (labels != sequences || all.size() % sequences != 0) {
    throw InputError({fmt::format("{} labels for {} samples", labels, all.size()),
                      "y has one label per sample, or of sequences one per step", data.path});
  }
  std::vector<Outputs> last;
  const std::size_t steps = all.size() / sequences;
  for (std::size_t i = steps - 1; i < all.size(); i += steps) last.push_back(all[i]);
  return last;
}

Scores score(const Flags& flags) {
  const npy::DataSet data = npy::read_data_set(flags.data);
  const bool is_program = kind_of(flags.model) != FileKind::model;
  if (!is_program && flags.target != "host") {
    throw UsageError("a .pt2 is evaluated in float on the host\n  compile it first to evaluate it on " + flags.target);
  }
  const std::vector<Outputs> all =
      is_program ? evaluate_program(flags, data) : evaluate_float(flags.model, data, flags.axes());
  Scores scores;
  scores.samples = all.size();
  std::vector<float> labels;
  std::vector<Outputs> labelled;
  if (const npy::Array* y = npy::find(data.arrays, "y"); y != nullptr && !is_float(y->dtype)) {
    labels = compiler::to_float(y->dtype, y->data);
    labelled = labelled_steps(all, labels.size(), data);
    scores.accuracy = accuracy_of(labelled, labels);
    scores.confusion = confusion_of(labelled, labels);
  }
  if (flags.float_model.empty()) return scores;
  const std::vector<Outputs> reference = evaluate_float(flags.float_model, data, flags.axes());
  if (!labels.empty()) scores.float_accuracy = accuracy_of(labelled_steps(reference, labels.size(), data), labels);
  std::size_t same = 0;
  for (std::size_t i = 0; i < all.size(); ++i) same += top(all[i].at(0)) == top(reference[i].at(0)) ? 1 : 0;
  scores.agreement = static_cast<double>(same) / static_cast<double>(all.size());
  scores.output_db = output_sqnr(all, reference);
  if (!scores.output_db.empty()) scores.sqnr_db = *std::ranges::min_element(scores.output_db);
  return scores;
}

nlohmann::json number_or_null(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

void print_layers_json(const compiler::Accuracy& accuracy) {
  nlohmann::ordered_json json;
  json["outputs"] = nlohmann::json::array();
  for (const double db : accuracy.report.output_db) json["outputs"].push_back({{"sqnr_db", number_or_null(db)}});
  json["equalized"] = equalized_json(accuracy.equalized);
  json["layers"] = nlohmann::json::array();
  for (const quantizer::LayerError& layer : accuracy.report.layers) {
    nlohmann::ordered_json entry = {
        {"value", layer.value}, {"node", layer.node}, {"operator", layer.op}, {"source", layer.source}};
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
  fmt::print("{}\n", json.dump(2));
}

void print_layers(const compiler::Accuracy& accuracy) {
  for (std::size_t k = 0; k < accuracy.report.output_db.size(); ++k) {
    fmt::print("output {}: {:.1f} dB with all layers quantized\n", k, accuracy.report.output_db[k]);
  }
  for (const quantizer::EqualizedLayer& layer : accuracy.equalized) {
    fmt::print("outliers: {} {}: {} channels equalized by up to {} with {}\n", layer.node, layer.source, layer.channels,
               layer.largest_factor, layer.next);
  }
  fmt::print("\n{:>8} {:>8} {:>8} {:>9} {:>8}  {:<24} {}\n", "alone", "SQNR", "own", "inherited", "clipped", "range",
             "layer");
  for (const quantizer::LayerError& layer : accuracy.report.layers) {
    const auto db = [](double value) { return std::isfinite(value) ? fmt::format("{:.1f}", value) : "exact"; };
    fmt::print("{:>8} {:>8} {:>8} {:>9} {:>6.2f} %  {:<24} {} {}  {}\n", db(layer.alone_db), db(layer.sqnr_db),
               db(layer.own_db), db(layer.inherited_db), layer.clipped_share * 100,
               fmt::format("{:.4g} to {:.4g}", layer.min, layer.max), layer.node, layer.op, layer.source);
  }
}

// The model is quantized here as `compile` does it, and every layer compared with its float form over the data.
void run_layers(const Flags& flags) {
  if (kind_of(flags.model) != FileKind::model) {
    throw UsageError(
        "--layers compares a float model with what quantization makes of it\n  give the .pt2, not the .pte");
  }
  ir::Graph graph = compiler::import_model(find_model(flags.model));
  const quantizer::Samples data = compiler::read_samples(flags.data, graph, flags.axes());
  compiler::Options options;
  options.config.target = parse_target(flags.target == "host" ? "cortex-m55" : flags.target, flags.isa);
  options.quantize = true;
  apply(flags.quantization, options);
  options.calibration = flags.calibrate.empty() ? data : compiler::read_samples(flags.calibrate, graph, flags.axes());
  const compiler::Accuracy accuracy = compiler::compare_layers(graph, options, data);
  if (flags.json) {
    print_layers_json(accuracy);
  } else {
    print_layers(accuracy);
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

void run(const Flags& flags) {
  if (flags.layers) {
    run_layers(flags);
    return;
  }
  if (!flags.calibrate.empty()) throw UsageError("--calibrate goes with --layers\n  add --layers, or leave it away");
  const Scores scores = score(flags);
  if (flags.json) {
    nlohmann::ordered_json json;
    const auto put = [&](const char* name, std::optional<double> value) {
      json[name] = value && std::isfinite(*value) ? nlohmann::json(*value) : nlohmann::json();
    };
    json["samples"] = scores.samples;
    put("accuracy", scores.accuracy);
    put("float_accuracy", scores.float_accuracy);
    put("agreement", scores.agreement);
    put("sqnr_db", scores.sqnr_db);
    json["output_sqnr_db"] = nlohmann::json::array();
    for (const double db : scores.output_db) json["output_sqnr_db"].emplace_back(number_or_null(db));
    if (!scores.confusion.empty()) json["confusion"] = scores.confusion;
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{} samples\n", scores.samples);
  if (scores.accuracy) fmt::print("  accuracy        {:6.2f} %\n", *scores.accuracy * 100);
  if (scores.float_accuracy) fmt::print("  float accuracy  {:6.2f} %\n", *scores.float_accuracy * 100);
  if (scores.agreement) fmt::print("  agreement       {:6.2f} %\n", *scores.agreement * 100);
  const bool is_plain = scores.samples == 1;
  if (scores.sqnr_db) {
    fmt::print("  worst SQNR      {:6.1f} dB{}\n", *scores.sqnr_db,
               is_plain ? " (one sample: of the whole output, not of what varies)" : "");
  }
  for (std::size_t k = 0; scores.output_db.size() > 1 && k < scores.output_db.size(); ++k) {
    fmt::print("    output {:<3}    {:6.1f} dB\n", k, scores.output_db[k]);
  }
  print_confusion(scores.confusion);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  CLI::App* word =
      app.add_subcommand("evaluate", "Accuracy of a model on labelled data, and its agreement with the float model");
  word->add_option("model", flags->model, "A .pte, or a .pt2 in float")->required();
  word->add_option("--data", flags->data, ".npz with x (or an array per input) and integer labels y")->required();
  word->add_option("-t,--target", flags->target, "CPU whose emulated board runs it, or host")->capture_default_str();
  word->add_option("--isa", flags->isa, "Kernels of this instruction set for operators that do not name one");
  word->add_option("--float", flags->float_model, "The float .pt2 to compare with");
  word->add_option("--compiler", flags->compiler, "Whose kernel archives to link")
      ->check(CLI::IsMember({"gcc", "clang"}))
      ->capture_default_str();
  word->add_flag("--sequence", flags->sequence,
                 "x is [samples, steps, …] with the input's whole shape behind, y [samples] of the last step or "
                 "[samples, steps]: state is kept along the steps");
  word->add_flag("--layers", flags->layers,
                 "Quantize the .pt2 as compile does and tell what every layer costs, the worst first");
  word->add_option("--calibrate", flags->calibrate, "With --layers: inputs to calibrate on (default: those of --data)");
  add_quantization(*word, flags->quantization, "--layer-settings");
  word->add_flag("--json", flags->json, "Print one JSON object and nothing else");
  word->callback([flags] { run(*flags); });
}

}  // namespace cormorant::cli
