// SPDX-License-Identifier: Apache-2.0
//
// Networks with dead channels, compiled with and without passes::drop_channels: fewer products, and the same bits.
#include <gtest/gtest.h>

#include <random>

#include "compiler/compile.h"
#include "program/program_io.h"
#include "target/parse.h"
#include "tests/conformance/conformance.h"

namespace cormorant {
namespace {

using conformance::add_quantized;
using conformance::int32_bias;

// What becomes of a channel: its weights stay, are all zero, or are negligible next to its bias.
enum class Fate : std::uint8_t { lives, zero, withered };

struct Layer {
  std::vector<Fate> fates;  // one per output
  std::int64_t kernel = 1;
  std::int64_t padding = 0;
  bool is_depthwise = false;
};

class Network {
 public:
  explicit Network(unsigned seed, bool words = false) : words_(words), random_(seed) {
    value_ = words ? conformance::words_input(graph, {1, 3, 6, 7}, kFiner * 0.05)
                   : conformance::int8_input(graph, {1, 3, 6, 7}, 0.05, -3);
  }

  void add(const Layer& layer) {
    const auto outputs = static_cast<std::int64_t>(layer.fates.size());
    const ir::Shape in = value_->type.shape;
    const std::int64_t inputs = layer.is_depthwise ? 1 : in[1];
    const std::int64_t window = inputs * layer.kernel * layer.kernel;
    std::vector<double> scales;
    std::vector<std::int8_t> weights;
    for (const Fate fate : layer.fates) {
      scales.push_back(fate == Fate::withered ? 1e-12 : 0.004 + 0.001 * static_cast<double>(random_() % 8));
      for (std::int64_t i = 0; i < window; ++i) {
        weights.push_back(fate == Fate::zero ? std::int8_t{0}
                                             : static_cast<std::int8_t>(static_cast<int>(random_() % 255) - 127));
      }
    }
    ir::QuantParams quant{
        .dtype = DType::i8, .qmin = -127, .qmax = 127, .axis = 0, .scales = scales, .zero_points = {}};
    quant.zero_points.assign(scales.size(), 0);
    const ir::Shape shape = {outputs, inputs, layer.kernel, layer.kernel};
    ir::Value* weight = graph.add_constant("w", ir::quantized_type(shape, quant), ir::Bytes::of<std::int8_t>(weights));
    ir::Value* bias = int32_bias(graph, value_, weight, random_, 3000);
    const std::int64_t shrink = layer.kernel - 1 - 2 * layer.padding;
    add("aten.conv2d",
        {{"input", value_},
         {"weight", weight},
         {"bias", bias},
         {"stride", std::vector<std::int64_t>{1, 1}},
         {"padding", std::vector<std::int64_t>(2, layer.padding)},
         {"dilation", std::vector<std::int64_t>{1, 1}},
         {"groups", layer.is_depthwise ? outputs : std::int64_t{1}},
         {"activation_min", 0.0}},
        {1, outputs, in[2] - shrink, in[3] - shrink});
  }
  void pad() {
    const ir::Shape in = value_->type.shape;
    add("aten.pad", {{"self", value_}, {"pad", std::vector<std::int64_t>{0, 1, 0, 1}}, {"value", 0.0}},
        {1, in[1], in[2] + 1, in[3] + 1});
  }
  ir::Graph& finish() {
    graph.add_output(value_);
    return graph;
  }

  ir::Graph graph;

 private:
  static constexpr double kFiner = 1.0 / 256;  // a step of 16 bits

  void add(const char* op, std::vector<ir::NamedArgument> args, ir::Shape shape) {
    value_ = words_ ? conformance::add_words(graph, op, std::move(args), std::move(shape), kFiner * 0.03)
                    : add_quantized(graph, op, std::move(args), std::move(shape), 0.03, -128);
  }

  bool words_;
  std::mt19937 random_;
  ir::Value* value_;
};

constexpr Fate L = Fate::lives, Z = Fate::zero, W = Fate::withered;

void build(Network& network) {
  network.add({.fates = {L, Z, L, W, L, Z}, .kernel = 3, .padding = 1});
  network.add({.fates = {L, L, Z, L, W, L}, .kernel = 3, .padding = 1, .is_depthwise = true});
  network.pad();
  network.add({.fates = {L, L, Z, W, Z, L, L}});
  network.add({.fates = {L, Z, L, W, L}, .kernel = 3, .padding = 1});
  network.add({.fates = {L, L, W}});
}

struct Result {
  compiler::Facts facts;
  std::vector<Arrays> outputs;
};

// Where kernels take any number of channels as easily.
compiler::Options plain_options() {
  compiler::Options options;
  options.config.target = parse_target("cortex-m0");
  return options;
}

Result compile_and_run(unsigned seed, bool drops, const compiler::Options& options = plain_options(),
                       bool words = false) {
  Network network(seed, words);
  build(network);
  ir::Graph& graph = network.finish();
  compiler::Stages stages = compiler::default_stages(options);
  if (!drops) std::erase_if(stages.for_target, [](const compiler::Stage& s) { return s.name == "drop_channels"; });
  compiler::Compilation compilation(graph, options, stages);
  compilation.quantize();
  compiler::Compiled compiled = compilation.finish();
  const ProgramFile program = program_from(std::move(compiled.program), "test.pte");
  std::mt19937 random(seed);
  std::vector<Arrays> samples;
  for (int s = 0; s < 4; ++s) {
    npy::Array x{program.inputs[0].dtype, program.inputs[0].shape, {}};
    for (std::size_t i = 0; i < program.inputs[0].element_count(); ++i) {
      if (words) x.data.push_back(static_cast<std::byte>(random() % 256));
      x.data.push_back(static_cast<std::byte>(s == 0 ? 128 - random() % 2 : random() % 256));
    }
    samples.push_back({std::move(x)});
  }
  return {std::move(compiled.facts), execute(program, samples, {}).outputs};
}

TEST(DropChannels, LeavesEveryBitAsItWas) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const Result whole = compile_and_run(seed, false);
    const Result dropped = compile_and_run(seed, true);
    EXPECT_EQ(whole.outputs, dropped.outputs) << seed;
    EXPECT_GE(dropped.facts.dropped_channels, 3U) << seed;
    EXPECT_LT(dropped.facts.macs, whole.facts.macs * 3 / 4) << seed;
    EXPECT_LT(dropped.facts.constant_bytes, whole.facts.constant_bytes) << seed;
  }
}

