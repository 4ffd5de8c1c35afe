// SPDX-License-Identifier: Apache-2.0
//
// Operators with activations of 16 bits that have one source for every CPU (kernel_words.cc), and addition, which has a
// second one for MVE: the same bits everywhere, and near the float semantics. Those with weights are tested in their
// folders.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/activation/table.h"
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
            return add_words(g, op, {{"self", x}}, {3, 67}, output_scale);
          }};
}

Case softmax(std::int64_t dim, const ir::Shape& shape, double scale) {
  return {"softmax along " + std::to_string(dim), [=](ir::Graph& g) {
            ir::Value* x = words_input(g, shape, scale);
            return add_words(g, "aten.softmax", {{"self", x}, {"dim", dim}}, shape, 1.0 / 32768);
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
  all.push_back(softmax(1, {3, 10}, 0.0005));
  all.push_back(softmax(1, {2, 5, 3, 2}, 0.001));
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

// Every one of the 65,536 results, whatever the range of the input: wide ones take larger tables.
TEST(WordsTable, IsWithinAStepOfTheExactFunction) {
  const auto words = [](double scale) {
    return ir::QuantParams{DType::i16, -32768, 32767, std::nullopt, {scale}, {0}};
  };
  struct {
    const char* name;
    double (*function)(double);
    double input, output;
  } table[] = {
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, 8.0 / 32768, 1.0 / 32768},
      {"sigmoid of a wide range", [](double x) { return 1 / (1 + std::exp(-x)); }, 100.0 / 32768, 1.0 / 32768},
      {"tanh", [](double x) { return std::tanh(x); }, 4.0 / 32768, 1.0 / 32768},
      {"gelu", [](double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }, 6.0 / 32768, 6.0 / 32767},
      {"exp", [](double x) { return std::exp(x); }, 2.0 / 32768, 7.4 / 32767}};
  for (const auto& t : table) {
    const auto entries = ops::make_words_table(t.function, words(t.input), words(t.output));
    ASSERT_TRUE(entries.has_value()) << t.name;
    int bits = 0;
    while ((std::size_t{1} << bits) + 1 < entries->size()) ++bits;
    double worst = 0;
    for (std::int32_t x = -32768; x < 32768; ++x) {
      const double exact = std::min(t.function(x * t.input) / t.output, 32767.0);
      const double got = ops::rounded_word(ops::interpolated(entries->data(), bits, x));
      worst = std::max(worst, std::abs(got - exact));
    }
    EXPECT_LE(worst, 1.0) << t.name;
    EXPECT_LE(bits, 13) << t.name;
  }
}

}  // namespace
}  // namespace cormorant
