// SPDX-License-Identifier: Apache-2.0
//
// Whatever becomes of a batch norm, the graph computes the same; and which operators are left.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "evaluate/graph.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

using Counts = std::map<std::string, int>;

std::vector<evaluate::Tensor> run(const ir::Graph& graph) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<evaluate::Tensor> inputs;
  for (const ir::Value* input : graph.inputs()) {
    std::vector<float> data(static_cast<std::size_t>(input->type.elements()));
    for (float& element : data) element = normal(random);
    inputs.emplace_back(input->type.shape, std::move(data));
  }
  return evaluate::evaluate_graph(graph, inputs);
}

// Two channels unless said otherwise: factors 2 and −0.5, terms 2 · 1 + 0.5 and −0.5 · −3 − 1.
constexpr const char* kStatistics = R"(const %gamma : f32[2] = [4.0, -1.0]
const %beta : f32[2] = [0.5, -1.0]
const %mean : f32[2] = [-1.0, 3.0]
const %var : f32[2] = [3.0, 3.0]
)";

Counts operators_after(const std::string& inputs, const std::string& nodes) {
  ir::Graph graph = ir::parse("graph g\n" + inputs + kStatistics + nodes, "test");
  const auto before = run(graph);
  fold_batch_norm(graph);
  ir::verify(graph, "fold_batch_norm");
  const auto after = run(graph);
  EXPECT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].shape, after[i].shape);
    for (std::size_t k = 0; k < before[i].values().size(); ++k) {
      EXPECT_NEAR(before[i].values()[k], after[i].values()[k], 1e-4);
    }
  }
  Counts counts;
  for (const ir::Node& node : graph.nodes()) ++counts[node.op];
  return counts;
}

std::string norm(const std::string& result, const std::string& input) {
  return "node \"bn\" \"\" \"\"\n  " + result + " = aten.batch_norm(input=" + input +
         ", weight=%gamma, bias=%beta, running_mean=%mean, running_var=%var, eps=1.0)\n";
}

constexpr const char* kConv = "stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)\n";

TEST(FoldBatchNorm, IntoALinearLayer) {
  EXPECT_EQ(operators_after("input %x : f32[3,3]\nconst %w : f32[2,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n",
                            "node \"l\" \"\" \"\"\n  %l : f32[3,2] = aten.linear(input=%x, weight=%w, bias=none)\n" +
                                norm("%y : f32[3,2]", "%l") + "output %y\n"),
            (Counts{{"aten.linear", 1}}));
}

// A linear layer has its channels last, which a batch norm of three dimensions does not look at.
TEST(FoldBatchNorm, NotIntoALinearLayerWhoseChannelsLieElsewhere) {
  const std::string inputs = "input %x : f32[3,2,3]\nconst %w : f32[2,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n";
  const std::string linear = "node \"l\" \"\" \"\"\n  %l : f32[3,2,2] = aten.linear(input=%x, weight=%w, bias=none)\n";
  EXPECT_EQ(operators_after(inputs, linear + norm("%y : f32[3,2,2]", "%l") + "output %y\n"),
            (Counts{{"aten.linear", 1}, {"aten.view", 2}, {"aten.conv2d", 1}}));
  EXPECT_EQ(operators_after(inputs, linear +
                                        "node \"p\" \"\" \"\"\n  %p : f32[3,2,2] = aten.permute(self=%l, dims=[0, 2, "
                                        "1])\n" +
                                        norm("%y : f32[3,2,2]", "%p") + "output %y\n"),
            (Counts{{"aten.linear", 1}, {"aten.permute", 1}}));
  EXPECT_EQ(
      operators_after(inputs, linear + "node \"v\" \"\" \"\"\n  %v : f32[6,2] = aten.view(self=%l, size=[6, 2])\n" +
                                  norm("%y : f32[6,2]", "%v") + "output %y\n"),
      (Counts{{"aten.linear", 1}, {"aten.view", 1}}));
}

