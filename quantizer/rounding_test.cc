// SPDX-License-Identifier: Apache-2.0
#include "quantizer/rounding.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "evaluate/onednn.h"
#include "ir/text.h"

namespace cormorant::quantizer {
namespace {

using evaluate::Tensor;

// Inputs whose neighbours rise and fall together: sums over a few hidden sources.
Tensor correlated(const ir::Shape& shape, std::size_t channels, std::size_t channel_stride, std::uint32_t seed) {
  std::mt19937 generator(seed), mixing(99);
  std::normal_distribution<float> normal(0, 1);
  constexpr std::size_t kSources = 3;
  std::vector<float> mix(channels * kSources);
  for (float& m : mix) m = normal(mixing);
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  std::vector<float> values(count);
  const std::size_t places = count / channels;
  for (std::size_t p = 0; p < places; ++p) {
    float sources[kSources];
    for (float& s : sources) s = normal(generator);
    for (std::size_t c = 0; c < channels; ++c) {
      float sum = 0.05F * normal(generator);
      for (std::size_t k = 0; k < kSources; ++k) sum += mix[c * kSources + k] * sources[k];
      values[channel_stride == 1 ? p * channels + c : c * places + p] = sum;
    }
  }
  return {shape, std::move(values)};
}

struct Layer {
  ir::Graph graph;
  Tensor real;

  [[nodiscard]] const ir::Node& node() const { return graph.nodes().front(); }
};

// Weights drawn evenly from ±127 steps of 0.01 and rounded to the nearest.
Layer layer(const std::string& weight_shape, std::size_t outputs, std::size_t taps, const ir::Shape& shape,
            const std::string& input, const std::string& node) {
  std::mt19937 generator(5);
  std::uniform_real_distribution<float> uniform(-1.27F, 1.27F);
  std::vector<float> real(outputs * taps);
  std::string integers;
  for (float& w : real) {
    w = uniform(generator);
    integers += (integers.empty() ? "" : ", ") + std::to_string(std::lround(w / 0.01F));
  }
  return {ir::parse("graph g\ninput %x : i8" + input + " quant([0.1], [0])\nconst %w : i8" + weight_shape +
                        " quant(range -127 127, [0.01], [0]) = [" + integers + "]\nnode \"y\" \"\" \"\"\n  " + node +
                        "output %y\n",
                    "test"),
          Tensor(shape, std::move(real))};
}

Tensor real_of(std::span<const std::int8_t> weights, const ir::Shape& shape) {
  std::vector<float> values;
  for (const std::int8_t w : weights) values.push_back(0.01F * static_cast<float>(w));
  return {shape, std::move(values)};
}

double squared_error(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.values().size(); ++k) sum += std::pow(a.values()[k] - b.values()[k], 2);
  return sum;
}

TEST(RefineWeights, SumsOfALinearLayerComeCloserOnOtherInputsToo) {
  const Layer l = layer("[8,32]", 8, 32, {8, 32}, "[64,32]",
                        "%y : i8[64,8] quant([0.1], [0]) = aten.linear(input=%x, weight=%w, bias=none)\n");
  std::vector<Tensor> inputs;
  for (std::uint32_t k = 0; k < 8; ++k) inputs.push_back(correlated({64, 32}, 32, 1, k));
  const RoundedWeights refined = refine_weights(l.node(), "weight", l.real, inputs, false, 1);
  EXPECT_GT(refined.changed, 0U);

  const std::span<const std::int8_t> nearest = l.node().tensor("weight")->data.as<std::int8_t>();
  std::size_t different = 0;
  for (std::size_t k = 0; k < nearest.size(); ++k) {
    different += nearest[k] != refined.weights[k] ? 1 : 0;
    EXPECT_LT(std::abs(refined.weights[k] - l.real.values()[k] / 0.01F), 1.01F);  // one of the two neighbours
  }
  EXPECT_EQ(different, refined.changed);

  const Tensor fresh = correlated({64, 32}, 32, 1, 1000);
  const Tensor wanted = evaluate::linear(fresh, l.real, nullptr);
  const double before = squared_error(wanted, evaluate::linear(fresh, real_of(nearest, {8, 32}), nullptr));
  const double after = squared_error(wanted, evaluate::linear(fresh, real_of(refined.weights, {8, 32}), nullptr));
  EXPECT_LT(after, before / 4);
}

// Both weights are 127.4 steps and always read the same: one of them at 128 would be nearest, but there is none.
TEST(RefineWeights, StaysWithinTheWeightsRange) {
  const ir::Graph graph = ir::parse(R"(graph g
input %x : i8[64,2] quant([0.1], [0])
const %w : i8[1,2] quant(range -127 127, [0.01], [0]) = [127, 127]
node "y" "" ""
  %y : i8[64,1] quant([0.1], [0]) = aten.linear(input=%x, weight=%w, bias=none)
output %y
)",
                                    "test");
  std::vector<float> values;
  for (int k = 0; k < 64; ++k) values.insert(values.end(), 2, static_cast<float>(k % 7) - 3);
  const Tensor real({1, 2}, {1.274F, 1.274F});
  const std::vector<Tensor> inputs = {Tensor({64, 2}, values)};
  const RoundedWeights refined = refine_weights(graph.nodes().front(), "weight", real, inputs, false, 1);
  EXPECT_EQ(refined.weights, (std::vector<std::int8_t>{127, 127}));
  const Tensor less({1, 2}, {1.264F, 1.264F});  // 126.4: one goes up
  ir::Graph lower = ir::parse(ir::print(graph), "test");
  lower.snapshot().front()->tensor("weight")->data =
      ir::Bytes::of(std::span<const std::int8_t>(std::array<std::int8_t, 2>{126, 126}));
  EXPECT_EQ(refine_weights(lower.nodes().front(), "weight", less, inputs, false, 1).changed, 1U);
}

