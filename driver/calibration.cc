// SPDX-License-Identifier: Apache-2.0
#include "driver/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/nodes.h"

namespace cormorant::driver {
namespace {

constexpr std::size_t kFew = 8;        // samples
constexpr double kHuge = 1e6;          // no normalized input has it
constexpr double kFar = 4;             // times the spread that a batch norm saw in training
constexpr std::size_t kLookedAt = 16;  // samples, for that

const npy::Array& array_of(const npy::DataSet& data, const std::string& input) {
  const npy::Array* named = npy::find(data.arrays, input);
  if (named == nullptr) named = npy::find(data.arrays, "x");
  return named != nullptr ? *named : data.arrays.front().second;
}

void warn_of_range(const CalibrationInput& input, std::vector<std::string>& warnings) {
  const std::string range =
      fmt::format("calibration data for '{}' ranges from {:g} to {:g}", input.name, input.min, input.max);
  if (input.min == input.max) {
    warnings.push_back(
        fmt::format("every element of the calibration data for '{}' is {:g}: its range says nothing about real inputs",
                    input.name, input.min));
  } else if (std::max(std::abs(input.min), std::abs(input.max)) > kHuge) {
    warnings.push_back(range + ", which is implausible for a normalized input: check how it was made");
  } else if (input.is_float && !input.is_scaled && input.is_integral && input.min >= 0 && input.max > 127 &&
             input.max <= 255) {
    warnings.push_back(
        fmt::format("{} in whole numbers{}: these look like pixels, but the model takes floats. Scale and normalize "
                    "the data as in training",
                    range, is_float(input.dtype) ? "" : fmt::format(" ({})", name_of(input.dtype))));
  } else if (input.is_float && !input.is_scaled && !is_float(input.dtype) && input.dtype != DType::boolean &&
             input.max - input.min > 2) {
    warnings.push_back(
        fmt::format("{} and is {}, but the model takes floats: use the same preprocessing as in training", range,
                    name_of(input.dtype)));
  }
}

// Whether the model itself scales large numbers down: x / 255.
bool is_scaled(const ir::Graph& graph, const ir::Value* input) {
  constexpr float kSmall = 0.02F;
  return std::ranges::any_of(graph.users(input), [&](const ir::Node* user) {
    if (user->op == ops::nodes::aten_div) return true;
    if (user->op != ops::nodes::aten_mul) return false;
    const ir::Value* factor = user->tensor(user->tensor("self") == input ? "other" : "self");
    return factor->kind == ir::ValueKind::constant && factor->type.dtype == DType::f32 &&
           std::ranges::all_of(factor->data.as<float>(), [](float value) { return std::abs(value) < kSmall; });
  });
}

// What an input's numbers are indices into, an embedding's rows for example: the shortest such dimension.
struct Indexed {
  const ir::Value* table = nullptr;
  std::int64_t rows = 0;
};
Indexed indexed_by(const ir::Graph& graph, const ir::Value* input) {
  Indexed shortest;
  std::vector<const ir::Value*> views = {input};
  while (!views.empty()) {
    const ir::Value* index = views.back();
    views.pop_back();
    for (const ir::Node* user : graph.users(index)) {
      if (user->op == ops::nodes::aten_view) views.push_back(user->results.front());
      if (user->op != ops::nodes::aten_index_select || user->tensor("index") != index) continue;
      const ir::Value* table = user->tensor("self");
      const auto rank = static_cast<std::int64_t>(table->type.shape.size());
      const std::int64_t dim = user->integer("dim") + (user->integer("dim") < 0 ? rank : 0);
      const std::int64_t rows = table->type.shape.at(static_cast<std::size_t>(dim));
      if (shortest.table == nullptr || rows < shortest.rows) shortest = {table, rows};
    }
  }
  return shortest;
}

void warn_of_indices(const ir::Graph& graph, const ir::Value* input, const CalibrationInput& seen,
                     std::vector<std::string>& warnings) {
  const auto [table, rows] = indexed_by(graph, input);
  if (table == nullptr || (seen.min >= 0 && seen.max < static_cast<double>(rows))) return;
  warnings.push_back(fmt::format(
      "calibration data for '{}' ranges from {:g} to {:g}, but '{}' has {} rows: PyTorch refuses an index beyond "
      "them, whereas a program reads the nearest row. Was the data made with the model's own vocabulary?",
      seen.name, seen.min, seen.max, table->name, rows));
}

// A batch norm after a layer on an input has statistics of that layer's results in training.
struct FirstNorm {
  const ir::Node* norm = nullptr;
  const ir::Value* source = nullptr;
};
FirstNorm first_norm(const ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes()) {
    if (node.op != ops::nodes::aten_batch_norm || !node.has("running_mean") || !node.has("running_var")) continue;
    const ir::Value* source = node.tensor("input");
    const ir::Value* mean = node.tensor("running_mean");
    const ir::Value* var = node.tensor("running_var");
    const auto is_constant = [](const ir::Value* v) { return v != nullptr && v->kind == ir::ValueKind::constant; };
    if (!is_constant(mean) || !is_constant(var) || source->producer == nullptr) continue;
    for (const ir::Value* operand : source->producer->inputs()) {
      if (operand->kind == ir::ValueKind::input) return {&node, source};
    }
    return {};  // the first one is somewhere inside
  }
  return {};
}

struct Channel {
  double sum = 0, squares = 0, count = 0;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void warn_of_training(const quantizer::Samples& samples, const ir::Graph& graph, std::vector<std::string>& warnings) {
  const FirstNorm first = first_norm(graph);
  if (first.norm == nullptr || first.source->type.shape.size() < 2 || samples.steps != 1) return;
  const auto channels = static_cast<std::size_t>(first.source->type.shape[1]);
  std::vector<Channel> seen(channels);
  try {
    const evaluate::Evaluator evaluator(graph);
    const std::size_t count = std::min(samples.count, kLookedAt);
    for (std::size_t i = 0; i < count; ++i) {
      (void)evaluator.run(samples.load(i * samples.count / count),
                          [&](const ir::Value& value, const evaluate::Tensor& t) {
                            if (&value != first.source) return;
                            const std::size_t places = t.values().size() / channels;
                            for (std::size_t k = 0; k < t.values().size(); ++k) {
                              const auto x = static_cast<double>(t.values()[k]);
                              Channel& channel = seen[k / places % channels];
                              channel.sum += x;
                              channel.squares += x * x;
                              channel.count += 1;
                            }
                          });
    }
  } catch (const InputError&) {
    return;  // compilation reports what is wrong with the model
  }
  const evaluate::Tensor mean = evaluate::constant_tensor(*first.norm->tensor("running_mean"));
  const evaluate::Tensor var = evaluate::constant_tensor(*first.norm->tensor("running_var"));
  if (mean.values().size() != channels || var.values().size() != channels) return;
  std::vector<double> wider, off;
  for (std::size_t c = 0; c < channels; ++c) {
    const double spread = std::sqrt(std::max(1e-12, static_cast<double>(var.values()[c])));
    const double here = seen[c].sum / seen[c].count;
    wider.push_back(std::sqrt(std::max(0.0, seen[c].squares / seen[c].count - here * here)) / spread);
    off.push_back(std::abs(here - static_cast<double>(mean.values()[c])) / spread);
  }
  const double ratio = median(wider), distance = median(off);
  if (ratio <= kFar && ratio >= 1 / kFar && distance <= kFar) return;
  const std::string where = first.norm->location.text().empty() ? first.norm->name : first.norm->location.text();
  warnings.push_back(
      fmt::format("calibration data is far from what the model was trained on: before the first batch norm ({}) the "
                  "standard deviation is {:.2g} times that of training, and the mean is off by {:.2g} standard "
                  "deviations. Is it scaled and normalized as in training?",
                  where, ratio, distance));
}

}  // namespace

CalibrationFacts look_at(const quantizer::Samples& samples, const npy::DataSet& data, const ir::Graph& graph) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CalibrationFacts facts;
  facts.samples = samples.count;
  facts.steps = samples.steps;
  for (const ir::Value* input : graph.inputs()) {
    facts.inputs.push_back({.name = input->name,
                            .dtype = array_of(data, input->name).dtype,
                            .min = kInfinity,
                            .max = -kInfinity,
                            .is_float = is_float(input->type.dtype),
                            .is_scaled = is_scaled(graph, input)});
  }
  for (std::size_t i = 0; i < samples.count; ++i) {
    const quantizer::Sample sample = samples.load(i);
    for (std::size_t k = 0; k < facts.inputs.size(); ++k) {
      CalibrationInput& input = facts.inputs[k];
      for (const float element : sample[k].values()) {
        const auto value = static_cast<double>(element);
        input.min = std::min(input.min, value);
        input.max = std::max(input.max, value);
        input.is_integral = input.is_integral && value == std::floor(value);
      }
    }
  }
  const std::size_t count = samples.count / std::max<std::size_t>(1, samples.steps);
  if (count < kFew) {
    const char* const plural = count == 1 ? "" : "s";
    facts.warnings.push_back(
        samples.steps > 1
            ? fmt::format("only {} calibration sequence{}: use more of them to cover what the model will see", count,
                          plural)
            : fmt::format(
                  "only {} calibration sample{}: use about a hundred different ones to cover what the model will see",
                  count, plural));
  }
  for (std::size_t k = 0; k < facts.inputs.size(); ++k) {
    const CalibrationInput& input = facts.inputs[k];
    if (input.min > input.max) continue;
    if (input.is_float) {
      warn_of_range(input, facts.warnings);
    } else {
      warn_of_indices(graph, graph.inputs()[k], input, facts.warnings);
    }
  }
  if (facts.warnings.empty()) warn_of_training(samples, graph, facts.warnings);
  return facts;
}

Calibration read_calibration(const std::string& path, const ir::Graph& graph, compiler::Axes axes,
                             const std::string& method) {
  const auto data = std::make_shared<const npy::DataSet>(npy::read_data_set(path, method));
  Calibration calibration{compiler::samples_of(data, graph, axes), {}};
  calibration.facts = look_at(calibration.samples, *data, graph);
  return calibration;
}

nlohmann::ordered_json calibration_json(const CalibrationFacts& facts) {
  nlohmann::ordered_json json = {{"samples", facts.samples / std::max<std::size_t>(1, facts.steps)},
                                 {"steps", facts.steps}};
  json["inputs"] = nlohmann::json::array();
  for (const CalibrationInput& input : facts.inputs) {
    json["inputs"].push_back(
        {{"name", input.name}, {"type", name_of(input.dtype)}, {"min", input.min}, {"max", input.max}});
  }
  return json;
}

}  // namespace cormorant::driver
