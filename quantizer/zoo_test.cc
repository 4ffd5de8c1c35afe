// SPDX-License-Identifier: Apache-2.0
//
// Real networks through evaluator and quantizer: the float graph is PyTorch's model, and the quantized graph, evaluated
// as the real numbers that its integers stand for, recognises what the float one does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "compiler/import.h"
#include "compiler/samples.h"
#include "evaluate/graph.h"
#include "formats/npy/data_set.h"
#include "ir/text.h"
#include "passes/passes.h"
#include "quantizer/copy.h"
#include "quantizer/parallel.h"
#include "quantizer/quantize.h"

namespace cormorant::quantizer {
namespace {

std::string zoo(const std::string& file) { return std::string(CORMORANT_SOURCE_DIR) + "/zoo/" + file; }

ir::Graph prepared(const std::string& model) {
  ir::Graph graph = compiler::import_model(zoo(model + ".pt2"));
  passes::fold_batch_norm(graph);
  passes::fuse_activations(graph);
  return graph;
}

// The worst difference to PyTorch's recorded outputs, as a share of their range.
double difference_to_pytorch(const ir::Graph& graph, const std::string& model) {
  const auto data = std::make_shared<const npy::DataSet>(npy::read_data_set(zoo(model + "_expected.npz")));
  const Samples samples = compiler::samples_of(data, graph);
  const std::span<const float> expected = npy::find(data->arrays, "y")->as<float>();
  const auto [low, high] = std::ranges::minmax(expected);
  const evaluate::Evaluator evaluator(graph);
  std::size_t next = 0;
  double worst = 0;
  for (std::size_t k = 0; k < samples.count; ++k) {
    const std::vector<evaluate::Tensor> outputs = evaluator.run(samples.load(k));
    for (const float value : outputs.at(0).values()) {
      worst = std::max(worst, static_cast<double>(std::abs(value - expected[next++])));
    }
  }
  EXPECT_EQ(next, expected.size());
  return worst / (static_cast<double>(high) - low);
}

TEST(Zoo, FloatGraphsComputeWhatPyTorchComputes) {
  for (const char* model : {"digits", "fashion", "kws", "vww", "ad"}) {
    SCOPED_TRACE(model);
    EXPECT_LT(difference_to_pytorch(compiler::import_model(zoo(std::string(model) + ".pt2")), model), 1e-4);
    EXPECT_LT(difference_to_pytorch(prepared(model), model), 1e-4);
  }
}

struct Accuracy {
  double real = 0, integers = 0, agreement = 0;  // percent
};

Accuracy accuracy(const ir::Graph& real, const ir::Graph& integers, const std::string& test_file, std::size_t limit) {
  const auto data = std::make_shared<const npy::DataSet>(npy::read_data_set(zoo(test_file)));
  const Samples samples = compiler::samples_of(data, real);
  const npy::Array& labels = *npy::find(data->arrays, "y");
  const std::vector<float> truth = compiler::to_float(labels.dtype, labels.data);
  const evaluate::Evaluator evaluate_real(real), evaluate_integers(integers);
  const std::size_t count = std::min(limit, samples.count);
  struct Guess {
    std::ptrdiff_t real, integers;
  };
  std::vector<Guess> guesses(count);
  parallel_for(count, thread_count(0, count), [&](std::size_t k, std::size_t) {
    const auto best = [](const evaluate::Tensor& scores) {
      return std::ranges::max_element(scores.values()) - scores.values().begin();
    };
    const Sample sample = samples.load(k);
    guesses[k] = {best(evaluate_real.run(sample)[0]), best(evaluate_integers.run(sample)[0])};
  });
  Accuracy result;
  const double share = 100.0 / static_cast<double>(count);
  for (std::size_t k = 0; k < count; ++k) {
    const auto wanted = static_cast<std::ptrdiff_t>(truth[k]);
    result.real += guesses[k].real == wanted ? share : 0;
    result.integers += guesses[k].integers == wanted ? share : 0;
    result.agreement += guesses[k].real == guesses[k].integers ? share : 0;
  }
  return result;
}

TEST(Zoo, QuantizedNetworksRecogniseWhatTheFloatOnesDo) {
  struct Case {
    const char* model;
    double may_lose;  // points
    std::size_t images;
  };
  for (const Case& c : {Case{"digits", 0.2, 500}, Case{"fashion", 0.4, 250}}) {
    SCOPED_TRACE(c.model);
    const ir::Graph real = compiler::import_model(zoo(std::string(c.model) + ".pt2"));
    for (const bool one_scale : {false, true}) {
      ir::Graph integers = prepared(c.model);
      QuantizeOptions options;
      if (one_scale) options.per_tensor_weights = {"aten.linear"};
      const Samples data = compiler::read_samples(zoo(std::string(c.model) + "_calibration.npz"), integers);
      const QuantizeReport report = quantize(integers, data, options);
      EXPECT_TRUE(report.float_nodes.empty());
      EXPECT_TRUE(report.warnings.empty());
      const Accuracy found = accuracy(real, integers, std::string(c.model) + "_test.npz", c.images);
      EXPECT_GT(found.real, 90);
      EXPECT_GE(found.integers, found.real - c.may_lose - 1e-9);
      EXPECT_GE(found.agreement, 98.5);
    }
  }
}

TEST(Zoo, CalibrationIsTheSameForAnyNumberOfThreads) {
  std::vector<std::pair<std::string, std::vector<std::byte>>> graphs;
  for (const std::size_t threads : {1U, 2U, 3U}) {
    ir::Graph graph = prepared("digits");
    QuantizeOptions options;
    options.threads = threads;
    Samples data = compiler::read_samples(zoo("digits_calibration.npz"), graph);
    data.count = std::min<std::size_t>(data.count, 40);
    quantize(graph, data, options);
    std::vector<std::byte> blob;
    std::string text = ir::print(graph, &blob);
    graphs.emplace_back(std::move(text), std::move(blob));
  }
  EXPECT_EQ(graphs[0].first, graphs[1].first);
  EXPECT_EQ(graphs[0].first, graphs[2].first);
  EXPECT_TRUE(graphs[0] == graphs[1] && graphs[0] == graphs[2]);
}

// One quantize at the input, one dequantize at the output, integers between.
TEST(Zoo, ConvertsOnlyAtTheBorders) {
  for (const bool int8_io : {false, true}) {
    ir::Graph graph = prepared("digits");
    QuantizeOptions options;
    options.int8_io = int8_io;
    Samples data = compiler::read_samples(zoo("digits_calibration.npz"), graph);
    data.count = 4;
    quantize(graph, data, options);
    std::vector<std::string> conversions;
    for (const ir::Node& node : graph.nodes()) {
      if (node.op.starts_with("quantized_decomposed.")) {
        conversions.push_back(node.op);
      } else {
        EXPECT_TRUE(node.result()->type.is_quantized()) << node.name;
      }
    }
    EXPECT_EQ(conversions.size(), int8_io ? 0U : 2U);
    EXPECT_EQ(graph.inputs()[0]->type.dtype, int8_io ? DType::i8 : DType::f32);
    EXPECT_EQ(graph.outputs()[0]->type.dtype, int8_io ? DType::i8 : DType::f32);
  }
}

// Signal to noise of the first output over the calibration data, dB.
double sqnr_db(const ir::Graph& real, const ir::Graph& integers, const Samples& samples) {
  const evaluate::Evaluator evaluate_real(real), evaluate_integers(integers);
  double signal = 0, noise = 0;
  for (std::size_t k = 0; k < samples.count; ++k) {
    const Sample sample = samples.load(k);
    const evaluate::Tensor wanted = evaluate_real.run(sample)[0], got = evaluate_integers.run(sample)[0];
    for (std::size_t i = 0; i < wanted.values().size(); ++i) {
      const double value = wanted.values()[i], error = value - static_cast<double>(got.values()[i]);
      signal += value * value;
      noise += error * error;
    }
  }
  return 10 * std::log10(signal / noise);
}

TEST(Zoo, CorrectedBiasesComeCloserToTheFloatModelForAnyNumberOfThreads) {
  const ir::Graph real = prepared("fashion");
  const auto data = std::make_shared<const npy::DataSet>(npy::read_data_set(zoo("fashion_calibration.npz")));
  const Samples samples = compiler::samples_of(data, real);
  const auto quantized = [&](bool correct, std::size_t threads) {
    ir::Graph graph = copy_of(real);
    QuantizeOptions options;
    options.correct_biases = correct;
    options.threads = threads;
    quantize(graph, samples, options);
    return graph;
  };
  const ir::Graph plain = quantized(false, 1), corrected = quantized(true, 1);
  EXPECT_GT(sqnr_db(real, corrected, samples), sqnr_db(real, plain, samples) + 0.3);
  EXPECT_EQ(ir::print(corrected), ir::print(quantized(true, 3)));
}

}  // namespace
}  // namespace cormorant::quantizer
