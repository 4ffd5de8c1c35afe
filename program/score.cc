// SPDX-License-Identifier: Apache-2.0
#include "program/score.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>

#include "base/diagnostic.h"
#include "compiler/import.h"
#include "compiler/samples.h"
#include "evaluate/graph.h"
#include "evaluate/sqnr.h"
#include "program/files.h"
#include "quantizer/parallel.h"

namespace cormorant {
namespace {

using Shape = std::vector<std::int64_t>;
using Values = std::vector<std::vector<float>>;  // per sample, of one output

struct Outputs {
  std::vector<std::string> names;
  std::vector<Shape> shapes;
  std::vector<Shape> input_shapes;
  std::vector<Values> values;  // per output
  std::size_t samples = 0;
  std::vector<std::string> notes;  // of how the model was read
};

// Of a program's inputs.
pt2::Shapes shapes_of(const ProgramFile* program) {
  pt2::Shapes shapes;
  if (program == nullptr) return shapes;
  for (const ProgramTensor& input : program->inputs) shapes[input.name] = input.shape;
  return shapes;
}

// For every step if there are sequences.
Outputs evaluate_float(const ScoreRequest& request, const npy::DataSet& data) {
  const compiler::Axes axes = request.axes;
  Outputs outputs;
  const ir::Graph graph =
      compiler::import_model(find_model(request.float_model), {.shapes = request.shapes,
                                                               .defaults = shapes_of(request.program),
                                                               .notes = &outputs.notes,
                                                               .method = request.method});
  const quantizer::Samples samples = compiler::samples_of(std::make_shared<const npy::DataSet>(data), graph, axes);
  const evaluate::Evaluator evaluator(graph);
  std::vector<std::vector<evaluate::Tensor>> all(samples.count);
  const std::size_t sequences = samples.count / samples.steps;
  quantizer::SharedProgress progress(request.where.progress, "running in float", samples.count);
  quantizer::parallel_for(sequences, quantizer::thread_count(0, sequences), [&](std::size_t sequence, std::size_t) {
    std::vector<evaluate::Tensor> states = evaluator.initial_states();
    for (std::size_t i = sequence * samples.steps; i < (sequence + 1) * samples.steps; ++i) {
      all[i] = evaluator.step(samples.load(i), states);
      progress.one_done();
    }
  });
  outputs.samples = samples.count;
  for (const ir::Value* input : graph.inputs()) outputs.input_shapes.push_back(input->type.shape);
  for (const ir::Value* output : graph.outputs()) {
    outputs.names.push_back(output->name);
    outputs.shapes.push_back(output->type.shape);
  }
  outputs.values.resize(outputs.shapes.size(), Values(samples.count));
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < all[i].size(); ++k) {
      outputs.values[k][i].assign(all[i][k].values().begin(), all[i][k].values().end());
    }
  }
  return outputs;
}

Outputs evaluate_program(const ProgramFile& program, const npy::DataSet& data, const ScoreRequest& request) {
  ExecuteOn where = request.where;
  const std::vector<Arrays> samples = sample_arrays(program, data, request.axes);
  where.steps = samples.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, data.samples));
  const Execution execution = execute(program, samples, where);
  Outputs outputs;
  outputs.samples = samples.size();
  for (const ProgramTensor& tensor : program.inputs) outputs.input_shapes.push_back(tensor.shape);
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    const ProgramTensor& tensor = program.outputs[k];
    outputs.names.push_back(tensor.name);
    outputs.shapes.push_back(tensor.shape);
    Values& values = outputs.values.emplace_back();
    for (const Arrays& arrays : execution.outputs) values.push_back(real_values(arrays.at(k), tensor));
  }
  return outputs;
}

// ---- labels ---------------------------------------------------------------------------------------------------------

bool is_integral(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return value == std::floor(value); });
}

std::size_t count_of(std::span<const std::int64_t> shape) {
  return static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

// How many classes a tensor distinguishes at every position, and how many places there are: [1, C] has one place, [1,
// C, H, W] and [1, C, T] have the rest as places.
struct Classes {
  std::size_t classes = 0, places = 0;
};
Classes classes_of(const Shape& shape) {
  if (shape.size() < 2) return {count_of(shape), 1};
  const auto classes = static_cast<std::size_t>(shape[1]);
  const std::size_t places = shape[0] == 1 && classes > 0 ? count_of(shape) / classes : 1;
  return shape[0] == 1 ? Classes{classes, places} : Classes{count_of(shape), 1};
}

// Each row has a single 1 and zeros.
bool is_one_hot(const std::vector<float>& values, std::size_t classes) {
  if (classes < 2 || values.size() % classes != 0) return false;
  for (std::size_t row = 0; row < values.size(); row += classes) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row);
    const auto end = begin + static_cast<std::ptrdiff_t>(classes);
    if (std::count(begin, end, 1.0F) != 1 || std::count(begin, end, 0.0F) != static_cast<std::ptrdiff_t>(classes - 1)) {
      return false;
    }
  }
  return true;
}

