// SPDX-License-Identifier: Apache-2.0
#include "quantizer/weights.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cormorant::quantizer {
namespace {

using evaluate::Tensor;

template <class T>
std::vector<T> elements(const IntegerConstant& constant) {
  const auto span = constant.data.as<T>();
  return {span.begin(), span.end()};
}

TEST(WeightScales, TheLargestMagnitudeOfEachChannelIs127) {
  const Tensor weight({2, 3}, {0.5F, -1.27F, 0, 12.7F, 3, -3});
  const WeightScales scales = weight_scales(weight, 0, nullptr, 1);
  ASSERT_EQ(scales.scales.size(), 2U);
  EXPECT_NEAR(scales.scales[0], 0.01, 1e-9);
  EXPECT_NEAR(scales.scales[1], 0.1, 1e-8);
  const IntegerConstant made = integer_weight(weight, scales);
  EXPECT_EQ(elements<std::int8_t>(made), (std::vector<std::int8_t>{50, -127, 0, 127, 30, -30}));
  EXPECT_EQ(made.type.dtype, DType::i8);
  EXPECT_EQ(made.type.quant->axis, 0);
  EXPECT_EQ(made.type.quant->qmin, -127);
}

TEST(WeightScales, FollowAnyAxis) {
  const Tensor weight({2, 2, 1}, {127, 1, -2, 12.7F});
  const IntegerConstant made = integer_weight(weight, weight_scales(weight, 1, nullptr, 1));
  EXPECT_EQ(elements<std::int8_t>(made), (std::vector<std::int8_t>{127, 10, -2, 127}));
}

TEST(WeightScales, WithoutAxisThereIsOne) {
  const Tensor weight({2, 2}, {127, 1, -2, 12.7F});
  const WeightScales scales = weight_scales(weight, std::nullopt, nullptr, 1);
  EXPECT_EQ(scales.scales, (std::vector<double>{1}));
  EXPECT_EQ(elements<std::int8_t>(integer_weight(weight, scales)), (std::vector<std::int8_t>{127, 1, -2, 13}));
}

TEST(WeightScales, ChannelsOfZerosGetAScaleThatCanBeComputedWith) {
  const Tensor weight({3, 1}, {12.7F, 0, 1.27F});
  const Tensor bias({3}, {0, 3, 0});
  const WeightScales scales = weight_scales(weight, 0, &bias, 0.5);
  EXPECT_NEAR(scales.scales[1], 0.1, 1e-8);
  EXPECT_EQ(elements<std::int32_t>(integer_bias(bias, scales, 0.5)), (std::vector<std::int32_t>{0, 60, 0}));
  const Tensor nothing({2, 1}, {0, 0});
  for (const double scale : weight_scales(nothing, 0, nullptr, 1).scales) EXPECT_GT(scale, 1e-6);
}

// 1 / (1e-12 · 0.01 / 127) would be far outside int32.
TEST(WeightScales, AreWidenedUntilTheBiasTakes22Bits) {
  const Tensor weight({2, 1}, {1e-12F, 1});
  const Tensor bias({2}, {-1, 1});
  const WeightScales scales = weight_scales(weight, 0, &bias, 0.01);
  const std::vector<std::int32_t> stored = elements<std::int32_t>(integer_bias(bias, scales, 0.01));
  EXPECT_EQ(stored[0], -(1 << 22));
  EXPECT_NEAR(stored[1], 1 / (0.01 / 127), 1);
  EXPECT_NEAR(stored[0] * scales.scales[0] * 0.01, -1, 1e-6);
}

TEST(WeightScales, ABiasOfAnotherLengthMakesItOneScale) {
  const Tensor weight({4, 2}, std::vector<float>(8, 1));
  const Tensor bias({2}, {1, 2});
  EXPECT_EQ(weight_scales(weight, 0, &bias, 1).axis, std::nullopt);
}

TEST(IntegerBias, IsInUnitsOfInputTimesWeight) {
  const Tensor bias({2}, {1.5F, -0.25F});
  const IntegerConstant made = integer_bias(bias, {.axis = 0, .scales = {0.5, 0.25}}, 0.1);
  EXPECT_EQ(elements<std::int32_t>(made), (std::vector<std::int32_t>{30, -10}));
  EXPECT_EQ(made.type.dtype, DType::i32);
  EXPECT_DOUBLE_EQ(made.type.quant->scales[1], 0.025);
}

TEST(IntegerActivation, RoundsAndSaturates) {
  const Tensor tensor({4}, {-10, 0, 0.26F, 1000});
  const IntegerConstant made = integer_activation(tensor, ir::per_tensor_i8(0.5, -126));
  EXPECT_EQ(elements<std::int8_t>(made), (std::vector<std::int8_t>{-128, -126, -125, 127}));
}

// Integers that became numbers: the same integers again, whatever the largest of them is.
TEST(WeightScales, WholeLevelsKeepTheirStep) {
  const auto levels_of = [](const std::vector<std::int8_t>& levels, std::int32_t largest) {
    std::vector<float> real;
    for (const std::int8_t level : levels) real.push_back(static_cast<float>(level) * 0.0371F);
    const Tensor weight({1, static_cast<std::int64_t>(levels.size())}, real);
    const IntegerConstant made = integer_weight(weight, weight_scales(weight, 0, nullptr, 1, {.largest = largest}));
    return std::pair(elements<std::int8_t>(made), made.type.quant->qmin);
  };
  const std::vector<std::int8_t> bytes = {-128, 5, 99, -7, 3, 64, -1, 2, 0}, nibbles = {-8, 7, 1, -3, 2, 5, -1, 4, 0};
  const std::vector<std::int8_t> small = {-90, 5, 89, -7, 3, 64, -1, 2, 0};
  EXPECT_EQ(levels_of(bytes, 127), std::pair(bytes, -128));
  EXPECT_EQ(levels_of(small, 127), std::pair(small, -127));
  EXPECT_EQ(levels_of(nibbles, 7), std::pair(nibbles, -8));
  // 128 is no int8: the largest of such a channel is 127, and the others are rounded.
  std::vector<float> beyond = {128, 5, 99, -7, 3, 64, -1, 2};
  const Tensor weight({1, 8}, beyond);
  const IntegerConstant made = integer_weight(weight, weight_scales(weight, 0, nullptr, 1));
  EXPECT_EQ(elements<std::int8_t>(made).front(), 127);
  EXPECT_EQ(made.type.quant->qmin, -127);
}

}  // namespace
}  // namespace cormorant::quantizer