// Conv1d and BatchNorm1d.
TEST(FoldBatchNorm, ThroughTheViewOfAOneDimensionalConvolution) {
  EXPECT_EQ(
      operators_after("input %x : f32[2,1,1,4]\nconst %w : f32[2,1,1,2] = [1.0, 2.0, 3.0, 4.0]\n",
                      std::string("node \"c\" \"\" \"\"\n  %c : f32[2,2,1,3] = aten.conv2d(input=%x, weight=%w, "
                                  "bias=none, ") +
                          kConv + "node \"v\" \"\" \"\"\n  %v : f32[2,2,3] = aten.view(self=%c, size=[2, 2, 3])\n" +
                          norm("%y : f32[2,2,3]", "%v") + "output %y\n"),
      (Counts{{"aten.conv2d", 1}, {"aten.view", 1}}));
}

TEST(FoldBatchNorm, AloneItIsADepthwiseConvolution) {
  EXPECT_EQ(operators_after("input %x : f32[1,2,3,4]\n", norm("%y : f32[1,2,3,4]", "%x") + "output %y\n"),
            (Counts{{"aten.conv2d", 1}}));
  EXPECT_EQ(operators_after("input %x : f32[3,2,4]\n", norm("%y : f32[3,2,4]", "%x") + "output %y\n"),
            (Counts{{"aten.conv2d", 1}, {"aten.view", 2}}));
  EXPECT_EQ(operators_after("input %x : f32[3,2]\n", norm("%y : f32[3,2]", "%x") + "output %y\n"),
            (Counts{{"aten.conv2d", 1}, {"aten.view", 2}}));
  // Two in a row are one.
  EXPECT_EQ(operators_after("input %x : f32[1,2,3,4]\n",
                            norm("%z : f32[1,2,3,4]", "%x") + norm("%y : f32[1,2,3,4]", "%z") + "output %y\n"),
            (Counts{{"aten.conv2d", 1}}));
  EXPECT_EQ(operators_after("input %x : f32[1,2,1,3,4]\n", norm("%y : f32[1,2,1,3,4]", "%x") + "output %y\n"),
            (Counts{{"aten.conv2d", 1}, {"aten.view", 2}}));
}

TEST(FoldBatchNorm, AConvolutionThatSomebodyElseReadsStaysAsItIs) {
  EXPECT_EQ(
      operators_after(
          "input %x : f32[1,1,2,2]\nconst %w : f32[2,1,1,1] = [1.0, 2.0]\n",
          std::string("node \"c\" \"\" \"\"\n  %c : f32[1,2,2,2] = aten.conv2d(input=%x, weight=%w, bias=none, ") +
              kConv + norm("%y : f32[1,2,2,2]", "%c") + "output %c\noutput %y\n"),
      (Counts{{"aten.conv2d", 2}}));
}

// Without an operator of this name in the table the numbers are checked by hand: [in, out / groups, 1, 1], two groups.
TEST(FoldBatchNorm, IntoATransposedConvolution) {
  ir::Graph graph = ir::parse(std::string("graph g\ninput %x : f32[1,4,1,1]\n") +
                                  "const %w : f32[4,1,1,1] = [1.0, 2.0, 3.0, 4.0]\n" + kStatistics +
                                  "node \"t\" \"\" \"\"\n  %t : f32[1,2,1,1] = aten.conv_transpose2d(input=%x, "
                                  "weight=%w, bias=none, stride=[1, 1], padding=[0, 0], output_padding=[0, 0], "
                                  "groups=2, dilation=[1, 1])\n" +
                                  norm("%y : f32[1,2,1,1]", "%t") + "output %y\n",
                              "test");
  fold_batch_norm(graph);
  ASSERT_EQ(graph.nodes().size(), 1U);
  const ir::Node& node = graph.nodes().front();
  const auto weight = node.tensor("weight")->data.as<float>();
  const auto bias = node.tensor("bias")->data.as<float>();
  EXPECT_EQ(std::vector<float>(weight.begin(), weight.end()), std::vector<float>({2, 4, -1.5, -2}));
  EXPECT_EQ(std::vector<float>(bias.begin(), bias.end()), std::vector<float>({2.5, 0.5}));
}

}  // namespace
}  // namespace cormorant::passes
