// SPDX-License-Identifier: Apache-2.0
#include "evaluate/tensor.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "ir/text.h"

namespace cormorant::evaluate {
namespace {

std::vector<float> constant(const std::string& declaration) {
  const ir::Graph graph = ir::parse("graph g\nconst %c : " + declaration + "\noutput %c\n", "test");
  const Tensor tensor = constant_tensor(*graph.outputs()[0]);
  return {tensor.values().begin(), tensor.values().end()};
}

TEST(ConstantTensor, IsTheRealNumberThatTheElementsStandFor) {
  const std::pair<const char*, std::vector<float>> cases[] = {
      {"f32[3] = [0.5, -2.0, 7.25]", {0.5F, -2, 7.25F}},
      {"i64[2] = [-3, 4000000000]", {-3, 4e9F}},
      {"i16[2] = [-300, 300]", {-300, 300}},
      {"u8[2] = [0, 255]", {0, 255}},
      {"i8[3] quant([0.5], [-2]) = [-128, -2, 127]", {-63, 0, 64.5F}},
      {"i8[2,2] quant(axis 0, [1.0, 10.0], [0, 0]) = [1, 2, 3, 4]", {1, 2, 30, 40}},
      {"i8[2,2] quant(axis 1, [1.0, 10.0], [0, 0]) = [1, 2, 3, 4]", {1, 20, 3, 40}},
      {"i32[2] quant(axis 0, [0.25, 0.5], [0, 0]) = [100, -100]", {25, -50}},
      // Memory holds [h][w][c]; logical order is [c][h][w].
      {"f32[1,2,1,3] order(0,2,3,1) = [1, 10, 2, 20, 3, 30]", {1, 2, 3, 10, 20, 30}},
      {"i8[1,2,1,2] order(0,2,3,1) quant(axis 1, [1.0, 0.5], [0, 0]) = [1, 10, 2, 20]", {1, 2, 5, 10}},
      {"f32[] = [3.5]", {3.5F}},
      {"f32[0] = []", {}},
  };
  for (const auto& [declaration, expected] : cases) EXPECT_EQ(constant(declaration), expected) << declaration;
}

TEST(ConstantTensor, ReadsHalfAndBrainFloats) {
  ir::Graph graph;
  const std::vector<std::uint16_t> half = {0x3C00, 0xC100, 0x0001, 0x7BFF, 0x8000};
  const ir::Value* h = graph.add_constant("h", {DType::f16, {5}, {}, {}}, ir::Bytes::of(std::span(half)));
  EXPECT_EQ(*constant_tensor(*h).data, (std::vector<float>{1, -2.5F, 5.9604644775390625e-08F, 65504, -0.0F}));
  const std::vector<std::uint16_t> brain = {0x3F80, 0xC020};
  const ir::Value* b = graph.add_constant("b", {DType::bf16, {2}, {}, {}}, ir::Bytes::of(std::span(brain)));
  EXPECT_EQ(*constant_tensor(*b).data, (std::vector<float>{1, -2.5F}));
}

TEST(WithActivation, ClampsToTheBoundsThatTheNodeHas) {
  using Bounds = std::vector<ir::NamedArgument>;
  const Tensor input({4}, {-5, -1, 1, 5});
  const std::pair<Bounds, std::vector<float>> cases[] = {
      {{}, {-5, -1, 1, 5}},
      {{{"activation_min", 0.0}}, {0, 0, 1, 5}},
      {{{"activation_max", std::int64_t{2}}}, {-5, -1, 1, 2}},
      {{{"activation_min", -2.0}, {"activation_max", 0.5}}, {-2, -1, 0.5F, 0.5F}},
      {{{"activation_min", ir::None{}}, {"activation_max", 0.5}}, {-5, -1, 0.5F, 0.5F}},
  };
  for (const auto& [bounds, expected] : cases) {
    ir::Node node;
    node.args = bounds;
    EXPECT_EQ(*with_activation(node, input).data, expected);
  }
}

TEST(Frame, KnowsConstantsAndWhatWasSetButNothingElse) {
  const ir::Graph graph = ir::parse("graph g\ninput %x : f32[1]\nconst %c : f32[1] = [5.0]\noutput %c\n", "test");
  const ir::Value* x = graph.inputs()[0];
  Frame frame;
  EXPECT_EQ(frame.get(graph.outputs()[0]).values()[0], 5);
  EXPECT_THROW((void)frame.get(x), std::logic_error);
  frame.set(x, Tensor({1}, {7}));
  EXPECT_EQ(frame.get(x).values()[0], 7);
  frame.drop(x);
  EXPECT_THROW((void)frame.get(x), std::logic_error);
}

TEST(Frame, FramesShareTheConstantsOfOneGraph) {
  const ir::Graph graph = ir::parse("graph g\nconst %c : f32[1] = [5.0]\noutput %c\n", "test");
  const auto constants = std::make_shared<Constants>();
  EXPECT_EQ(Frame(constants).get(graph.outputs()[0]).data, Frame(constants).get(graph.outputs()[0]).data);
}

}  // namespace
}  // namespace cormorant::evaluate
