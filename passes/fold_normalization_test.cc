// SPDX-License-Identifier: Apache-2.0
//
// A normalization in front of the first layer: the graph computes the same without it, at padded borders too.
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

evaluate::Tensor run(const ir::Graph& graph) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> pixel(0, 255);
  std::vector<evaluate::Tensor> inputs;
  for (const ir::Value* input : graph.inputs()) {
    std::vector<float> data(static_cast<std::size_t>(input->type.elements()));
    for (float& element : data) element = pixel(random);
    inputs.emplace_back(input->type.shape, std::move(data));
  }
  return evaluate::evaluate_graph(graph, inputs).front();
}

struct Folded {
  Counts operators;
  std::size_t notes;
};

Folded folded(const std::string& text) {
  ir::Graph graph = ir::parse("graph g\n" + text, "test");
  const evaluate::Tensor before = run(graph);
  const std::size_t notes = fold_normalization(graph).size();
  ir::verify(graph, "fold_normalization");
  const evaluate::Tensor after = run(graph);
  EXPECT_EQ(before.shape, after.shape);
  for (std::size_t i = 0; i < before.values().size(); ++i) {
    EXPECT_NEAR(before.values()[i], after.values()[i], 1e-4) << i;
  }
  Counts counts;
  for (const ir::Node& node : graph.nodes()) ++counts[node.op];
  return {counts, notes};
}

// ImageNet's: (x / 255 − mean) / deviation.
constexpr const char* kNormalized = R"(input %x : f32[1,3,6,5]
const %unit : f32[1] = [0.003921569]
const %mean : f32[1,3,1,1] = [0.485, 0.456, 0.406]
const %dev : f32[3,1,1] = [0.229, 0.224, 0.225]
const %w : f32[2,3,3,3] = [0.5, -0.25, 0.125, 0.75, -0.5, 0.25, 1.0, -1.0, 0.5, 0.25, 0.125, -0.75, 0.5, 0.25, -0.5, 0.125, 0.75, 0.5, -1.0, 1.0, 0.5, 0.25, 0.125, 0.75, 0.5, -0.5, 0.25, 0.5, 1.0, -0.125, 0.5, -0.25, 0.125, 0.75, -0.5, 0.25, 1.0, -1.0, 0.5, 0.25, 0.125, -0.75, 0.5, 0.25, -0.5, 0.125, 0.75, 0.5, -1.0, 1.0, 0.5, 0.25, 0.125, 0.75]
node "scale" "" "m.py:1"
  %a : f32[1,3,6,5] = aten.mul(self=%x, other=%unit)
node "centre" "" "m.py:2"
  %b : f32[1,3,6,5] = aten.add(self=%a, other=%mean, alpha=-1.0)
node "spread" "" "m.py:3"
  %c : f32[1,3,6,5] = aten.div(self=%b, other=%dev)
)";

std::string conv(const char* result, const char* input, const char* settings) {
  return std::string("node \"conv\" \"\" \"m.py:4\"\n  %y : f32") + result + " = aten.conv2d(input=" + input +
         ", weight=%w, bias=none, " + settings + ", dilation=[1, 1], groups=1)\noutput %y\n";
}

TEST(FoldNormalization, CostsNothingWithoutPadding) {
  const Folded f = folded(kNormalized + conv("[1,2,4,3]", "%c", "stride=[1, 1], padding=[0, 0]"));
  EXPECT_EQ(f.operators, (Counts{{"aten.conv2d", 1}}));
  EXPECT_EQ(f.notes, 0U);
}

TEST(FoldNormalization, PadsWithTheMeans) {
  const Folded f = folded(kNormalized + conv("[1,2,6,5]", "%c", "stride=[1, 1], padding=[1, 1]"));
  EXPECT_EQ(f.operators, (Counts{{"aten.cat", 2}, {"aten.conv2d", 1}}));
  EXPECT_EQ(f.notes, 1U);
}

TEST(FoldNormalization, AvoidsBordersForRows) {
  const std::string padded =
      std::string("graph g\n") + kNormalized + conv("[1,2,6,5]", "%c", "stride=[1, 1], padding=[1, 1]");
  ir::Graph graph = ir::parse(padded, "t");
  fold_normalization(graph, BorderOfMeans::avoided);
  EXPECT_EQ(ir::print(graph), ir::print(ir::parse(padded, "t")));
}

TEST(FoldNormalization, LeavesBordersOutThatNobodyReads) {
  ir::Graph graph =
      ir::parse(std::string("graph g\n") + kNormalized + conv("[1,2,3,3]", "%c", "stride=[2, 2], padding=[1, 1]"), "t");
  fold_normalization(graph);
  // Above and on both sides, but not below: three rows of a step of 2 end with the image.
  EXPECT_EQ(graph.outputs()[0]->producer->tensor("input")->type.shape, (ir::Shape{1, 3, 7, 7}));
  EXPECT_EQ(folded(kNormalized + conv("[1,2,3,3]", "%c", "stride=[2, 2], padding=[1, 1]")).notes, 1U);
}

TEST(FoldNormalization, TakesAPadBetweenTheTwoAlong) {
  const char* const pad = R"(node "pad" "" "m.py:5"
  %p : f32[1,3,7,6] = aten.pad(self=%c, pad=[0, 1, 0, 1], value=0.0)
)";
  const Folded f = folded(kNormalized + (pad + conv("[1,2,3,2]", "%p", "stride=[2, 2], padding=[0, 0]")));
  EXPECT_EQ(f.operators, (Counts{{"aten.cat", 1}, {"aten.conv2d", 1}}));  // below alone
}

