// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and linear layers with weights of 4 bits.
#include "ops/conv2d/nibbles.h"

#include <gtest/gtest.h>

#include <random>

#include "base/checked_size.h"
#include "target/parse.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops::conv2d {
namespace {

using conformance::Case;

ir::Value* int4_weights(ir::Graph& graph, ir::Shape shape, std::mt19937& random, int lowest) {
  const auto channels = static_cast<std::size_t>(shape[0]);
  ir::QuantParams quant{DType::i8, lowest, 7, 0, std::vector<double>(channels, 0.02), {}};
  quant.zero_points.assign(channels, 0);
  ir::TensorType type = ir::quantized_type(std::move(shape), std::move(quant));
  std::vector<std::int8_t> data(static_cast<std::size_t>(type.elements()));
  std::uniform_int_distribution<int> any(lowest, 7);
  for (auto& element : data) element = static_cast<std::int8_t>(any(random));
  return graph.add_constant("w", std::move(type), ir::Bytes::of(std::span<const std::int8_t>(data)));
}

Case convolution(const std::string& name, std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
                 std::int64_t stride = 1, int lowest = -7) {
  return {name, [=](ir::Graph& g) {
            std::mt19937 random(4);
            ir::Value* x = conformance::int8_input(g, {1, inputs, 6, 7}, 0.03, 5);
            ir::Value* w = int4_weights(g, {outputs, inputs, kernel, kernel}, random, lowest);
            ir::Value* b = conformance::int32_bias(g, x, w, random, 2000);
            const std::int64_t padding = kernel / 2;
            const auto size = [&](std::int64_t n) { return (n + 2 * padding - kernel) / stride + 1; };
            return conformance::add_quantized(g, "aten.conv2d",
                                              {{"input", x},
                                               {"weight", w},
                                               {"bias", b},
                                               {"stride", std::vector<std::int64_t>{stride, stride}},
                                               {"padding", std::vector<std::int64_t>{padding, padding}},
                                               {"dilation", std::vector<std::int64_t>{1, 1}},
                                               {"groups", std::int64_t{1}}},
                                              {1, outputs, size(6), size(7)}, 0.2, -3);
          }};
}

Case linear(const std::string& name, std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
  return {name, [=](ir::Graph& g) {
            std::mt19937 random(6);
            ir::Value* x = conformance::int8_input(g, {rows, inputs}, 0.03, -7);
            ir::Value* w = int4_weights(g, {outputs, inputs}, random, -7);
            ir::Value* b = conformance::int32_bias(g, x, w, random, 2000);
            return conformance::add_quantized(g, "aten.linear", {{"input", x}, {"weight", w}, {"bias", b}},
                                              {rows, outputs}, 0.2, 4);
          }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t inputs : {1, 3, 8, 17}) {
    for (const std::int64_t outputs : {1, 4, 7}) {
      const std::string name = std::to_string(inputs) + " to " + std::to_string(outputs);
      all.push_back(convolution("3x3 " + name, inputs, outputs, 3));
      all.push_back(convolution("1x1 " + name, inputs, outputs, 1));
    }
  }
  all.push_back(convolution("strides", 5, 6, 3, 2));
  all.push_back(convolution("levels from -8 on", 5, 6, 3, 1, -8));
  all.push_back(convolution("several passes", 33, 50, 3));
  all.push_back(linear("linear", 1, 40, 10));
  all.push_back(linear("linear of rows", 5, 19, 6));
  return all;
}

TEST(Nibbles, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(Nibbles, AreNearTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1.0); }

TEST(Nibbles, TakeHalfOfTheFlash) {
  const conv::Geometry g{.in_channels = 64, .out_channels = 64};
  const nibbles::Stream mve(nibbles::kMve, g);
  EXPECT_EQ(mve.bytes.bytes(), 64 * 64 + 64 * 10);
  EXPECT_EQ(mve.total(), 64 * 64 / 2 + 64 * 10);
}

// Small layers have small scratch, large ones no more than 8 KB: both as long as one block fits.
TEST(Nibbles, AreUnpackedIntoNoMoreThanTheImagesTake) {
  const auto bytes = [](std::uint16_t size) {
    const conv::Geometry g{.in_height = size,
                           .in_width = size,
                           .in_channels = 64,
                           .out_height = size,
                           .out_width = size,
                           .out_channels = 200,
                           .inputs_per_group = 64,
                           .outputs_per_group = 200};
    return nibbles::Stream(nibbles::kMve, g).pass_bytes();
  };
  EXPECT_LE(bytes(1), 512U + 16U);
  EXPECT_GT(bytes(1), 256U);
  EXPECT_LE(bytes(4), 4U * 4U * 264U + 16U);
  EXPECT_GT(bytes(4), 4U * 4U * 264U / 2);
  EXPECT_LE(bytes(100), 8192U + 16U);
  EXPECT_GT(bytes(100), 8192U / 2);
}

TEST(Nibbles, AreSignedWhateverTheirNeighbours) {
  for (std::uint32_t value = 0; value < 16; ++value) {
    const auto expected = static_cast<std::uint8_t>(value < 8 ? value : value + 240);
    EXPECT_EQ(nibbles::as_bytes(value | 0x0f080700U) & 255U, expected);
    EXPECT_EQ(nibbles::as_bytes(value << 24 | 0x080f07U) >> 24, expected);
  }
}

}  // namespace
}  // namespace cormorant::ops::conv2d
