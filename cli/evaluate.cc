// SPDX-License-Identifier: Apache-2.0
//
// How good a program is on labelled data, and how close to the float model it came from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "cli/cli.h"
#include "cli/files.h"
#include "cli/program_io.h"
#include "compiler/import.h"
#include "compiler/samples.h"
#include "evaluate/graph.h"
#include "formats/npy/data_set.h"
#include "quantizer/parallel.h"
#include "target/parse.h"

namespace cormorant::cli {
namespace {

struct Flags {
  std::string model, data, float_model, target = "host", isa, compiler = "gcc";
  bool json = false;
};

using Outputs = std::vector<std::vector<float>>;  // per output

struct Scores {
  std::size_t samples = 0;
  std::optional<double> accuracy, float_accuracy, agreement, sqnr_db;
};

std::size_t top(const std::vector<float>& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

std::vector<Outputs> evaluate_float(const std::string& path, const npy::DataSet& data) {
  const ir::Graph graph = compiler::import_model(find_model(path));
  const quantizer::Samples samples = compiler::samples_of(std::make_shared<const npy::DataSet>(data), graph);
  const evaluate::Evaluator evaluator(graph);
  std::vector<Outputs> all(samples.count);
  quantizer::parallel_for(all.size(), quantizer::thread_count(0, all.size()), [&](std::size_t i, std::size_t) {
    for (const evaluate::Tensor& tensor : evaluator.run(samples.load(i))) {
      all[i].emplace_back(tensor.values().begin(), tensor.values().end());
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
  const Execution execution = execute(program, sample_arrays(program, data), where);
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

// Of the worst output: signal is the float model's, noise the difference, over all samples.
double worst_sqnr(const std::vector<Outputs>& all, const std::vector<Outputs>& reference) {
  double worst = std::numeric_limits<double>::infinity();
  for (std::size_t output = 0; output < reference.at(0).size(); ++output) {
    double signal = 0;
    double noise = 0;
    for (std::size_t i = 0; i < reference.size(); ++i) {
      for (std::size_t k = 0; k < reference[i][output].size(); ++k) {
        const double wanted = static_cast<double>(reference[i][output][k]);
        const double error = static_cast<double>(all[i].at(output).at(k)) - wanted;
        signal += wanted * wanted;
        noise += error * error;
      }
    }
    worst = std::min(worst, 10 * std::log10(signal / noise));
  }
  return worst;
}

Scores score(const Flags& flags) {
  const npy::DataSet data = npy::read_data_set(flags.data);
  const bool is_program = kind_of(flags.model) != FileKind::model;
  if (!is_program && flags.target != "host") {
    throw UsageError("a .pt2 is evaluated in float on the host\n  compile it first to evaluate it on " + flags.target);
  }
  const std::vector<Outputs> all = is_program ? evaluate_program(flags, data) : evaluate_float(flags.model, data);
  Scores scores;
  scores.samples = all.size();
  std::vector<float> labels;
  if (const npy::Array* y = npy::find(data.arrays, "y"); y != nullptr && !is_float(y->dtype)) {
    labels = compiler::to_float(y->dtype, y->data);
    if (labels.size() != all.size()) {
      throw InputError({fmt::format("{} labels for {} samples", labels.size(), all.size()),
                        "y has one label per sample", data.path});
    }
    scores.accuracy = accuracy_of(all, labels);
  }
  if (flags.float_model.empty()) return scores;
  const std::vector<Outputs> reference = evaluate_float(flags.float_model, data);
  if (!labels.empty()) scores.float_accuracy = accuracy_of(reference, labels);
  std::size_t same = 0;
  for (std::size_t i = 0; i < all.size(); ++i) same += top(all[i].at(0)) == top(reference[i].at(0)) ? 1 : 0;
  scores.agreement = static_cast<double>(same) / static_cast<double>(all.size());
  scores.sqnr_db = worst_sqnr(all, reference);
  return scores;
}

void run(const Flags& flags) {
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
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{} samples\n", scores.samples);
  if (scores.accuracy) fmt::print("  accuracy        {:6.2f} %\n", *scores.accuracy * 100);
  if (scores.float_accuracy) fmt::print("  float accuracy  {:6.2f} %\n", *scores.float_accuracy * 100);
  if (scores.agreement) fmt::print("  agreement       {:6.2f} %\n", *scores.agreement * 100);
  if (scores.sqnr_db) fmt::print("  worst SQNR      {:6.1f} dB\n", *scores.sqnr_db);
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
  word->add_flag("--json", flags->json, "Print one JSON object and nothing else");
  word->callback([flags] { run(*flags); });
}

}  // namespace cormorant::cli
