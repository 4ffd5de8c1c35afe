// SPDX-License-Identifier: Apache-2.0
//
// Operators with activations of 16 bits that have one source for every CPU (kernel_words.cc), and addition, which has a
// second one for MVE: the same bits everywhere, and near the float semantics. Those with weights are tested in their
// folders.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "compiler/compile.h"
#include "evaluate/graph.h"
#include "evaluate/sqnr.h"
#include "ops/activation/table.h"
#include "program/program_io.h"
#include "quantizer/copy.h"
#include "target/parse.h"
#include "tests/conformance/conformance.h"

namespace cormorant {
namespace {

using conformance::add_words;
using conformance::Case;
using conformance::words_input;

using Ints = std::vector<std::int64_t>;

Case binary(const std::string& op, const ir::Shape& a, const ir::Shape& b, const ir::Shape& out, double scale,
            std::vector<ir::NamedArgument> more = {}) {
  return {op + " of " + std::to_string(a.size()) + " and " + std::to_string(b.size()) + " dimensions",
          [=](ir::Graph& g) {
            const bool shares = op == "aten.minimum" || op == "aten.maximum";
            ir::Value* x = words_input(g, a, shares ? scale : 0.0003);
            ir::Value* y = words_input(g, b, shares ? scale : 0.0007);
            std::vector<ir::NamedArgument> args = {{"self", x}, {"other", y}};
            args.insert(args.end(), more.begin(), more.end());
            return add_words(g, op, std::move(args), out, scale);
          }};
}

Case pool(const std::string& op, Ints kernel, Ints stride, Ints padding, const ir::Shape& out, double scale) {
  return {op + " " + std::to_string(kernel[0]), [=](ir::Graph& g) {
            ir::Value* x = words_input(g, {2, 5, 7, 6}, 0.001);
            std::vector<ir::NamedArgument> args = {
                {"self", x}, {"kernel_size", kernel}, {"stride", stride}, {"padding", padding}};
            if (op == "aten.max_pool2d") args.push_back({"dilation", Ints{1, 1}});
            args.push_back({"ceil_mode", false});
            if (op == "aten.avg_pool2d") {
              args.push_back({"count_include_pad", false});
              args.push_back({"divisor_override", ir::Argument{}});
            }
            return add_words(g, op, std::move(args), out, scale);
          }};
}

Case reduce(const std::string& op, Ints dims, const ir::Shape& out, double scale) {
  return {op + " over " + std::to_string(dims.size()), [=](ir::Graph& g) {
            ir::Value* x = words_input(g, {2, 5, 7, 6}, 0.001);
            return add_words(g, op, {{"self", x}, {"dim", dims}}, out, scale);
          }};
}

Case function(const std::string& op, double input_scale, double output_scale) {
  return {op, [=](ir::Graph& g) {
            ir::Value* x = words_input(g, {3, 67}, input_scale);
            std::vector<ir::NamedArgument> args = {{"self", x}};
            if (op == "aten.gelu") args.push_back({"approximate", std::string("none")});
            return add_words(g, op, std::move(args), {3, 67}, output_scale);
          }};
}

Case softmax(std::int64_t dim, const ir::Shape& shape, double scale) {
  return {"softmax along " + std::to_string(dim), [=](ir::Graph& g) {
            ir::Value* x = words_input(g, shape, scale);
            return add_words(g, "aten.softmax", {{"self", x}, {"dim", dim}}, shape, 1.0 / 32768);
          }};
}

Case log_softmax(std::int64_t dim, const ir::Shape& shape, double scale, double output_scale) {
  return {fmt::format("log_softmax along {}, scale {}", dim, scale), [=](ir::Graph& g) {
            ir::Value* x = words_input(g, shape, scale);
            return add_words(g, "aten.log_softmax", {{"self", x}, {"dim", dim}}, shape, output_scale);
          }};
}

struct Transposed {
  std::int64_t kernel, stride, padding, more = 0;
  bool relu = false;
};

// Taps that a stride sees all or some of, rows that are cut off, and a stride larger than the kernel.
Case transposed(const Transposed& t) {
  return {
      fmt::format("transposed convolution {} by {}, {} of padding", t.kernel, t.stride, t.padding), [=](ir::Graph& g) {
        constexpr std::int64_t kInputs = 3, kOutputs = 5, kHeight = 4, kWidth = 3;
        std::mt19937 random(11);
        ir::Value* x = words_input(g, {1, kInputs, kHeight, kWidth}, 0.001);
        std::vector<std::int8_t> weights(static_cast<std::size_t>(kInputs * kOutputs * t.kernel * t.kernel));
        for (std::int8_t& weight : weights) weight = static_cast<std::int8_t>(random() % 255) - 127;
        std::vector<double> scales, bias_scales;
        for (int o = 0; o < kOutputs; ++o) scales.push_back(0.003 * (o + 1));
        for (const double scale : scales) bias_scales.push_back(0.001 * scale);
        const std::vector<std::int32_t> zeros(kOutputs, 0), biases = {1000, -2000, 30000, 4, -50000};
        const ir::QuantParams per_weight{DType::i8, -127, 127, 1, scales, zeros};
        const ir::QuantParams per_bias{DType::i32,
                                       std::numeric_limits<std::int32_t>::min(),
                                       std::numeric_limits<std::int32_t>::max(),
                                       0,
                                       bias_scales,
                                       zeros};
        std::vector<ir::NamedArgument> args = {
            {"input", x},
            {"weight", g.add_constant("w", ir::quantized_type({kInputs, kOutputs, t.kernel, t.kernel}, per_weight),
                                      ir::Bytes::of(std::span<const std::int8_t>(weights)))},
            {"bias", g.add_constant("b", ir::quantized_type({kOutputs}, per_bias),
                                    ir::Bytes::of(std::span<const std::int32_t>(biases)))},
            {"stride", Ints{t.stride, t.stride}},
            {"padding", Ints{t.padding, t.padding}},
            {"output_padding", Ints{t.more, t.more}},
            {"groups", std::int64_t{1}},
            {"dilation", Ints{1, 1}}};
        if (t.relu) args.push_back({"activation_min", 0.0});
        const auto size = [&](std::int64_t in) { return (in - 1) * t.stride - 2 * t.padding + t.kernel + t.more; };
        return add_words(g, "aten.conv_transpose2d", std::move(args), {1, kOutputs, size(kHeight), size(kWidth)}, 0.02);
      }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Transposed& t : {Transposed{2, 2, 0},
                              {3, 2, 1, 1},
                              {3, 2, 1, 0, true},
                              {4, 2, 1},
                              {5, 2, 2, 1},
                              {3, 1, 1},
                              {1, 2, 0},
                              {2, 3, 0},
                              {5, 3, 2}}) {
    all.push_back(transposed(t));
  }
  all.push_back({"prelu", [](ir::Graph& g) {
                   ir::Value* x = words_input(g, {2, 5, 3, 4}, 0.001);
                   const std::vector<std::int8_t> slopes = {127, -127, 127, 1, 0};
                   const ir::QuantParams quant{DType::i8,      -127, 127, 0, {0.002, 0.001, 0.01, 0.0001, 0.3},
                                               {0, 0, 0, 0, 0}};
                   ir::Value* weight = g.add_constant("slopes", ir::quantized_type({5}, quant),
                                                      ir::Bytes::of(std::span<const std::int8_t>(slopes)));
                   return add_words(g, "aten.prelu", {{"self", x}, {"weight", weight}}, {2, 5, 3, 4}, 0.0012);
                 }});
  for (const std::int64_t size : {1, 3, 4, 17, 33}) {
    all.push_back(binary("aten.add", {2, size}, {2, size}, {2, size}, 0.001, {{"alpha", 1.0}}));
  }
  all.push_back(binary("aten.add", {2, 5, 3, 4}, {2, 5, 3, 4}, {2, 5, 3, 4}, 0.0008, {{"alpha", -0.5}}));
  all.push_back(
      binary("aten.add", {2, 5, 3, 4}, {5, 1, 1}, {2, 5, 3, 4}, 0.001, {{"alpha", 1.0}, {"activation_min", 0.0}}));
  all.push_back(binary("aten.add", {1}, {3, 9}, {3, 9}, 0.001, {{"alpha", 1.0}}));
  all.push_back(binary("aten.mul", {2, 19}, {2, 19}, {2, 19}, 0.006));
  all.push_back(binary("aten.mul", {2, 5, 3, 4}, {5, 1, 1}, {2, 5, 3, 4}, 0.004));
  all.push_back(binary("aten.minimum", {2, 19}, {2, 19}, {2, 19}, 0.001));
  all.push_back(binary("aten.maximum", {2, 5, 3, 4}, {5, 1, 1}, {2, 5, 3, 4}, 0.001));
  all.push_back(pool("aten.avg_pool2d", {3, 2}, {2, 2}, {1, 0}, {2, 5, 4, 3}, 0.0008));
  all.push_back(pool("aten.avg_pool2d", {7, 6}, {7, 6}, {0, 0}, {2, 5, 1, 1}, 0.0002));
  all.push_back(pool("aten.max_pool2d", {3, 2}, {2, 2}, {1, 0}, {2, 5, 4, 3}, 0.001));
  all.push_back(reduce("aten.mean", {2, 3}, {2, 5, 1, 1}, 0.0003));
  all.push_back(reduce("aten.mean", {1}, {2, 1, 7, 6}, 0.0005));
  all.push_back(reduce("aten.sum", {3}, {2, 5, 7, 1}, 0.004));
  all.push_back(reduce("aten.amax", {1}, {2, 1, 7, 6}, 0.001));
  all.push_back({"clamp", [](ir::Graph& g) {
                   ir::Value* x = words_input(g, {2, 19}, 0.001);
                   return add_words(g, "aten.clamp", {{"self", x}, {"min", -1.0}, {"max", 6.0}}, {2, 19}, 0.001);
                 }});
  all.push_back({"pad", [](ir::Graph& g) {
                   ir::Value* x = words_input(g, {1, 3, 4, 5}, 0.001);
                   return add_words(g, "aten.pad", {{"self", x}, {"pad", Ints{1, 2, 0, 3}}, {"value", 0.5}},
                                    {1, 3, 7, 8}, 0.001);
                 }});
  all.push_back({"cat and slice", [](ir::Graph& g) {
                   ir::Value* x = words_input(g, {2, 3, 5}, 0.001);
                   ir::Value* y = words_input(g, {2, 4, 5}, 0.001);
                   ir::Value* both =
                       add_words(g, "aten.cat", {{"tensors", std::vector<ir::Value*>{x, y}}, {"dim", std::int64_t{1}}},
                                 {2, 7, 5}, 0.001);
                   return add_words(g, "aten.slice",
                                    {{"self", both},
                                     {"dim", std::int64_t{2}},
                                     {"start", std::int64_t{1}},
                                     {"end", std::int64_t{4}},
                                     {"step", std::int64_t{1}}},
                                    {2, 7, 3}, 0.001);
                 }});
  all.push_back({"permute", [](ir::Graph& g) {
                   ir::Value* x = words_input(g, {3, 5, 7}, 0.001);
                   return add_words(g, "aten.permute", {{"self", x}, {"dims", Ints{2, 0, 1}}}, {7, 3, 5}, 0.001);
                 }});
  all.push_back(function("aten.sigmoid", 0.0004, 1.0 / 32768));
  all.push_back(function("aten.tanh", 0.00025, 1.0 / 32768));
  all.push_back(function("aten.silu", 0.0003, 0.0003));
  all.push_back(function("aten.hardswish", 0.0003, 0.0003));
  all.push_back(function("aten.gelu", 0.002, 0.0003));
  for (const std::int64_t size : {1, 3, 4, 19}) {
    all.push_back(binary("aten.div", {2, size}, {2, size}, {2, size}, 0.0005));
  }
  all.push_back(binary("aten.div", {2, 5, 3, 4}, {5, 1, 1}, {2, 5, 3, 4}, 0.0003));
  all.push_back(binary("aten.div", {1}, {3, 9}, {3, 9}, 0.01));
  all.push_back(softmax(1, {3, 10}, 0.0005));
  all.push_back(softmax(1, {2, 5, 3, 2}, 0.001));
  // Differences that all count, some that are too far below the largest, nearly all that are; a coarse result.
  all.push_back(log_softmax(1, {3, 10}, 2e-5, 1.3e-4));
  all.push_back(log_softmax(1, {2, 5, 3, 2}, 0.001, 0.002));
  all.push_back(log_softmax(1, {2, 7}, 0.5, 0.8));
  all.push_back(log_softmax(0, {7, 2}, 1e-7, 0.05));
  all.push_back({"requantize to finer", [](ir::Graph& g) {
                   ir::Value* x = conformance::int8_input(g, {2, 19}, 0.1, 7);
                   return add_words(g, "cormorant.requantize", {{"self", x}}, {2, 19}, 0.0005);
                 }});
  all.push_back({"requantize to coarser", [](ir::Graph& g) {
                   ir::Value* x = words_input(g, {2, 19}, 0.0005);
                   return conformance::add_quantized(g, "cormorant.requantize", {{"self", x}}, {2, 19}, 0.1, -9);
                 }});
  all.push_back({"requantize words", [](ir::Graph& g) {
                   ir::Value* x = words_input(g, {2, 19}, 0.0005);
                   return add_words(g, "cormorant.requantize", {{"self", x}}, {2, 19}, 0.0007);
                 }});
  return all;
}

TEST(Words, HaveTheSameBitsEverywhere) { conformance::expect_same_bits_everywhere(cases()); }

TEST(Words, AreNearTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1.6); }

double gelu(double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double hardsigmoid(double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }

// Every one of the 65,536 results, whatever the range of the input; and tables stay small, since only where a function
// bends, values are close to each other.
TEST(WordsTable, IsSmallAndWithinAStepOfTheExactFunction) {
  const auto words = [](double scale) {
    return ir::QuantParams{DType::i16, -32768, 32767, std::nullopt, {scale}, {0}};
  };
  struct {
    const char* name;
    double (*function)(double);
    double input, output;  // the largest
    std::size_t most = 4096;
  } table[] = {{"sigmoid", sigmoid, 8, 1},
               {"sigmoid of a wide range", sigmoid, 100, 1},
               {"tanh", [](double x) { return std::tanh(x); }, 4, 1},
               {"tanh of a wide range", [](double x) { return std::tanh(x); }, 60, 1},
               {"gelu", gelu, 6, 6},
               {"gelu of a wide range", gelu, 80, 80},
               {"gelu of which little is positive", gelu, 40, 1.5},
               {"silu", [](double x) { return x * sigmoid(x); }, 10, 10},
               {"hardswish", [](double x) { return x * hardsigmoid(x); }, 7, 7},
               {"hardsigmoid", hardsigmoid, 7, 1},
               {"elu", [](double x) { return x > 0 ? x : std::expm1(x); }, 9, 9},
               {"softplus", [](double x) { return std::log1p(std::exp(x)); }, 20, 20},
               {"square", [](double x) { return x * x; }, 3, 9},
               {"leaky relu, cut off", [](double x) { return x > 0 ? x : 0.01 * x; }, 5, 2.7},
               {"exp", [](double x) { return std::exp(x); }, 2, 7.4},
               {"exp of a wide range, nearly all of it cut off", [](double x) { return std::exp(x); }, 30, 1.0},
               {"sine of ten turns", [](double x) { return std::sin(x); }, 31.4, 1, 32768}};
  for (const auto& t : table) {
    const double in = t.input / 32768, out = t.output / 32767;
    const auto entries = ops::make_words_table(t.function, words(in), words(out));
    ASSERT_TRUE(entries.has_value()) << t.name;
    double worst = 0;
    for (std::int32_t x = -32768; x < 32768; ++x) {
      const double exact = std::clamp(t.function(x * in) / out, -32768.0, 32767.0);
      const double got = ops::rounded_word(ops::interpolated(ops::words_table(entries->data()), x));
      worst = std::max(worst, std::abs(got - exact));
    }
    EXPECT_LE(worst, 1.0) << t.name;
    EXPECT_LE(4 * entries->size(), t.most) << t.name;
  }
}

// A table in a file may claim anything: what it says where values are must be so.
TEST(WordsTable, IsRefusedIfItsSegmentsLeadElsewhere) {
  const auto words = [](double scale) {
    return ir::QuantParams{DType::i16, -32768, 32767, std::nullopt, {scale}, {0}};
  };
  const std::vector<std::int32_t> sound = *ops::make_words_table(gelu, words(0.001), words(0.001));
  const std::size_t last_segment = std::size_t{1} << sound[0];
  const auto loads = [&](const std::vector<std::int32_t>& table) {
    ir::Graph graph;
    const ir::TensorType type = ir::quantized_type({4}, words(0.001));
    graph.add_output(
        graph
            .add_node("f", "cormorant.activation.words",
                      {{"input", graph.add_input("x", type)},
                       {"table", graph.add_constant(
                                     "t", {DType::i32, {static_cast<std::int64_t>(table.size())}, {}, std::nullopt},
                                     ir::Bytes::of(std::span<const std::int32_t>(table)))}},
                      {type})
            ->result());
    return conformance::loads(graph);
  };
  EXPECT_TRUE(loads(sound));
  const auto refused = [&](std::size_t at, std::int32_t value) {
    std::vector<std::int32_t> table = sound;
    table.at(at) = value;
    return !loads(table);
  };
  EXPECT_TRUE(refused(0, 4));
  EXPECT_TRUE(refused(0, 9));
  EXPECT_TRUE(refused(1, -16));
  EXPECT_TRUE(refused(1, 15));                                   // parts larger than the segment
  EXPECT_TRUE(refused(last_segment, sound[last_segment] + 16));  // one value too few after it
  EXPECT_TRUE(refused(last_segment, std::numeric_limits<std::int32_t>::max()));
  EXPECT_TRUE(refused(last_segment + 1, 1 << 23));
  EXPECT_TRUE(!loads({5}) && !loads({}));
  std::vector<std::int32_t> steep = {5};  // one part per segment, from end to end of the range: 2^23 · 2^11
  for (std::int32_t i = 0; i < 32; ++i) steep.push_back(i * 16 + 11);
  for (std::int32_t i = 0; i < 33; ++i) steep.push_back(i % 2 == 0 ? -(1 << 22) : 1 << 22);
  EXPECT_FALSE(loads(steep));
}

// ---- the end of a classifier ----------------------------------------------------------------------------------------

constexpr std::int64_t kSteps = 28, kFeatures = 28, kUnits = 24, kClasses = 10;

double share_of(std::mt19937& random) { return static_cast<double>(random() >> 8) / (1 << 24); }

// A recurrent layer, a linear one and log_softmax, initialized as PyTorch does it and not trained: results differ
// little from sample to sample.
ir::Graph untrained(const std::string& kind) {
  ir::Graph g;
  std::mt19937 random(3);
  const double bound = 1 / std::sqrt(static_cast<double>(kUnits));
  const auto weight = [&](const char* name, const ir::Shape& shape) {
    const ir::TensorType type = ir::float_type(shape);
    std::vector<float> values;
    for (std::int64_t k = 0; k < type.elements(); ++k) {
      values.push_back(static_cast<float>(bound * (2 * share_of(random) - 1)));
    }
    return g.add_constant(name, type, ir::Bytes::of(std::span<const float>(values)));
  };
  const std::int64_t rows = (kind == "lstm" ? 4 : 3) * kUnits;
  const auto add = [&](const char* name, const char* op, std::vector<ir::NamedArgument> args,
                       std::vector<ir::Shape> shapes) {
    std::vector<ir::TensorType> types;
    for (ir::Shape& shape : shapes) types.push_back(ir::float_type(std::move(shape)));
    return g.add_node(name, op, std::move(args), std::move(types))->results[0];
  };
  ir::Value* value = g.add_input("x", ir::float_type({kSteps, 1, kFeatures}));
  value = add("layer", "aten.recurrent",
              {{"input", value},
               {"h", ir::None{}},
               {"c", ir::None{}},
               {"w_ih", weight("w_ih", {rows, kFeatures})},
               {"w_hh", weight("w_hh", {rows, kUnits})},
               {"b_ih", weight("b_ih", {rows})},
               {"b_hh", weight("b_hh", {rows})},
               {"kind", kind},
               {"backwards", false}},
              {{kSteps, 1, kUnits}, {1, kUnits}});
  value = add(
      "last", "aten.slice",
      {{"self", value}, {"dim", std::int64_t{0}}, {"start", kSteps - 1}, {"end", kSteps}, {"step", std::int64_t{1}}},
      {{1, 1, kUnits}});
  value = add("flat", "aten.view", {{"self", value}, {"size", Ints{1, kUnits}}}, {{1, kUnits}});
  value = add("head", "aten.linear",
              {{"input", value}, {"weight", weight("w", {kClasses, kUnits})}, {"bias", weight("b", {kClasses})}},
              {{1, kClasses}});
  g.add_output(add("scores", "aten.log_softmax", {{"self", value}, {"dim", std::int64_t{1}}}, {{1, kClasses}}));
  return g;
}

quantizer::Samples uniform(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<quantizer::Sample> samples(count);
  for (quantizer::Sample& sample : samples) {
    std::vector<float> values(kSteps * kFeatures);
    for (float& value : values) value = static_cast<float>(share_of(random));
    sample.emplace_back(ir::Shape{kSteps, 1, kFeatures}, std::move(values));
  }
  return quantizer::samples_of(std::move(samples));
}

// 16-bit activations inside the recurrent layer, too, are worth what its own 8 bits cost.
TEST(Classifier, HasTheSignalOfItsLogSoftmax) {
  struct {
    const char* kind;
    ops::Precision scheme;
    double db;  // of what varies with the input
  } table[] = {{"lstm", ops::Precision::w8a8, 25},
               {"gru", ops::Precision::w8a8, 30},
               {"lstm", ops::Precision::w8a16, 40},
               {"gru", ops::Precision::w8a16, 40}};
  for (const auto& t : table) {
    SCOPED_TRACE(std::string(t.kind) + " " + std::string(ops::name_of(t.scheme)));
    const ir::Graph real = untrained(t.kind);
    compiler::Options options;
    options.config.target = parse_target("cortex-m4");
    options.quantize = true;
    options.calibration = uniform(32, 1);
    options.scheme = t.scheme;
    ir::Graph graph = quantizer::copy_of(real);
    compiler::Compiled compiled = compiler::compile(graph, options);
    EXPECT_TRUE(compiled.facts.float_operators.empty());
    const ProgramFile program = program_from(std::move(compiled.program), "test.pte");
    const quantizer::Samples others = uniform(32, 2);
    std::vector<Arrays> inputs;
    for (std::size_t k = 0; k < others.count; ++k) {
      npy::Array array{DType::f32, {kSteps, 1, kFeatures}, {}};
      const evaluate::Tensor x = others.load(k).at(0);
      array.data.resize(x.values().size_bytes());
      std::memcpy(array.data.data(), x.values().data(), array.data.size());
      inputs.push_back({std::move(array)});
    }
    const std::vector<Arrays> got = execute(program, inputs, {}).outputs;
    const evaluate::Evaluator evaluator(real);
    evaluate::Sqnr sqnr;
    double energy = 0, noise = 0;
    for (std::size_t k = 0; k < others.count; ++k) {
      const evaluate::Tensor wanted = evaluator.run(others.load(k)).at(0);
      std::vector<float> y(wanted.values().size());
      ASSERT_EQ(got[k].at(0).data.size(), y.size() * sizeof(float));
      std::memcpy(y.data(), got[k].at(0).data.data(), got[k].at(0).data.size());
      sqnr.add(wanted.values(), y);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double value = static_cast<double>(wanted.values()[i]), error = static_cast<double>(y[i]) - value;
        energy += value * value;
        noise += error * error;
      }
    }
    EXPECT_GE(sqnr.db(), t.db);
    EXPECT_GE(10 * std::log10(energy / noise), 48);  // with what does not vary
  }
}

// What an int8 program returns has 8 bits, and so has what another runtime computes.
TEST(Classifier, HasWordsAtItsEndWhereItReturnsFloats) {
  const auto operators = [](compiler::Io io) {
    ir::Graph graph = untrained("gru");
    compiler::Options options;
    options.config.target = parse_target("cortex-m55");
    options.quantize = true;
    options.calibration = uniform(4, 1);
    options.io = io;
    return compiler::compile(graph, options).facts.operators;
  };
  const std::map<std::string, int> floats = operators(compiler::Io::as_model), bytes = operators(compiler::Io::int8);
  EXPECT_TRUE(floats.contains("cormorant::log_softmax.words"));
  EXPECT_FALSE(floats.contains("cormorant::requantize.words")) << "the GRU's last h has 16 bits already";
  EXPECT_TRUE(bytes.contains("cormorant::log_softmax.mve"));
}

}  // namespace
}  // namespace cormorant
