// SPDX-License-Identifier: Apache-2.0
//
// Real networks through evaluator and quantizer: the float graph is PyTorch's model, and the quantized graph, evaluated
// as the real numbers that its integers stand for, recognizes what the float one does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "compiler/import.h"
#include "compiler/samples.h"
#include "evaluate/graph.h"
#include "formats/npy/data_set.h"
#include "ir/text.h"
#include "passes/passes.h"
#include "quantizer/copy.h"
#include "quantizer/layers.h"
#include "quantizer/parallel.h"
#include "quantizer/quantize.h"
#include "quantizer/weights.h"
#include "tests/check.h"

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

// As ExecuTorch's linear has it, one scale for all of a layer's weights; accuracy_test has a scale per channel.
TEST(Zoo, NetworksWithOneScalePerLinearLayerRecognizeWhatTheFloatOnesDo) {
  struct Case {
    const char* model;
    double may_lose;  // points
    std::size_t images;
  };
  std::vector<Case> cases = {{"digits", 0.2, 500}};
  if (tests::is_check()) cases.push_back({"fashion", 0.4, 125});
  for (const Case& c : cases) {
    SCOPED_TRACE(c.model);
    const ir::Graph real = compiler::import_model(zoo(std::string(c.model) + ".pt2"));
    ir::Graph integers = prepared(c.model);
    QuantizeOptions options;
    options.per_tensor_weights = {"aten.linear"};
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

// Gates that are open add 1 to c in every step. In 16 bits c has a finer step if twice what was seen is below 8.
TEST(Zoo, AnLstmGivesUpTheRangeThatItsCellsDoNotNeed) {
  const auto scale_of_c = [](int steps, ops::Precision scheme) {
    const std::string n = std::to_string(steps);
    ir::Graph graph = ir::parse(
        "graph g\ninput %x : f32[" + n + R"(,1,2]
const %w : f32[4,2] = [0.1, -0.2, 0.3, 0.1, 0.2, 0.2, -0.1, 0.3]
const %u : f32[4,1] = [0.1, 0.2, -0.1, 0.1]
const %b : f32[4] = [9.0, 9.0, 9.0, 0.5]
node "l" "" ""
  %y : f32[)" +
            n +
            R"(,1,1], %c : f32[1,1] = aten.recurrent(input=%x, h=none, c=none, w_ih=%w, w_hh=%u, b_ih=%b, b_hh=none, kind="lstm", backwards=false)
output %y
)",
        "test");
    std::vector<Sample> all(8);
    for (std::size_t k = 0; k < all.size(); ++k) {
      std::vector<float> x(static_cast<std::size_t>(2 * steps), static_cast<float>(k) / 8 - 0.4F);
      all[k] = {evaluate::Tensor({steps, 1, 2}, std::move(x))};
    }
    QuantizeOptions options;
    options.scheme = scheme;
    quantize(graph, samples_of(std::move(all)), options);
    for (const ir::Node& node : graph.nodes()) {
      if (node.op == "aten.recurrent") return node.results.at(1)->type.quant->scale();
    }
    return 0.0;
  };
  EXPECT_EQ(scale_of_c(3, ops::Precision::w8a16), 0x1p-12);
  EXPECT_EQ(scale_of_c(6, ops::Precision::w8a16), 0x1p-11);
  EXPECT_EQ(scale_of_c(3, ops::Precision::w8a8), 0x1p-11);
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

// Signal to noise of the first output over the calibration data, dB; what is the same for all samples is not signal.
double sqnr_db(const ir::Graph& real, const ir::Graph& integers, const Samples& samples) {
  const evaluate::Evaluator evaluate_real(real), evaluate_integers(integers);
  std::vector<evaluate::Tensor> wanted;
  std::vector<double> mean;
  double signal = 0, noise = 0;
  for (std::size_t k = 0; k < samples.count; ++k) {
    const Sample sample = samples.load(k);
    wanted.push_back(evaluate_real.run(sample)[0]);
    const evaluate::Tensor got = evaluate_integers.run(sample)[0];
    mean.resize(got.values().size());
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double value = wanted.back().values()[i], error = value - static_cast<double>(got.values()[i]);
      mean[i] += value / static_cast<double>(samples.count);
      noise += error * error;
    }
  }
  for (const evaluate::Tensor& tensor : wanted) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      signal += (double{tensor.values()[i]} - mean[i]) * (double{tensor.values()[i]} - mean[i]);
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
    options.round_weights = false;  // which takes care of means, too, where no bias does
    options.observer = Observer::mse;
    options.equalize = false;  // or each chooses a float graph of its own
    options.threads = threads;
    quantize(graph, samples, options);
    return graph;
  };
  const ir::Graph plain = quantized(false, 1), corrected = quantized(true, 1);
  EXPECT_GT(sqnr_db(real, corrected, samples), sqnr_db(real, plain, samples) + 0.3);
  EXPECT_EQ(ir::print(corrected), ir::print(quantized(true, 3)));
}