TEST(DropChannels, LeavesEveryBitOf16AsItWas) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const Result whole = compile_and_run(seed, false, plain_options(), true);
    const Result dropped = compile_and_run(seed, true, plain_options(), true);
    EXPECT_EQ(whole.outputs, dropped.outputs) << seed;
    EXPECT_GE(dropped.facts.dropped_channels, 3U) << seed;
    EXPECT_LT(dropped.facts.macs, whole.facts.macs * 3 / 4) << seed;
    EXPECT_LT(dropped.facts.constant_bytes, whole.facts.constant_bytes) << seed;
  }
}

// Odd channels cost more time than those that are dropped had taken.
TEST(DropChannels, LeavesWholeWordsOfChannelsWhereKernelsReadThem) {
  for (const char* const cpu : {"cortex-m4", "cortex-m55"}) {
    SCOPED_TRACE(cpu);
    compiler::Options options;
    options.config.target = parse_target(cpu);
    const Result whole = compile_and_run(1, false, options);
    const Result dropped = compile_and_run(1, true, options);
    EXPECT_EQ(whole.outputs, dropped.outputs);
    EXPECT_GT(dropped.facts.dropped_channels, 0U);
    EXPECT_LT(dropped.facts.dropped_channels, compile_and_run(1, true).facts.dropped_channels);
  }
}

// A constant next to a padded border is not the same everywhere, unless it is zero.
TEST(DropChannels, KeepsAConstantThatABorderTellsApart) {
  const auto dropped = [](std::int64_t kernel, std::int32_t bias) {
    ir::Graph graph;
    ir::Value* x = conformance::int8_input(graph, {1, 1, 5, 5}, 0.1, 0);
    const auto layer = [&](ir::Value* in, ir::Shape shape, std::vector<std::int8_t> weights,
                           std::vector<std::int32_t> biases, std::int64_t padding) {
      const auto outputs = static_cast<std::size_t>(shape[0]);
      ir::QuantParams quant{.dtype = DType::i8, .qmin = -127, .qmax = 127, .axis = 0, .scales = {}, .zero_points = {}};
      quant.scales.assign(outputs, 0.01);
      quant.zero_points.assign(outputs, 0);
      ir::Value* weight =
          graph.add_constant("w", ir::quantized_type(shape, quant), ir::Bytes::of<std::int8_t>(weights));
      quant.dtype = DType::i32;
      ir::Value* bias_value =
          graph.add_constant("b", {.dtype = DType::i32, .shape = {shape[0]}, .dim_order = {}, .quant = quant},
                             ir::Bytes::of<std::int32_t>(biases));
      return add_quantized(graph, "aten.conv2d",
                           {{"input", in},
                            {"weight", weight},
                            {"bias", bias_value},
                            {"stride", std::vector<std::int64_t>{1, 1}},
                            {"padding", std::vector<std::int64_t>(2, padding)},
                            {"dilation", std::vector<std::int64_t>{1, 1}},
                            {"groups", std::int64_t{1}},
                            {"activation_min", 0.0}},
                           {1, shape[0], 5, 5}, 0.1, -128);
    };
    ir::Value* two = layer(x, {2, 1, 1, 1}, {100, 0}, {0, bias}, 0);
    const std::vector<std::int8_t> ones(static_cast<std::size_t>(2 * kernel * kernel), 1);
    graph.add_output(layer(two, {1, 2, kernel, kernel}, ones, {0}, kernel / 2));
    return compiler::compile(graph, plain_options()).facts.dropped_channels;
  };
  EXPECT_EQ(dropped(1, 5000), 1U);   // constant, and no border
  EXPECT_EQ(dropped(3, 5000), 0U);   // constant, but padding is zero
  EXPECT_EQ(dropped(3, -5000), 1U);  // zero, as padding is
}

}  // namespace
}  // namespace cormorant