// What the data expects of one output: a class at every place, or the values themselves.
struct Expected {
  std::vector<float> values;  // per labelled sample: places, or elements
  bool is_labels = false;
};

std::size_t top(std::span<const float> values, std::size_t classes, std::size_t places, std::size_t place) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < classes; ++c) {
    if (values[c * places + place] > values[best * places + place]) best = c;
  }
  return best;
}

Expected expected_of(const npy::Array& array, const std::string& name, const Shape& shape, std::size_t samples,
                     const npy::DataSet& data, std::vector<std::string>& notes) {
  Expected expected{compiler::to_float(array.dtype, array.data), false};
  const auto [classes, places] = classes_of(shape);
  const std::size_t elements = count_of(shape);
  const auto sequences = static_cast<std::size_t>(data.samples);
  const auto fits = [&](std::size_t each) {
    return expected.values.size() == samples * each || expected.values.size() == sequences * each;
  };
  if (classes > 1 && places == 1 && fits(elements) && is_one_hot(expected.values, classes)) {
    std::vector<float> labels;
    for (std::size_t row = 0; row < expected.values.size(); row += classes) {
      labels.push_back(static_cast<float>(top(std::span(expected.values).subspan(row, classes), classes, 1, 0)));
    }
    notes.push_back(fmt::format("{} is one-hot: its ones are the labels", name));
    return {std::move(labels), true};
  }
  if (fits(places) && (elements == 1 || classes > 1) && is_integral(expected.values)) {
    const bool in_range = std::ranges::all_of(expected.values, [&](float value) {
      return value >= 0 && value < static_cast<float>(std::max<std::size_t>(2, classes));
    });
    if (elements > 1 && !in_range) {
      throw InputError({fmt::format("labels {} are out of range for an output with {} classes", name, classes),
                        fmt::format("labels must be between 0 and {}", classes - 1), data.path});
    }
    if (in_range) return {std::move(expected.values), true};
  }
  if (fits(elements)) return expected;
  throw InputError(
      {fmt::format("{} labels for {} samples: {} has shape [{}], the output has shape [{}]", expected.values.size(),
                   samples, name, fmt::join(array.shape, ", "), fmt::join(shape, ", ")),
       "y must have one class per sample (per position for a map, per step for a sequence), be one-hot, or have the "
       "output's shape",
       data.path});
}

// Labels of an output by name: y or another usual name for the first one, y0, y1, … for all.
const std::pair<std::string, npy::Array>* find_labels(const npy::DataSet& data, std::size_t output) {
  std::vector<std::string> names = {fmt::format("y{}", output)};
  if (output == 0) names.insert(names.begin(), {"y", "label", "labels", "target", "targets"});
  for (const std::string& name : names) {
    for (const auto& entry : data.arrays) {
      if (entry.first == name) return &entry;
    }
  }
  return nullptr;
}

// ---- scores ---------------------------------------------------------------------------------------------------------

// Without labels, what looks like a classifier: one output of several numbers along one axis, which is not a
// reconstruction of an input.
Task task_without_labels(const Outputs& outputs, std::size_t output) {
  const Shape& shape = outputs.shapes[output];
  const std::size_t elements = count_of(shape);
  const bool is_vector =
      std::ranges::any_of(shape, [&](std::int64_t d) { return static_cast<std::size_t>(d) == elements; });
  const bool is_input = std::ranges::find(outputs.input_shapes, shape) != outputs.input_shapes.end();
  return outputs.shapes.size() == 1 && is_vector && elements > 1 && !is_input ? Task::classifier : Task::numbers;
}

Task task_with_labels(const Shape& shape) {
  if (count_of(shape) == 1) return Task::binary;
  return classes_of(shape).places == 1 ? Task::classifier : Task::dense;
}