ir::Node& node_named(ir::Graph& graph, const std::string& name) {
  return *std::ranges::find_if(graph.nodes(), [&](const ir::Node& node) { return node.name == name; });
}

// Multiplies every `stride`-th run of a constant's elements, of which there are `run` each, beginning with the first.
void scale(ir::Graph& graph, ir::Node& node, const std::string& argument, std::size_t first, std::size_t run,
           std::size_t stride, float factor) {
  const ir::Value* old = node.tensor(argument);
  const evaluate::Tensor tensor = evaluate::constant_tensor(*old);
  std::vector<float> values(tensor.values().begin(), tensor.values().end());
  for (std::size_t at = first; at < values.size(); at += stride) {
    for (std::size_t k = at; k < at + run; ++k) values[k] *= factor;
  }
  node.set(argument, graph.add_constant(old->name, old->type, ir::Bytes::of(std::span<const float>(values))));
}

// Digits with a channel between two layers that is a thousand times larger, and still the same function: a tensor has
// one scale, and there is next to nothing left for its other channels.
ir::Graph hostile_digits() {
  ir::Graph graph = prepared("digits");
  ir::Node& first = node_named(graph, "conv2d_2");
  ir::Node& next = node_named(graph, "conv2d_3");
  constexpr std::size_t kChannel = 5;
  const std::size_t row = static_cast<std::size_t>(first.tensor("weight")->type.elements()) / 32;
  const auto all = static_cast<std::size_t>(first.tensor("weight")->type.elements());
  EXPECT_EQ(first.tensor("weight")->type.shape[0], 32);
  EXPECT_EQ(next.integer("groups"), 32);
  scale(graph, first, "weight", kChannel * row, row, all, 1000);
  scale(graph, first, "bias", kChannel, 1, 32, 1000);
  scale(graph, next, "weight", kChannel * 9, 9, std::size_t{32} * 9, 1e-3F);
  return graph;
}