// Every window of a small image reaches beyond it: sanitizers see what is read there.
TEST(RefineWeights, ReadsNothingBesideTheImage) {
  const Layer l =
      layer("[1,1,3,3]", 1, 9, {1, 1, 3, 3}, "[1,1,2,2]",
            "%y : i8[1,1,2,2] quant([0.1], [0]) = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], "
            "padding=[1, 1], dilation=[1, 1], groups=1)\n");
  const std::vector<Tensor> inputs = {Tensor({1, 1, 2, 2}, {1, 2, 3, 4})};
  const RoundedWeights refined = refine_weights(l.node(), "weight", l.real, inputs, false, 1);
  EXPECT_EQ(refined.weights.size(), 9U);
}

// Two groups, padding and stride. Pixels are independent, but every channel is the one before it moved to the right by
// one: up to three taps of neighbouring channels read the same pixel, and their errors can cancel to a half of what
// they are (twelve taps of a row are six sums). Nothing would be gained if a tap were thought to read another pixel.
TEST(RefineWeights, SumsOfAGroupedConvolutionComeCloser) {
  const Layer l =
      layer("[4,4,3,3]", 4, 36, {4, 4, 3, 3}, "[1,8,16,17]",
            "%y : i8[1,4,8,9] quant([0.1], [0]) = aten.conv2d(input=%x, weight=%w, bias=none, stride=[2, 2], "
            "padding=[1, 1], dilation=[1, 1], groups=2)\n");
  constexpr std::size_t kWidth = 17, kPlane = 16 * kWidth;
  const auto image = [&](std::uint32_t seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> values(8 * kPlane);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const bool is_copy = k / kPlane % 4 != 0 && k % kWidth != 0;
      values[k] = is_copy ? values[k - kPlane - 1] : normal(generator);
    }
    return Tensor({1, 8, 16, 17}, std::move(values));
  };
  std::vector<Tensor> inputs;
  for (std::uint32_t k = 0; k < 16; ++k) inputs.push_back(image(k));
  const evaluate::ConvolutionGeometry geometry{{2, 2}, {1, 1}, {1, 1}, 2};
  const RoundedWeights refined = refine_weights(l.node(), "weight", l.real, inputs, false, 1);
  const std::span<const std::int8_t> nearest = l.node().tensor("weight")->data.as<std::int8_t>();
  double before = 0, after = 0;
  for (std::uint32_t k = 1000; k < 1008; ++k) {
    const Tensor fresh = image(k);
    const Tensor wanted = evaluate::convolution(fresh, l.real, nullptr, geometry);
    const auto error = [&](std::span<const std::int8_t> weights) {
      return squared_error(wanted, evaluate::convolution(fresh, real_of(weights, l.real.shape), nullptr, geometry));
    };
    before += error(nearest);
    after += error(refined.weights);
  }
  EXPECT_LT(after, 0.7 * before);
}

TEST(RefineWeights, IsTheSameForAnyNumberOfThreads) {
  const Layer l = layer("[80,160]", 80, 160, {80, 160}, "[32,160]",
                        "%y : i8[32,80] quant([0.1], [0]) = aten.linear(input=%x, weight=%w, bias=none)\n");
  const std::vector<Tensor> inputs = {correlated({32, 160}, 160, 1, 1), correlated({32, 160}, 160, 1, 2)};
  const RoundedWeights one = refine_weights(l.node(), "weight", l.real, inputs, true, 1);
  EXPECT_EQ(one.weights, refine_weights(l.node(), "weight", l.real, inputs, true, 2).weights);
  EXPECT_EQ(one.weights, refine_weights(l.node(), "weight", l.real, inputs, true, 5).weights);
}

// Inputs that never vary say nothing about how to round.
TEST(RefineWeights, LeavesWeightsOfConstantInputsAlone) {
  const Layer l = layer("[2,4]", 2, 4, {2, 4}, "[8,4]",
                        "%y : i8[8,2] quant([0.1], [0]) = aten.linear(input=%x, weight=%w, bias=none)\n");
  const Tensor zeros({8, 4}, std::vector<float>(32, 0.0F));
  EXPECT_EQ(refine_weights(l.node(), "weight", l.real, {zeros, zeros}, true, 1).changed, 0U);
}

}  // namespace
}  // namespace cormorant::quantizer