// The answers of one sample, one per place.
std::vector<float> answers(Task task, const std::vector<float>& values, const Shape& shape, float threshold) {
  if (task == Task::binary) return {values[0] > threshold ? 1.0F : 0.0F};
  const auto [classes, places] = task == Task::classifier ? Classes{values.size(), 1} : classes_of(shape);
  std::vector<float> all;
  all.reserve(places);
  for (std::size_t place = 0; place < places; ++place) {
    all.push_back(static_cast<float>(top(values, classes, places, place)));
  }
  return all;
}

// With one number per sample, the threshold is a half for probabilities and 0 for logits.
float threshold_of(const Values& values) {
  const bool is_probability =
      std::ranges::all_of(values, [](const std::vector<float>& v) { return v[0] >= 0 && v[0] <= 1; });
  return is_probability ? 0.5F : 0.0F;
}

// The samples that have labels: all of them, or the last step of every sequence.
std::vector<std::size_t> labelled(std::size_t samples, std::size_t labels) {
  std::vector<std::size_t> indices;
  const std::size_t steps = samples / std::max<std::size_t>(1, labels);
  for (std::size_t i = steps - 1; i < samples; i += steps) indices.push_back(i);
  return indices;
}

double accuracy_of(Task task, const Values& values, const Shape& shape, const Expected& expected) {
  const float threshold = task == Task::binary ? threshold_of(values) : 0;
  const std::size_t places = task == Task::dense ? classes_of(shape).places : 1;
  std::size_t right = 0, next = 0;
  for (const std::size_t i : labelled(values.size(), expected.values.size() / places)) {
    for (const float answer : answers(task, values[i], shape, threshold)) {
      right += answer == expected.values[next++] ? 1 : 0;
    }
  }
  return static_cast<double>(right) / static_cast<double>(std::max<std::size_t>(1, next));
}

double agreement_of(Task task, const Values& values, const Values& reference, const Shape& shape) {
  const float threshold = task == Task::binary ? threshold_of(reference) : 0;
  std::size_t same = 0, all = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::vector<float> here = answers(task, values[i], shape, threshold);
    const std::vector<float> there = answers(task, reference[i], shape, threshold);
    for (std::size_t k = 0; k < here.size(); ++k, ++all) same += here[k] == there[k] ? 1 : 0;
  }
  return static_cast<double>(same) / static_cast<double>(std::max<std::size_t>(1, all));
}

double rmse_of(const Values& values, const Expected& expected) {
  const std::size_t elements = values.at(0).size();
  double sum = 0;
  std::size_t next = 0;
  for (const std::size_t i : labelled(values.size(), expected.values.size() / elements)) {
    for (const float value : values[i]) {
      const double error = static_cast<double>(value) - static_cast<double>(expected.values[next++]);
      sum += error * error;
    }
  }
  return std::sqrt(sum / static_cast<double>(std::max<std::size_t>(1, next)));
}

double sqnr_of(const Values& values, const Values& reference) {
  evaluate::Sqnr sqnr;
  for (std::size_t i = 0; i < values.size(); ++i) sqnr.add(reference[i], values[i]);
  return sqnr.db();
}

std::vector<std::vector<std::size_t>> confusion_of(const Values& values, const Expected& expected) {
  const std::size_t classes = values.at(0).size();
  std::vector<std::vector<std::size_t>> counts(classes, std::vector<std::size_t>(classes, 0));
  std::size_t next = 0;
  for (const std::size_t i : labelled(values.size(), expected.values.size())) {
    ++counts[static_cast<std::size_t>(expected.values[next++])][top(values[i], classes, 1, 0)];
  }
  return counts;
}

// Arrays that are neither inputs nor labels.
void note_unused(const Outputs& outputs, const std::vector<std::string>& inputs, const npy::DataSet& data,
                 Scores& scores) {
  std::vector<std::string> unused;
  for (const auto& [name, array] : data.arrays) {
    bool is_used = std::ranges::find(inputs, name) != inputs.end();
    for (std::size_t k = 0; k < outputs.shapes.size(); ++k) {
      const auto* const labels = find_labels(data, k);
      is_used = is_used || (labels != nullptr && labels->first == name);
    }
    if (!is_used) unused.push_back(name);
  }
  if (!unused.empty()) {
    scores.notes.push_back(fmt::format("not used: {} (inputs have the model's names or x, labels are y, y0, y1, …)",
                                       fmt::join(unused, ", ")));
  }
}