// Two layers whose sum a third one reads, all with ReLU or none; each channel c is (c + 1) / 8 of the last one.
// Whether layers that read small channels have larger weights for them.
std::string small_residual(bool compensates = true) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0, 0.3);
  constexpr int kChannels = 8;
  const auto weights = [&](int outputs, int inputs, bool made, bool read) {
    std::string text;
    for (int o = 0; o < outputs; ++o) {
      for (int i = 0; i < inputs; ++i) {
        const double size = (made ? (o + 1) / 8.0 : 1) / (read && compensates ? (i + 1) / 8.0 : 1);
        text += (text.empty() ? "" : ", ") + std::to_string(normal(random) * size);
      }
    }
    return text;
  };
  const auto layer = [&](const std::string& name, const std::string& input, int outputs, int inputs, bool read,
                         const std::string& activation) {
    const std::string shape = std::to_string(outputs) + "," + std::to_string(inputs) + ",1,1";
    const std::string out = "f32[1," + std::to_string(outputs) + ",8,8]";
    return std::pair{
        "const %w" + name + " : f32[" + shape + "] = [" + weights(outputs, inputs, outputs == kChannels, read) + "]\n",
        "node \"" + name + "\" \"\" \"\"\n  %" + name + " : " + out + " = aten.conv2d(input=%" + input + ", weight=%w" +
            name + ", bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1" + activation + ")\n"};
  };
  const auto a = layer("a", "x", kChannels, 3, false, ", activation_min=0.0");
  const auto b = layer("b", "a", kChannels, kChannels, true, "");
  const auto c = layer("c", "s", 4, kChannels, true, "");
  return "graph g\ninput %x : f32[1,3,8,8]\n" + a.first + b.first + c.first + a.second + b.second +
         "node \"s\" \"\" \"\"\n  %s : f32[1,8,8,8] = aten.add(self=%a, other=%b, alpha=1.0)\n" + c.second +
         "output %c\n";
}

TEST(Zoo, AnOutlierChannelCostsNextToNothingAndIsNamedFirst) {
  const ir::Graph real = compiler::import_model(zoo("digits.pt2"));
  Samples data = compiler::read_samples(zoo("digits_calibration.npz"), real);
  data.count = std::min<std::size_t>(data.count, 64);

  ir::Graph integers = hostile_digits();
  const QuantizeReport report = quantize(integers, data);
  ASSERT_FALSE(report.equalized.empty());
  EXPECT_EQ(report.equalized[0].node, "conv2d_2");
  EXPECT_GE(report.equalized[0].largest_factor, 16);
  const Accuracy found = accuracy(real, integers, "digits_test.npz", 300);
  EXPECT_GE(found.integers, found.real - 1);

  // Left alone, it is the layer that costs most.
  ir::Graph as_it_comes = hostile_digits();
  QuantizeOptions options;
  options.equalize = false;
  data.count = 8;
  const QuantizeReport plain = quantize(as_it_comes, data, options);
  const LayerReport layers = compare_layers(as_it_comes, *plain.real, data);
  EXPECT_EQ(layers.layers.at(0).node, "conv2d_2");
  EXPECT_LT(layers.layers[0].alone_db, 10);
}