TEST(FoldNormalization, PadsWithOneNumberWhereAllChannelsHaveIt) {
  const Folded f = folded(R"(input %x : f32[1,1,4,4]
const %half : f32[1] = [128.0]
const %w : f32[1,1,3,3] = [0.5, -0.25, 0.125, 0.75, -0.5, 0.25, 1.0, -1.0, 0.5]
node "centre" "" "m.py:1"
  %a : f32[1,1,4,4] = aten.add(self=%x, other=%half, alpha=-1.0)
)" + conv("[1,1,4,4]", "%a", "stride=[1, 1], padding=[1, 1]"));
  EXPECT_EQ(f.operators, (Counts{{"aten.conv2d", 1}, {"aten.pad", 1}}));
}

TEST(FoldNormalization, KeepsPaddingWhereZeroIsZero) {
  const Folded f = folded(R"(input %x : f32[1,1,4,4]
const %unit : f32[1] = [0.003921569]
const %w : f32[1,1,3,3] = [0.5, -0.25, 0.125, 0.75, -0.5, 0.25, 1.0, -1.0, 0.5]
node "scale" "" "m.py:1"
  %a : f32[1,1,4,4] = aten.mul(self=%x, other=%unit)
)" + conv("[1,1,4,4]", "%a", "stride=[1, 1], padding=[1, 1]"));
  EXPECT_EQ(f.operators, (Counts{{"aten.conv2d", 1}}));
  EXPECT_EQ(f.notes, 0U);
}

TEST(FoldNormalization, TakesABatchNormOfTheInputAndALinearLayer) {
  const Folded norm = folded(R"(input %x : f32[1,1,4,4]
const %m : f32[1] = [100.0]
const %v : f32[1] = [9.0]
const %w : f32[1,1,3,3] = [0.5, -0.25, 0.125, 0.75, -0.5, 0.25, 1.0, -1.0, 0.5]
node "bn" "" "m.py:1"
  %a : f32[1,1,4,4] = aten.batch_norm(input=%x, weight=none, bias=none, running_mean=%m, running_var=%v, eps=0.001)
)" + conv("[1,1,2,2]", "%a", "stride=[1, 1], padding=[0, 0]"));
  EXPECT_EQ(norm.operators, (Counts{{"aten.conv2d", 1}}));
  const Folded linear = folded(R"(input %x : f32[2,3]
const %mean : f32[3] = [1.0, 100.0, 200.0]
const %dev : f32[3] = [0.5, 0.25, 1.0]
const %w : f32[2,3] = [0.5, -0.25, 0.125, 0.75, -0.5, 0.25]
const %b : f32[2] = [1.0, -1.0]
node "centre" "" "m.py:1"
  %a : f32[2,3] = aten.add(self=%x, other=%mean, alpha=-1.0)
node "spread" "" "m.py:2"
  %c : f32[2,3] = aten.mul(self=%a, other=%dev)
node "fc" "" "m.py:3"
  %y : f32[2,2] = aten.linear(input=%c, weight=%w, bias=%b)
output %y
)");
  EXPECT_EQ(linear.operators, (Counts{{"aten.linear", 1}}));
}

// A factor per pixel, one that another node reads too, channels that differ too much: as it was.
TEST(FoldNormalization, LeavesOtherThingsAlone) {
  const std::string weights = "const %w : f32[1,1,3,3] = [0.5, -0.25, 0.125, 0.75, -0.5, 0.25, 1.0, -1.0, 0.5]\n";
  const Folded pixels = folded("input %x : f32[1,1,3,3]\nconst %k : f32[3,1] = [1.0, 2.0, 3.0]\n" + weights +
                               "node \"scale\" \"\" \"\"\n  %a : f32[1,1,3,3] = aten.mul(self=%x, other=%k)\n" +
                               conv("[1,1,1,1]", "%a", "stride=[1, 1], padding=[0, 0]"));
  EXPECT_EQ(pixels.operators, (Counts{{"aten.conv2d", 1}, {"aten.mul", 1}}));
  const Folded read = folded("input %x : f32[1,1,3,3]\nconst %k : f32[1] = [2.0]\n" + weights +
                             "node \"scale\" \"\" \"\"\n  %a : f32[1,1,3,3] = aten.mul(self=%x, other=%k)\n" +
                             conv("[1,1,1,1]", "%a", "stride=[1, 1], padding=[0, 0]") + "output %a\n");
  EXPECT_EQ(read.operators, (Counts{{"aten.conv2d", 1}, {"aten.mul", 1}}));
  const Folded far = folded(
      "input %x : f32[1,2]\nconst %k : f32[2] = [1.0, 0.01]\nconst %w : f32[1,2] = [1.0, 2.0]\n"
      "node \"scale\" \"\" \"\"\n  %a : f32[1,2] = aten.mul(self=%x, other=%k)\n"
      "node \"fc\" \"\" \"\"\n  %y : f32[1,1] = aten.linear(input=%a, weight=%w, bias=none)\noutput %y\n");
  EXPECT_EQ(far.operators, (Counts{{"aten.linear", 1}, {"aten.mul", 1}}));
}

}  // namespace
}  // namespace cormorant::passes