OutputScore score_output(std::size_t k, const Outputs& outputs, const Outputs* reference, const npy::DataSet& data,
                         Scores& scores) {
  const Values& values = outputs.values[k];
  const Shape& shape = outputs.shapes[k];
  OutputScore score;
  score.name = outputs.names[k];
  score.task = task_without_labels(outputs, k);
  std::optional<Expected> expected;
  if (const auto* const labels = find_labels(data, k)) {
    expected = expected_of(labels->second, labels->first, shape, outputs.samples, data, scores.notes);
    if (expected->is_labels) score.task = task_with_labels(shape);
  }
  const bool has_labels = expected && expected->is_labels;
  if (has_labels) score.accuracy = accuracy_of(score.task, values, shape, *expected);
  if (expected && !has_labels) score.rmse = rmse_of(values, *expected);
  if (has_labels && k == 0 && score.task == Task::classifier) scores.confusion = confusion_of(values, *expected);
  if (reference == nullptr) return score;
  const Values& wanted = reference->values.at(k);
  if (has_labels) score.float_accuracy = accuracy_of(score.task, wanted, shape, *expected);
  if (expected && !has_labels) score.float_rmse = rmse_of(wanted, *expected);
  if (score.task != Task::numbers) score.agreement = agreement_of(score.task, values, wanted, shape);
  score.sqnr_db = sqnr_of(values, wanted);
  return score;
}

void require_same_outputs(const Outputs& outputs, const Outputs& reference, const std::string& float_model) {
  const auto counts = [](const Outputs& from) {
    std::vector<std::size_t> all;
    all.reserve(from.shapes.size());
    for (const Shape& shape : from.shapes) all.push_back(count_of(shape));
    return all;
  };
  if (counts(outputs) == counts(reference)) return;
  throw InputError({"its outputs differ in size from the program's",
                    "give the model that the program was compiled from", float_model});
}

}  // namespace

const char* name_of(Task task) {
  switch (task) {
    case Task::numbers:
      return "numbers";
    case Task::classifier:
      return "classifier";
    case Task::binary:
      return "binary classifier";
    case Task::dense:
      return "dense classifier";
  }
  return "?";
}

std::optional<double> Scores::worst_sqnr() const {
  std::optional<double> worst;
  for (const OutputScore& output : outputs) {
    if (output.sqnr_db && (!worst || *output.sqnr_db < *worst)) worst = output.sqnr_db;
  }
  return worst;
}

Scores score(const ScoreRequest& request, const npy::DataSet& data) {
  const Outputs outputs =
      request.program != nullptr ? evaluate_program(*request.program, data, request) : evaluate_float(request, data);
  std::optional<Outputs> reference;
  if (request.program != nullptr && !request.float_model.empty()) {
    reference = evaluate_float(request, data);
    require_same_outputs(outputs, *reference, request.float_model);
  }
  Scores scores;
  scores.samples = outputs.samples;
  scores.notes = reference ? reference->notes : outputs.notes;
  if (request.program != nullptr) note_unused(outputs, input_arrays(*request.program, data), data, scores);
  for (std::size_t k = 0; k < outputs.shapes.size(); ++k) {
    scores.outputs.push_back(score_output(k, outputs, reference ? &*reference : nullptr, data, scores));
  }
  return scores;
}

nlohmann::ordered_json scores_json(const Scores& scores) {
  const auto number = [](std::optional<double> value) {
    return value && std::isfinite(*value) ? nlohmann::json(*value) : nlohmann::json();
  };
  const OutputScore first = scores.outputs.empty() ? OutputScore() : scores.outputs.front();
  nlohmann::ordered_json json;
  json["samples"] = scores.samples;
  json["accuracy"] = number(first.accuracy);
  json["float_accuracy"] = number(first.float_accuracy);
  json["agreement"] = number(first.agreement);
  json["sqnr_db"] = number(scores.worst_sqnr());
  json["output_sqnr_db"] = nlohmann::json::array();
  json["outputs"] = nlohmann::json::array();
  for (const OutputScore& output : scores.outputs) {
    if (output.sqnr_db) json["output_sqnr_db"].emplace_back(number(output.sqnr_db));
    json["outputs"].push_back({{"name", output.name},
                               {"task", name_of(output.task)},
                               {"accuracy", number(output.accuracy)},
                               {"float_accuracy", number(output.float_accuracy)},
                               {"agreement", number(output.agreement)},
                               {"rmse", number(output.rmse)},
                               {"float_rmse", number(output.float_rmse)},
                               {"sqnr_db", number(output.sqnr_db)}});
  }
  json["notes"] = scores.notes;
  if (!scores.confusion.empty()) json["confusion"] = scores.confusion;
  return json;
}

}  // namespace cormorant