// Whatever keeps a relu from becoming part of the layer before it.
TEST(Equalize, GoesThroughARelu) {
  const auto equalized = [](const std::string& clamp) {
    ir::Graph graph = ir::parse(R"(graph g
input %x : f32[1,1,2,2]
const %v : f32[4,1,1,1] = [100.0, 1.0, 1.0, 1.0]
const %w : f32[1,4,1,1] = [0.01, 1.0, 1.0, 1.0]
node "first" "" ""
  %a : f32[1,4,2,2] = aten.conv2d(input=%x, weight=%v, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "clamp" "" ""
  %b : f32[1,4,2,2] = aten.clamp(self=%a, )" +
                                    clamp + R"()
node "second" "" ""
  %c : f32[1,1,2,2] = aten.conv2d(input=%b, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
output %c
)",
                                "test");
    const Samples data = samples_of({{evaluate::Tensor({1, 1, 2, 2}, {-1, 0.5, 0.25, 1})}});
    return quantize(graph, data).equalized;
  };
  const std::vector<EqualizedLayer> through = equalized("min=0.0, max=none");
  ASSERT_EQ(through.size(), 1U);
  EXPECT_EQ(through[0].node, "first");
  EXPECT_EQ(through[0].next, "second");
  EXPECT_GE(through[0].largest_factor, 64);
  EXPECT_TRUE(equalized("min=0.0, max=6.0").empty());  // which channels reach at other places then
}

Samples images_for_small_residual() {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<Sample> data;
  for (int k = 0; k < 24; ++k) {
    std::vector<float> image(3 * 8 * 8);
    for (float& pixel : image) pixel = normal(random);
    data.push_back({evaluate::Tensor({1, 3, 8, 8}, std::move(image))});
  }
  return samples_of(data);
}

// Channels of a residual network that are up to eight times smaller than their neighbours, and still the same function.
TEST(Zoo, ChannelsThatAreSmallerThanOthersUseAsManyLevels) {
  ir::Graph graph = ir::parse(small_residual(), "test");
  const Samples samples = images_for_small_residual();
  const ir::Graph before = copy_of(graph);
  ir::Graph plain = copy_of(graph);
  QuantizeOptions options;
  options.equalize = false;
  const QuantizeReport as_it_is = quantize(plain, samples, options);
  const QuantizeReport balanced = quantize(graph, samples);
  EXPECT_GT(sqnr_db(before, *balanced.real, samples), 100);  // in float nothing changes
  EXPECT_GT(sqnr_db(before, graph, samples), sqnr_db(before, plain, samples) + 1);
}

// Smaller steps of activations cost larger steps of the weights, so 4-bit weights want other channels than 8-bit ones:
// bits that a search chose are as good as the same bits if the user asks for them, layer by layer or for all.
TEST(Zoo, ChannelsAreBalancedForTheBitsThatAreChosen) {
  const Samples samples = images_for_small_residual();
  const ir::Graph before = ir::parse(small_residual(false), "test");
  const auto layers_in_8_bits = [](const ir::Graph& graph) {
    return static_cast<std::uint64_t>(std::ranges::count_if(graph.nodes(), [](const ir::Node& node) {
      return weight_of(node) != nullptr && precision_of(node, *node.result()) != ops::Precision::w4a8;
    }));
  };
  QuantizeOptions searched;
  searched.bits.emplace();
  searched.bits->flash = 0;  // no layer may keep 8 bits
  searched.bits->may_widen = false;
  searched.bits->footprint = [&](const ir::Graph& graph) { return Footprint{.flash = layers_in_8_bits(graph)}; };
  QuantizeOptions asked;
  asked.precisions = {{"a", ops::Precision::w4a8}, {"b", ops::Precision::w4a8}, {"c", ops::Precision::w4a8}};
  ir::Graph by_search = copy_of(before), as_asked = copy_of(before);
  const QuantizeReport report = quantize(by_search, samples, searched);
  ASSERT_EQ(layers_in_8_bits(by_search), 0U);
  EXPECT_EQ(report.bits->flash, 0U);
  (void)quantize(as_asked, samples, asked);
  EXPECT_GE(sqnr_db(before, by_search, samples), sqnr_db(before, as_asked, samples) - 0.1);
}

// Training can leave most channels of a layer dead. The remaining ones are not outliers.
TEST(Zoo, WitheredChannelsMakeNoOutliersOfTheOthers) {
  ir::Graph graph = prepared("digits");
  ir::Node& layer = node_named(graph, "conv2d_2");
  const std::size_t row = static_cast<std::size_t>(layer.tensor("weight")->type.elements()) / 32;
  for (std::size_t channel = 8; channel < 32; ++channel) {
    scale(graph, layer, "weight", channel * row, row, 32 * row, 1e-20F);
    scale(graph, layer, "bias", channel, 1, 32, 1e-20F);
  }
  Samples data = compiler::read_samples(zoo("digits_calibration.npz"), graph);
  data.count = 8;
  const QuantizeReport report = quantize(graph, data);
  for (const EqualizedLayer& equalized : report.equalized) EXPECT_NE(equalized.node, "conv2d_2");
  EXPECT_GT(sqnr_db(*report.real, graph, data), 25);
}

// What is lost is the weights' 8 bits: the same weights with activations in float are no better.
TEST(Zoo, SixteenBitsOfActivationsCostNothing) {
  std::vector<std::string> models = {"tcn"};
  if (tests::is_check()) models.insert(models.end(), {"squeezenet", "mobilenet_v3"});
  for (const std::string& model : models) {
    SCOPED_TRACE(model);
    ir::Graph graph = prepared("architectures/" + model);
    const Samples data = compiler::read_samples(zoo("architectures/" + model + "_calibration.npz"), graph);
    QuantizeOptions options;
    options.scheme = ops::Precision::w8a16;
    const QuantizeReport report = quantize(graph, data, options);
    ir::Graph weights_only = copy_of(graph);
    for (ir::Value& value : weights_only.values()) {
      if (value.type.dtype == DType::i16) value.type.quant.reset();
    }
    const double db = sqnr_db(*report.real, graph, data);
    EXPECT_GT(db, 25);
    EXPECT_NEAR(db, sqnr_db(*report.real, weights_only, data), 0.2);
  }
}

std::string numbers(std::mt19937& random, int count, double deviation) {
  std::normal_distribution<double> normal(0, deviation);
  std::string text;
  for (int k = 0; k < count; ++k) text += (k == 0 ? "" : ", ") + std::to_string(normal(random));
  return text;
}

// Sequences whose 16 numbers are sums of three.
Samples correlated(int count, std::uint32_t seed) {
  std::mt19937 mixing(1), random(seed);
  std::normal_distribution<float> normal;
  float mix[16][3];
  for (auto& row : mix) {
    for (float& m : row) m = normal(mixing);
  }
  std::vector<Sample> data;
  for (int k = 0; k < count; ++k) {
    std::vector<float> values;
    for (int step = 0; step < 12; ++step) {
      const float sources[] = {normal(random), normal(random), normal(random)};
      for (const auto& row : mix) values.push_back(row[0] * sources[0] + row[1] * sources[1] + row[2] * sources[2]);
    }
    data.push_back({evaluate::Tensor({12, 1, 16}, std::move(values))});
  }
  return samples_of(std::move(data));
}

// A test of both kinds of weights together: those of the input alone gain the asserted decibel already.
TEST(Zoo, WeightsOfRecurrentLayersAreRoundedJointly) {
  for (const bool backwards : {false, true}) {
    SCOPED_TRACE(backwards);
    std::mt19937 random(4);
    const ir::Graph real =
        ir::parse("graph g\ninput %x : f32[12,1,16]\nconst %w : f32[48,16] = [" + numbers(random, 48 * 16, 0.3) +
                      "]\nconst %u : f32[48,12] = [" + numbers(random, 48 * 12, 0.3) +
                      "]\nnode \"lstm\" \"\" \"\"\n  %y : f32[12,1,12], %c : f32[1,12] = aten.recurrent(input=%x, "
                      "h=none, c=none, "
                      "w_ih=%w, w_hh=%u, b_ih=none, b_hh=none, kind=\"lstm\", backwards=" +
                      (backwards ? "true" : "false") + ")\noutput %y\n",
                  "test");
    const auto db = [&](bool round_weights) {
      ir::Graph graph = copy_of(real);
      QuantizeOptions options;
      options.scheme = ops::Precision::w8a16;
      options.round_weights = round_weights;
      const QuantizeReport report = quantize(graph, correlated(32, 11), options);
      EXPECT_EQ(report.decisions.front().rounded_otherwise > 0, round_weights);
      return sqnr_db(real, graph, correlated(64, 12));
    };
    EXPECT_GT(db(true), db(false) + 1);
  }
}

// The operator holds h within ±1. Which of the two begins where is the samples', or the state's own.
TEST(Zoo, AGruIsWrittenOutWhereItBeginsBeyondOne) {
  const auto normal = [](std::mt19937& random, const ir::Shape& shape, double deviation) {
    std::normal_distribution<double> number(0, deviation);
    std::vector<float> values(static_cast<std::size_t>(ir::float_type(shape).elements()));
    for (float& value : values) value = static_cast<float>(number(random));
    return evaluate::Tensor(shape, std::move(values));
  };
  const struct {
    const char *what, *begin, *more;
    double deviation;
    bool is_kept;
  } table[] = {{"an input", "input %h : f32[1,3]\n", "", 0.2, true},
               {"an input beyond it", "input %h : f32[1,3]\n", "", 2, false},
               {"a state", "state %h : f32[1,3] = [0.5, -1.0, 0.0]\n", "update %h = %z\n", 0, true},
               {"a state beyond it", "state %h : f32[1,3] = [0.5, -3.0, 0.0]\n", "update %h = %z\n", 0, false},
               {"a constant beyond it", "const %h : f32[1,3] = [0.5, -3.0, 0.0]\n", "", 0, false}};
  for (const auto& t : table) {
    SCOPED_TRACE(t.what);
    std::mt19937 random(4);
    const ir::Graph real = ir::parse(
        "graph g\ninput %x : f32[2,1,4]\n" + std::string(t.begin) + "const %w : f32[9,4] = [" +
            numbers(random, 36, 0.4) + "]\nconst %u : f32[9,3] = [" + numbers(random, 27, 0.4) +
            "]\nnode \"gru\" \"\" \"\"\n  %y : f32[2,1,3], %z : f32[1,3] = aten.recurrent(input=%x, h=%h, c=none, "
            "w_ih=%w, w_hh=%u, b_ih=none, b_hh=none, kind=\"gru\", backwards=false)\n" +
            t.more + "output %y\n",
        "test");
    std::vector<Sample> data;
    for (int k = 0; k < 32; ++k) {
      data.push_back({normal(random, {2, 1, 4}, 1)});
      if (t.deviation != 0) data.back().push_back(normal(random, {1, 3}, t.deviation));
    }
    const Samples all = samples_of(std::move(data));
    ir::Graph graph = copy_of(real);
    const QuantizeReport report = quantize(graph, all);
    const bool is_kept =
        std::ranges::any_of(graph.nodes(), [](const ir::Node& node) { return node.op == "aten.recurrent"; });
    EXPECT_EQ(is_kept, t.is_kept);
    const bool is_told = std::ranges::any_of(report.warnings, [](const std::string& text) {
      return text.starts_with("the initial state of the recurrent layer 'gru' reaches from -");
    });
    EXPECT_EQ(is_told, !t.is_kept);
    EXPECT_GT(sqnr_db(real, graph, all), 24);
  }
}

TEST(Zoo, LayersErrorsAreOwnAndInherited) {
  ir::Graph graph = prepared("digits");
  Samples data = compiler::read_samples(zoo("digits_calibration.npz"), graph);
  data.count = 8;
  const QuantizeReport report = quantize(graph, data);
  const LayerReport layers = compare_layers(graph, *report.real, data, 1),
                    again = compare_layers(graph, *report.real, data, 3);
  EXPECT_NEAR(layers.output_db.at(0), sqnr_db(*report.real, graph, data), 1e-6);
  ASSERT_EQ(layers.layers.size(), again.layers.size());
  for (std::size_t k = 0; k < layers.layers.size(); ++k) {
    const LayerError& layer = layers.layers[k];
    SCOPED_TRACE(layer.value);
    EXPECT_EQ(layer.value, again.layers[k].value);
    EXPECT_EQ(layer.sqnr_db, again.layers[k].sqnr_db);
    if (k > 0) {
      EXPECT_GE(layer.alone_db, layers.layers[k - 1].alone_db);
    }
    EXPECT_LE(layer.min, layer.max);
    // The first layer inherits the rounding of the input alone, which is exact for k/255.
    if (layer.node == "conv2d") {
      EXPECT_GT(layer.inherited_db, 100);
      EXPECT_NEAR(layer.sqnr_db, layer.own_db, 0.1);
    }
  }
}

}  // namespace
}  // namespace cormorant::quantizer
