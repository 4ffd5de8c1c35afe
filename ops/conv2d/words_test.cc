// SPDX-License-Identifier: Apache-2.0
//
// Convolutions, depthwise ones and linear layers with activations of 16 bits.
#include "ops/conv2d/words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/conv_gemm_words.h"
#include "ops/host/multiplier.h"
#include "target/parse.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops::conv2d::words {
namespace {

using conformance::Case;

struct Shape {
  std::int64_t inputs, outputs, height, width, kernel, stride = 1, padding = 0, dilation = 1, groups = 1, batch = 1;
};

constexpr double kInputScale = 0.001;

std::vector<double> scales_for(std::int64_t channels) {
  std::vector<double> scales;
  for (std::int64_t c = 0; c < channels; ++c) scales.push_back(0.004 * (1 + static_cast<double>(c % 5)));
  return scales;
}

// Such that sums of random products spread over the output's range.
double output_scale(std::int64_t taps) { return kInputScale * 0.012 * 256 * std::sqrt(static_cast<double>(taps)); }

Case convolution(const std::string& name, const Shape& s, bool relu, std::optional<double> scale = {}) {
  return {name, [=](ir::Graph& g) {
            std::mt19937 random(7);
            ir::Value* x = conformance::words_input(g, {s.batch, s.inputs, s.height, s.width}, kInputScale);
            const std::int64_t per_group = s.inputs / s.groups;
            ir::Value* w = conformance::int8_weights(g, {s.outputs, per_group, s.kernel, s.kernel}, 0, random,
                                                     scales_for(s.outputs));
            ir::Value* b = conformance::int32_bias(g, x, w, random, 3000000);
            const std::int64_t reach = (s.kernel - 1) * s.dilation + 1;
            const auto size = [&](std::int64_t n) { return (n + 2 * s.padding - reach) / s.stride + 1; };
            const auto two = [](std::int64_t n) { return std::vector<std::int64_t>{n, n}; };
            std::vector<ir::NamedArgument> args = {{"input", x},
                                                   {"weight", w},
                                                   {"bias", b},
                                                   {"stride", two(s.stride)},
                                                   {"padding", two(s.padding)},
                                                   {"dilation", two(s.dilation)},
                                                   {"groups", s.groups}};
            if (relu) args.push_back({"activation_min", 0.0});
            return conformance::add_words(g, "aten.conv2d", std::move(args),
                                          {s.batch, s.outputs, size(s.height), size(s.width)},
                                          scale.value_or(output_scale(per_group * s.kernel * s.kernel)));
          }};
}

Case linear(const std::string& name, const ir::Shape& input, std::int64_t outputs) {
  return {name, [=](ir::Graph& g) {
            std::mt19937 random(9);
            ir::Value* x = conformance::words_input(g, input, kInputScale);
            ir::Value* w = conformance::int8_weights(g, {outputs, input.back()}, 0, random, scales_for(outputs));
            ir::Value* b = conformance::int32_bias(g, x, w, random, 100000);
            ir::Shape shape = input;
            shape.back() = outputs;
            return conformance::add_words(g, "aten.linear", {{"input", x}, {"weight", w}, {"bias", b}}, shape,
                                          output_scale(input.back()));
          }};
}

// A linear layer over an image, which is laid out otherwise than PyTorch's rows.
Case flattened() {
  return {"linear after a flatten", [](ir::Graph& g) {
            std::mt19937 random(5);
            ir::Value* x = conformance::words_input(g, {2, 3, 4, 5}, kInputScale);
            ir::Value* clamped = conformance::add_words(g, "aten.clamp", {{"self", x}, {"min", -20.0}, {"max", 20.0}},
                                                        {2, 3, 4, 5}, kInputScale);
            ir::Value* rows = conformance::add_words(
                g, "aten.view", {{"self", clamped}, {"size", std::vector<std::int64_t>{2, 60}}}, {2, 60}, kInputScale);
            ir::Value* w = conformance::int8_weights(g, {7, 60}, 0, random, scales_for(7));
            ir::Value* b = conformance::int32_bias(g, x, w, random, 100000);
            return conformance::add_words(g, "aten.linear", {{"input", rows}, {"weight", w}, {"bias", b}}, {2, 7},
                                          output_scale(60));
          }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t inputs : {1, 3, 8, 17}) {
    for (const std::int64_t outputs : {1, 4, 7}) {
      const std::string name = std::to_string(inputs) + " to " + std::to_string(outputs);
      all.push_back(convolution("3x3 " + name, {inputs, outputs, 5, 6, 3, 1, 1}, inputs == 3));
      all.push_back(convolution("1x1 " + name, {inputs, outputs, 3, 5, 1}, outputs == 4));
    }
  }
  all.push_back(convolution("strides", {8, 6, 9, 7, 3, 2, 1}, false));
  all.push_back(convolution("1x1 strides", {8, 6, 9, 7, 1, 2, 0}, false));
  all.push_back(convolution("dilation", {4, 4, 9, 9, 3, 1, 2, 2}, false));
  all.push_back(convolution("groups", {12, 8, 5, 5, 3, 1, 1, 1, 4}, false));
  all.push_back(convolution("batch", {4, 5, 4, 4, 3, 1, 1, 1, 1, 3}, true));
  all.push_back(convolution("one row", {8, 8, 1, 9, 1}, false));
  for (const std::int64_t channels : {2, 4, 7, 8, 16, 17}) {
    const std::string name = std::to_string(channels) + " channels";
    all.push_back(convolution("depthwise " + name, {channels, channels, 6, 5, 3, 1, 1, 1, channels}, channels == 8));
  }
  all.push_back(convolution("depthwise strides", {9, 9, 8, 9, 3, 2, 1, 1, 9}, false));
  all.push_back(convolution("depthwise 5x5", {4, 4, 8, 9, 5, 1, 2, 1, 4}, false));
  all.push_back(convolution("depthwise multiplier", {3, 6, 5, 5, 3, 1, 1, 1, 3}, false));
  // Sums beyond 32 bits, and a factor that is not below one half.
  all.push_back(convolution("many inputs", {1200, 3, 3, 3, 1}, false));
  all.push_back(convolution("a factor of one half", {3, 4, 4, 4, 1}, false, kInputScale * 0.02));
  all.push_back(linear("linear 30 to 10", {1, 30}, 10));
  all.push_back(linear("linear of rows", {5, 16}, 9));
  all.push_back(linear("linear of three dimensions", {2, 3, 12}, 4));
  all.push_back(flattened());
  return all;
}

TEST(WordsConvolution, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(WordsConvolution, IsNearTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1.5); }

TEST(WordsConvolution, ProvesWhereSumsFit32Bits) {
  const auto names = [](const Case& c) {
    std::string all;
    for (const auto& [op, count] : conformance::lowered_operators(c, parse_target("cortex-m55"))) all += op + " ";
    return all;
  };
  EXPECT_EQ(names(convolution("", {8, 8, 4, 4, 3}, false)), "cormorant.conv2d.mve_words ");
  EXPECT_EQ(names(convolution("", {8, 8, 4, 4, 3, 1, 0, 1, 8}, false)), "cormorant.depthwise_conv2d.mve_words ");
  EXPECT_EQ(names(convolution("", {1200, 3, 3, 3, 1}, false)), "cormorant.conv2d.words ");
  EXPECT_EQ(names(convolution("", {3, 4, 4, 4, 1}, false, kInputScale * 0.02)), "cormorant.conv2d.words ");
}

// TFLite's MultiplyByQuantizedMultiplier for 64-bit sums, as its reference kernels write it, with numbers of 128 bits.
std::int64_t tflite(std::int64_t sum, std::int32_t multiplier, int shift) {
  const std::int32_t reduced = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
  const int total_shift = 15 - shift;
  using Wide = __int128;
  const Wide rounded = Wide{sum} * reduced + (Wide{1} << (total_shift - 1));
  return static_cast<std::int64_t>(rounded >> total_shift);
}

TEST(WordsArithmetic, IsThatOfTFLitesReference) {
  std::mt19937 random(3);
  std::uniform_int_distribution<std::int32_t> multipliers(1 << 30, 0x7fffffff), sums(-0x7fffffff, 0x7fffffff);
  std::uniform_int_distribution<int> shifts(-17, 3);
  for (int i = 0; i < 200000; ++i) {
    const Multiplier m{i % 50 == 0 ? 0x7fffffff - i % 7 : multipliers(random), shifts(random)};
    const std::int32_t sum = i % 100 == 0 ? (i % 200 == 0 ? -0x7fffffff : 0x7fffffff) : sums(random);
    const std::int64_t expected = tflite(sum, m.multiplier, m.shift);
    const Factor factor = factor_of(m);
    ASSERT_EQ(rescaled(sum, factor), expected);
    if (!factor.is_fast()) continue;
    ASSERT_EQ(conv::rounding_high_multiply(sum, factor.high()), expected);
    ASSERT_EQ(conv::rescale_in_pieces(sum, factor.multiplier, factor.shift), expected);
  }
}

// No compiler writes such a bias; a damaged constant may hold it. Sanitizers judge.
TEST(WordsArithmetic, WrapsForSumsThatNoLayerHas) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(wrapping_sum(kLargest, 1), std::numeric_limits<std::int64_t>::min());
  for (const std::int64_t sum : {kLargest, -kLargest - 1}) {
    for (const std::int32_t shift : {1, 31, 62}) rescaled(sum, {0x7FFF, shift});
  }
  static_assert(rescaled(kLargest, {2, 1}) == -1);
}

}  // namespace
}  // namespace cormorant::ops::conv2d::words
