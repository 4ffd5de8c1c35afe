// SPDX-License-Identifier: Apache-2.0
//
// The rewrites of the float graph, text in, text out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

std::string after(const std::string& text, void (*pass)(ir::Graph&)) {
  ir::Graph graph = ir::parse(text, "test");
  pass(graph);
  ir::verify(graph, "pass");
  return ir::print(graph);
}

TEST(FoldConstants, ComputesWhatDependsOnConstantsAlone) {
  EXPECT_EQ(after(R"(graph g
input %x : f32[2]
const %a : f32[2] = [1.0, -2.0]
const %b : f32[2] = [10.0, 20.0]
node "sum" "" ""
  %sum : f32[2] = aten.add(self=%a, other=%b, alpha=2.0)
node "relu" "" ""
  %relu : f32[2] = aten.clamp(self=%a, min=0.0, max=none)
node "all" "" ""
  %all : f32[2] = aten.add(self=%x, other=%sum, alpha=1.0)
node "more" "" ""
  %more : f32[2] = aten.add(self=%all, other=%relu, alpha=1.0)
output %more
)",
                  fold_constants),
            R"(graph g
input %x : f32[2]
const %sum_folded : f32[2] = [21.0, 38.0]
const %relu_folded : f32[2] = [1.0, 0.0]
node "all" "" ""
  %all : f32[2] = aten.add(self=%x, other=%sum_folded, alpha=1.0)
node "more" "" ""
  %more : f32[2] = aten.add(self=%all, other=%relu_folded, alpha=1.0)
output %more
)");
}

TEST(FoldConstants, DropsChoicesThatAreMadeEverywhere) {
  const auto choice = [](const std::string& condition) {
    return after("graph g\ninput %x : f32[2,2]\ninput %y : f32[2,1]\nconst %c : bool[2,1] = " + condition +
                     "\nnode \"w\" \"\" \"\"\n  %w : f32[2,2] = aten.where.self_out(condition=%c, self=%x, other=%y)\n"
                     "node \"use\" \"\" \"\"\n  %use : f32[2,2] = aten.x(self=%w)\noutput %use\n",
                 fold_constants);
  };
  EXPECT_NE(choice("[1, 1]").find("aten.x(self=%x)"), std::string::npos) << choice("[1, 1]");
  EXPECT_NE(choice("[1, 0]").find("aten.x(self=%w)"), std::string::npos);
  EXPECT_NE(choice("[0, 0]").find("aten.x(self=%w)"), std::string::npos);  // of another shape
}

// PyTorch's decomposition of attention: rows that see nothing are zero. A causal mask has none, so softmax remains.
TEST(FoldConstants, MaskedScoresAreMinusInfinityWhereTheMaskIs) {
  const auto folded = [](const std::string& mask, const std::string& scores) {
    return after(R"(graph g
input %x : f32[1,2,2]
const %mask : f32[2,2] = )" +
                     mask + R"(
const %infinity : f32[] = [-inf]
const %zero : f32[] = [0.0]
node "bmm" "" ""
  %bmm : f32[1,2,2] = aten.bmm(self=%x, mat2=%x, transposed=true, scale=1.0)
node "add" "" ""
  %add : f32[1,2,2] = aten.add(self=)" +
                     scores + R"(, other=%mask, alpha=1.0)
node "softmax" "" ""
  %softmax : f32[1,2,2] = aten.softmax(self=%add, dim=2)
node "eq" "" ""
  %eq : bool[1,2,2] = aten.eq.Tensor_out(self=%add, other=%infinity)
node "all" "" ""
  %all : bool[1,2,1] = cormorant.amin.any(self=%eq, dim=[2])
node "where" "" ""
  %where : f32[1,2,2] = aten.where.self_out(condition=%all, self=%zero, other=%softmax)
node "use" "" ""
  %use : f32[1,2,2] = aten.x(self=%where)
output %use
)",
                 fold_constants);
  };
  const std::string causal = folded("[0.0, -inf, 0.0, 0.0]", "%bmm");
  EXPECT_NE(causal.find("aten.x(self=%softmax)"), std::string::npos) << causal;
  const std::string unseen = folded("[-inf, -inf, 0.0, 0.0]", "%bmm");
  EXPECT_EQ(unseen.find("aten.eq"), std::string::npos) << unseen;
  EXPECT_NE(unseen.find("bool[1,2,1] = [1, 0]"), std::string::npos) << unseen;
  EXPECT_NE(folded("[0.0, -inf, 0.0, 0.0]", "%x").find("aten.eq"), std::string::npos);  // which may be anything
}

TEST(MergeDuplicates, ReadsStateOnceForTwoThatComputeTheSame) {
  EXPECT_EQ(after(R"(graph g
input %x : f32[2]
state %h : f32[2] = [0.0, 0.0]
node "before" "" ""
  %before : f32[2] = aten.add(self=%x, other=%h, alpha=1.0)
node "after" "" ""
  %after : f32[2] = aten.add(self=%x, other=%h, alpha=1.0)
update %h = %after
output %before
)",
                  merge_duplicates),
            R"(graph g
input %x : f32[2]
state %h : f32[2] = [0.0, 0.0]
node "before" "" ""
  %before : f32[2] = aten.add(self=%x, other=%h, alpha=1.0)
update %h = %before
output %before
)");
}

TEST(MergeDuplicates, ComputesOnceWhatIsWrittenTwice) {
  EXPECT_EQ(after(R"(graph g
input %x : f32[2]
const %a : f32[2] = [1.0, 2.0]
const %b : f32[2] = [1.0, 2.0]
node "first" "" ""
  %first : f32[2] = aten.add(self=%x, other=%a, alpha=1.0)
node "second" "" ""
  %second : f32[2] = aten.add(self=%x, other=%b, alpha=1.0)
node "other" "" ""
  %other : f32[2] = aten.add(self=%x, other=%b, alpha=2.0)
node "sum" "" ""
  %sum : f32[2] = aten.add(self=%first, other=%second, alpha=1.0)
output %sum
output %other
)",
                  merge_duplicates),
            R"(graph g
input %x : f32[2]
const %a : f32[2] = [1.0, 2.0]
node "first" "" ""
  %first : f32[2] = aten.add(self=%x, other=%a, alpha=1.0)
node "other" "" ""
  %other : f32[2] = aten.add(self=%x, other=%a, alpha=2.0)
node "sum" "" ""
  %sum : f32[2] = aten.add(self=%first, other=%first, alpha=1.0)
output %sum
output %other
)");
}

TEST(FoldConstants, QuantizesNumbersOfAQuantizedModel) {
  const std::string text = after(R"(graph g
input %x : f32[1]
const %c : f32[3] = [1.0, -0.4, 100.0]
node "q" "" ""
  %q : i8[3] quant([0.25], [2]) = quantized_decomposed.quantize_per_tensor(input=%c, scale=0.25, zero_point=2, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "v" "" ""
  %v : i8[1,3] quant([0.25], [2]) = aten.view(self=%q, size=[1, 3])
node "use" "" ""
  %use : f32[1,3] = aten.x(self=%x, other=%v)
output %use
)",
                                 fold_constants);
  EXPECT_NE(text.find("i8[1,3] quant([0.25], [2]) = [6, 0, 127]"), std::string::npos) << text;
  EXPECT_EQ(text.find("aten.view"), std::string::npos) << text;
}

TEST(FoldConstants, LeavesWhatWouldFillTheFlash) {
  const auto repeated = [](const std::string& times) {
    return after("graph g\nconst %c : f32[1] = [1.0]\nnode \"e\" \"\" \"\"\n  %e : f32[" + times +
                     "] = aten.expand(self=%c, size=[" + times + "])\nnode \"use\" \"\" \"\"\n  %use : f32[" + times +
                     "] = aten.x(self=%e)\noutput %use\n",
                 fold_constants);
  };
  EXPECT_EQ(repeated("1000").find("aten.expand"), std::string::npos);
  EXPECT_NE(repeated("5000000").find("aten.expand"), std::string::npos);
}

// As torchao writes a layer with integer weights: a product, the scales, another shape, the bias.
TEST(FoldFactors, AfterAProductMakeALinearLayer) {
  const std::string text = after(R"(graph g
input %x : f32[4,2]
const %w : f32[2,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
const %s : f32[3] = [10.0, 1.0, 0.5]
const %b : f32[1,1,3] = [7.0, 8.0, 9.0]
node "mm" "" ""
  %mm : f32[4,3] = aten.bmm(self=%x, mat2=%w, transposed=false, scale=2.0)
node "m" "" ""
  %m : f32[4,3] = aten.mul(self=%mm, other=%s)
node "v" "" ""
  %v : f32[2,2,3] = aten.view(self=%m, size=[2, 2, 3])
node "a" "" ""
  %a : f32[2,2,3] = aten.add(self=%v, other=%b, alpha=2.0)
output %a
)",
                                 fold_factors);
  EXPECT_NE(text.find("f32[3,2] = [20.0, 80.0, 4.0, 10.0, 3.0, 6.0]"), std::string::npos) << text;
  EXPECT_NE(text.find("f32[3] = [14.0, 16.0, 18.0]"), std::string::npos) << text;
  EXPECT_NE(text.find("f32[4,3] = aten.linear(input=%x, weight="), std::string::npos) << text;
  EXPECT_NE(text.find("output %v"), std::string::npos) << text;
  EXPECT_EQ(text.find("aten.mul"), std::string::npos) << text;
  EXPECT_EQ(text.find("aten.add"), std::string::npos) << text;
}

TEST(FoldFactors, AreTheChannelsOfAnImage) {
  const auto folded = [](const std::string& factors, const std::string& values, const std::string& output) {
    return after(
        "graph g\ninput %x : f32[1,1,2,2]\nconst %w : f32[2,1,1,1] = [3.0, 5.0]\nconst %b : f32[2] = [1.0, 2.0]\nconst "
        "%s : f32" +
            factors + " = " + values + R"(
node "c" "" ""
  %c : f32[1,2,2,2] = aten.conv2d(input=%x, weight=%w, bias=%b, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "m" "" ""
  %m : f32[1,2,2,2] = aten.mul(self=%s, other=%c)
)" + output,
        fold_factors);
  };
  const std::string text = folded("[2,1,1]", "[2.0, -1.0]", "output %m\n");
  EXPECT_NE(text.find("f32[2,1,1,1] = [6.0, -5.0]"), std::string::npos) << text;
  EXPECT_NE(text.find("f32[2] = [2.0, -2.0]"), std::string::npos) << text;
  EXPECT_EQ(text.find("aten.mul"), std::string::npos) << text;
  // One number for all; but not a factor per column, nor where others read the result without it.
  EXPECT_EQ(folded("[1]", "[2.0]", "output %m\n").find("aten.mul"), std::string::npos);
  EXPECT_NE(folded("[2]", "[2.0, -1.0]", "output %m\n").find("aten.mul"), std::string::npos);
  EXPECT_NE(folded("[2,1,1]", "[2.0, -1.0]", "output %m\noutput %c\n").find("aten.mul"), std::string::npos);
}

TEST(FindClamps, InMaximumAndMinimumWithOneNumber) {
  EXPECT_EQ(after(R"(graph g
input %x : f32[2]
const %low : f32[2] = [-1.0, -1.0]
const %high : f32[] = [3.0]
const %both : f32[2] = [1.0, 2.0]
node "a" "" ""
  %a : f32[2] = aten.maximum(self=%x, other=%low)
node "b" "" ""
  %b : f32[2] = aten.minimum(self=%high, other=%a)
node "c" "" ""
  %c : f32[2] = aten.minimum(self=%b, other=%both)
output %c
)",
                  find_clamps),
            R"(graph g
input %x : f32[2]
const %both : f32[2] = [1.0, 2.0]
node "a" "" ""
  %a_1 : f32[2] = aten.clamp(self=%x, min=-1.0, max=none)
node "b" "" ""
  %b_1 : f32[2] = aten.clamp(self=%a_1, min=none, max=3.0)
node "c" "" ""
  %c : f32[2] = aten.minimum(self=%b_1, other=%both)
output %c
)");
}

// x · clamp(x + 3, 0, 6) / 6 in the orders that people and decompositions write it.
TEST(FuseHardFunctions, FindsHardswishHoweverItIsSpelled) {
  const std::string head = R"(graph g
input %x : f32[2]
const %three : f32[] = [3.0]
const %six : f32[] = [6.0]
const %sixth : f32[] = [0.1666666716337204]
node "sum" "" ""
  %sum : f32[2] = aten.add(self=%x, other=%three, alpha=1.0)
node "clamp" "" ""
  %clamp : f32[2] = aten.clamp(self=%sum, min=0.0, max=6.0)
)";
  const char* spellings[] = {
      "node \"p\" \"\" \"\"\n  %p : f32[2] = aten.mul(self=%x, other=%clamp)\n"
      "node \"y\" \"\" \"\"\n  %y : f32[2] = aten.div(self=%p, other=%six)\n",
      "node \"p\" \"\" \"\"\n  %p : f32[2] = aten.mul(self=%clamp, other=%sixth)\n"
      "node \"y\" \"\" \"\"\n  %y : f32[2] = aten.mul(self=%p, other=%x)\n",
      "node \"p\" \"\" \"\"\n  %p : f32[2] = aten.div(self=%clamp, other=%six)\n"
      "node \"y\" \"\" \"\"\n  %y : f32[2] = aten.mul(self=%x, other=%p)\n",
  };
  for (const char* spelling : spellings) {
    EXPECT_EQ(after((head + spelling + "output %y\n").c_str(), fuse_hard_functions), R"(graph g
input %x : f32[2]
node "y" "" ""
  %y_1 : f32[2] = aten.hardswish(self=%x)
output %y_1
)");
  }
}

TEST(FuseHardFunctions, LeavesOtherConstantsAlone) {
  const char* text = R"(graph g
input %x : f32[2]
const %three : f32[] = [3.0]
const %five : f32[] = [5.0]
node "sum" "" ""
  %sum : f32[2] = aten.add(self=%x, other=%three, alpha=1.0)
node "clamp" "" ""
  %clamp : f32[2] = aten.clamp(self=%sum, min=0.0, max=6.0)
node "y" "" ""
  %y : f32[2] = aten.div(self=%clamp, other=%five)
output %y
)";
  EXPECT_EQ(after(text, fuse_hard_functions), text);
}

// clamp((3x + 3) / 6 + 1/2, 0, 1) = clamp(x / 2 + 1, 0, 1)
TEST(FuseHardsigmoid, BecomesWeightsBiasAndClamp) {
  EXPECT_EQ(after(R"(graph g
input %x : f32[1,1]
const %w : f32[1,1] = [3.0]
const %b : f32[1] = [3.0]
node "fc" "fc" ""
  %fc : f32[1,1] = aten.linear(input=%x, weight=%w, bias=%b)
node "h" "act" ""
  %h : f32[1,1] = aten.hardsigmoid(self=%fc)
output %h
)",
                  fuse_hardsigmoid),
            R"(graph g
input %x : f32[1,1]
const %w_scaled : f32[1,1] = [0.5]
const %fc_bias_shifted : f32[1] = [1.0]
node "fc" "fc" ""
  %fc : f32[1,1] = aten.linear(input=%x, weight=%w_scaled, bias=%fc_bias_shifted, activation_min=0.0, activation_max=1.0)
output %fc
)");
}

TEST(FuseHardsigmoid, KeepsTheIntegersOfQuantizedWeights) {
  const std::string text = after(R"(graph g
input %x : f32[1,1]
const %w : i8[1,1] quant([0.75], [0]) = [5]
node "dq" "" ""
  %dq : f32[1,1] = quantized_decomposed.dequantize_per_tensor(input=%w, scale=0.75, zero_point=0, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "fc" "fc" ""
  %fc : f32[1,1] = aten.linear(input=%x, weight=%dq, bias=none)
node "h" "act" ""
  %h : f32[1,1] = aten.hardsigmoid(self=%fc)
output %h
)",
                                 fuse_hardsigmoid);
  EXPECT_NE(text.find("i8[1,1] quant([0.125], [0]) = [5]"), std::string::npos) << text;
  EXPECT_NE(text.find("scale=0.125"), std::string::npos) << text;
  EXPECT_NE(text.find("= [0.5]"), std::string::npos) << text;
}

// In a model that arrives quantized: 255 steps of 1/255 from 0, half of them 127.5, which is 128 in whole steps.
TEST(FuseHardsigmoid, BecomesTheParametersOfAQuantizedResult) {
  const std::string head = R"(graph g
input %x : f32[1,1]
const %w : f32[1,1] = [3.0]
node "fc" "fc" ""
  %fc : f32[1,1] = aten.linear(input=%x, weight=%w, bias=none)
)";
  const auto quantize = [](const std::string& name, const std::string& of, const std::string& scale,
                           const std::string& zero_point) {
    return fmt::format(
        "  %{0} : i8[1,1] quant([{2}], [{3}]) = quantized_decomposed.quantize_per_tensor(input=%{1}, scale={2}, "
        "zero_point={3}, quant_min=-128, quant_max=127, dtype=dtype.i8)\n",
        name, of, scale, zero_point);
  };
  const std::string function = "node \"h\" \"act\" \"\"\n  %h : f32[1,1] = aten.hardsigmoid(self=%fc)\n";
  const std::string before =
      head + function + "node \"q\" \"\" \"\"\n" + quantize("q", "h", "0.00390625", "-128") + "output %q\n";
  EXPECT_EQ(after(before.c_str(), fuse_hardsigmoid),
            head + "node \"h_input\" \"act\" \"\"\n" + quantize("h_input", "fc", "0.0234375", "0") +
                "node \"h\" \"act\" \"\"\n  %h_1 : i8[1,1] quant([0.00390625], [-128]) = "
                "cormorant.reinterpret(self=%h_input)\noutput %h_1\n");
  // Integers that go on beyond 1 need a clamp.
  const std::string wide =
      head + function + "node \"q\" \"\" \"\"\n" + quantize("q", "h", "0.0078125", "-128") + "output %q\n";
  EXPECT_EQ(after(wide.c_str(), fuse_hardsigmoid).find("reinterpret"), std::string::npos);
  // With steps far too fine the zero point stays an int8.
  const std::string fine =
      head + function + "node \"q\" \"\" \"\"\n" + quantize("q", "h", "9.5367431640625e-13", "-128") + "output %q\n";
  EXPECT_NE(after(fine.c_str(), fuse_hardsigmoid).find("zero_point=127"), std::string::npos);
}

TEST(KeepHardswish, MarksThoseThatExecuTorchMultiplies) {
  const std::string text = R"(graph g
input %x : f32[1,1]
const %w : f32[1,1] = [3.0]
node "fc" "fc" ""
  %fc : f32[1,1] = aten.linear(input=%x, weight=%w, bias=none)
node "q" "" ""
  %q : i8[1,1] quant([0.5], [0]) = quantized_decomposed.quantize_per_tensor(input=%fc, scale=0.5, zero_point=0, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "dq" "" ""
  %dq : f32[1,1] = quantized_decomposed.dequantize_per_tensor(input=%q, scale=0.5, zero_point=0, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "h" "act" ""
  %h : f32[1,1] = aten.hardswish(self=%dq)
output %h
)";
  EXPECT_NE(after(text.c_str(), keep_hardswish).find("as_product=true"), std::string::npos);
  EXPECT_EQ(after((text + "output %dq\n").c_str(), keep_hardswish), text + "output %dq\n");
  std::string of_sum = text;
  of_sum.replace(of_sum.find("aten.linear(input=%x, weight=%w, bias=none)"), 43,
                 "aten.add(self=%x, other=%w, alpha=1.0)");
  EXPECT_EQ(after(of_sum.c_str(), keep_hardswish), of_sum);
}

// In front of the pooling, where it costs nothing and the levels below zero are not wasted; not if others read what is
// pooled.
TEST(FuseActivations, ReachTheConvolutionBeforeAPooling) {
  const std::string text = R"(graph g
input %x : f32[1,1,4,4]
const %w : f32[1,1,1,1] = [2.0]
node "conv" "" ""
  %c : f32[1,1,4,4] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "pool" "" ""
  %p : f32[1,1,2,2] = aten.max_pool2d(self=%c, kernel_size=[2, 2], stride=[2, 2], padding=[0, 0], dilation=[1, 1], ceil_mode=false)
node "relu" "" ""
  %r : f32[1,1,2,2] = aten.clamp(self=%p, min=0.0, max=none)
output %r
)";
  const std::string fused = after(text.c_str(), fuse_activations);
  EXPECT_NE(fused.find("groups=1, activation_min=0.0)"), std::string::npos) << fused;
  EXPECT_NE(fused.find("ceil_mode=false)"), std::string::npos) << fused;
  const std::string read = after((text + "output %c\n").c_str(), fuse_activations);
  EXPECT_NE(read.find("groups=1)"), std::string::npos) << read;
  EXPECT_NE(read.find("ceil_mode=false, activation_min=0.0)"), std::string::npos) << read;
}

// The relu of a convolution in three dimensions, on its images; the next one's movements undo its own.
TEST(LiftFunctions, VolumesAreImagesBetweenConvolutions) {
  const std::string conv = "weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)\n";
  const std::string text = R"(graph g
input %x : f32[3,2,4,4]
const %w : f32[2,2,1,1] = [1.0, 2.0, 3.0, 4.0]
node "a" "" ""
  %a : f32[3,2,4,4] = aten.conv2d(input=%x, )" +
                           conv + R"(node "av" "" ""
  %av : f32[1,3,2,4,4] = aten.view(self=%a, size=[1, 3, 2, 4, 4])
node "ap" "" ""
  %ap : f32[1,2,3,4,4] = aten.permute(self=%av, dims=[0, 2, 1, 3, 4])
node "relu" "f.1" "m.py:3"
  %r : f32[1,2,3,4,4] = aten.clamp(self=%ap, min=0.0, max=none)
node "bp" "" ""
  %bp : f32[1,3,2,4,4] = aten.permute(self=%r, dims=[0, 2, 1, 3, 4])
node "bv" "" ""
  %bv : f32[3,2,4,4] = aten.view(self=%bp, size=[3, 2, 4, 4])
node "b" "" ""
  %b : f32[3,2,4,4] = aten.conv2d(input=%bv, )" +
                           conv + "output %b\n";
  EXPECT_EQ(after(text.c_str(), lift_functions), R"(graph g
input %x : f32[3,2,4,4]
const %w : f32[2,2,1,1] = [1.0, 2.0, 3.0, 4.0]
node "a" "" ""
  %a : f32[3,2,4,4] = aten.conv2d(input=%x, )" + conv +
                                                     R"(node "relu" "f.1" "m.py:3"
  %relu : f32[3,2,4,4] = aten.clamp(self=%a, min=0.0, max=none)
node "b" "" ""
  %b : f32[3,2,4,4] = aten.conv2d(input=%relu, )" + conv +
                                                     "output %b\n");
}

constexpr const char* kPadded = R"(graph g
input %x : f32[1,1,4,4]
const %w : f32[1,1,3,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
node "pad" "" ""
  %pad : f32[1,1,6,8] = aten.pad(self=%x, pad=[2, 2, 1, 1], value=VALUE)
node "conv" "" ""
  %conv : f32[1,1,6,8] = aten.conv2d(input=%pad, weight=%w, bias=none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1)
output %conv
)";

std::string padded(const std::string& value) {
  std::string text = kPadded;
  return text.replace(text.find("VALUE"), 5, value);
}

TEST(FoldPad, LetsTheConvolutionPad) {
  const std::string text = after(padded("0.0").c_str(), fold_pad);
  EXPECT_EQ(text.find("aten.pad"), std::string::npos) << text;
  EXPECT_NE(text.find("padding=[2, 3]"), std::string::npos) << text;
}

TEST(FoldPad, KeepsAPadThatIsNotZero) { EXPECT_EQ(after(padded("1.0").c_str(), fold_pad), padded("1.0")); }

// ExecuTorch's own compiler writes four paddings where strides fit an image as often as they can, nothing else.
TEST(FoldUnevenPad, IsForTheResultsThatStridesFitInto) {
  const auto folded = [](const std::string& sizes, const std::string& pad, const std::string& stride,
                         const std::string& kernel, const std::string& type = "i8") {
    const std::string quant = type == "i8" ? " quant([0.5], [3])" : "";
    const std::size_t taps = kernel == "3,3" ? 9 : 3;
    std::string weights;
    for (std::size_t i = 0; i < taps; ++i) weights += i == 0 ? "1" : ", 1";
    const std::string text =
        "graph g\ninput %x : " + type + "[1,1," + sizes + "]" + quant + "\nconst %w : i8[1,1," + kernel +
        "] quant([0.5], [0]) = [" + weights + "]\nnode \"pad\" \"\" \"\"\n  %pad : " + type + "[1,1,9,9]" + quant +
        " = aten.pad(self=%x, pad=[" + pad + "], value=0.0)\nnode \"conv\" \"\" \"\"\n  %conv : " + type + "[1,1,4,4]" +
        quant + " = aten.conv2d(input=%pad, weight=%w, bias=none, stride=[" + stride +
        "], padding=[0, 0], dilation=[1, 1], groups=1)\noutput %conv\n";
    const std::string result = after(text.c_str(), fold_uneven_pad);
    if (result.find("aten.pad") != std::string::npos) {
      EXPECT_EQ(result, text);
      return std::string();
    }
    const std::size_t from = result.find("padding=");
    return result.substr(from, result.find(']', from) + 1 - from);
  };
  EXPECT_EQ(folded("8,8", "0, 1, 0, 1", "2, 2", "3,3"), "padding=[0, 0, 1, 1]");
  EXPECT_EQ(folded("7,8", "0, 1, 1, 1", "2, 2", "3,3"), "padding=[1, 0, 1, 1]");
  EXPECT_EQ(folded("7,7", "1, 1, 1, 1", "2, 2", "3,3"), "padding=[1, 1]");
  EXPECT_EQ(folded("8,8", "1, 0, 1, 0", "2, 2", "3,3"), "");         // the odd one before the image
  EXPECT_EQ(folded("8,8", "0, 2, 0, 2", "2, 2", "3,3"), "");         // more results than strides fit
  EXPECT_EQ(folded("8,8", "0, 1, 0, 1", "2, 2", "3,3", "f32"), "");  // its portable convolution has two
  EXPECT_EQ(folded("1,8", "0, 1, 0, 0", "1, 2", "1,3"), "");         // a row: CMSIS-NN's kernel for MVE
}

// Four outputs of six: of the padding of 2 on each side, only that before the input is left.
TEST(FoldCrop, PadsUnevenlyInsteadOfCuttingOff) {
  EXPECT_EQ(after(R"(graph g
input %x : f32[1,1,1,4]
const %w : f32[1,1,1,3] = [1.0, 2.0, 3.0]
node "conv" "c" "m.py:3"
  %conv : f32[1,1,1,6] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 2], dilation=[1, 1], groups=1)
node "cut" "" ""
  %cut : f32[1,1,1,4] = aten.slice(self=%conv, dim=3, start=0, end=4, step=1)
output %cut
)",
                  fold_crop),
            R"(graph g
input %x : f32[1,1,1,4]
const %w : f32[1,1,1,3] = [1.0, 2.0, 3.0]
node "conv_pad" "c" "m.py:3"
  %conv_pad : f32[1,1,1,6] = aten.pad(self=%x, pad=[2, 0], value=0.0)
node "conv" "c" "m.py:3"
  %conv : f32[1,1,1,4] = aten.conv2d(input=%conv_pad, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
output %conv
)");
}

// Without padding, output 1 of two is the only one that reads input 3: the slice stays.
TEST(FoldCrop, KeepsASliceThatLeavesInputsOut) {
  const char* text = R"(graph g
input %x : f32[1,1,1,4]
const %w : f32[1,1,1,3] = [1.0, 2.0, 3.0]
node "conv" "c" "m.py:3"
  %conv : f32[1,1,1,2] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "cut" "" ""
  %cut : f32[1,1,1,1] = aten.slice(self=%conv, dim=3, start=0, end=1, step=1)
output %cut
)";
  EXPECT_EQ(after(text, fold_crop), text);
}

// Two one-dimensional convolutions with a clamp and a sum between them: the views meet and vanish.
TEST(LiftViews, BringsElementwiseOperatorsToTheFourDimensionalSide) {
  const std::string text = after(R"(graph g
input %x : f32[1,2,5]
const %w : f32[2,2,1,1] = [1.0, 2.0, 3.0, 4.0]
const %c : f32[2,1] = [1.0, 2.0]
node "in" "" ""
  %in : f32[1,2,1,5] = aten.view(self=%x, size=[1, 2, 1, 5])
node "a" "" ""
  %a : f32[1,2,1,5] = aten.conv2d(input=%in, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "out" "" ""
  %out : f32[1,2,5] = aten.view(self=%a, size=[1, 2, 5])
node "relu" "" ""
  %relu : f32[1,2,5] = aten.clamp(self=%out, min=0.0, max=none)
node "shift" "" ""
  %shift : f32[1,2,5] = aten.add(self=%relu, other=%c, alpha=1.0)
node "back" "" ""
  %back : f32[1,2,1,5] = aten.view(self=%shift, size=[1, 2, 1, 5])
node "b" "" ""
  %b : f32[1,2,1,5] = aten.conv2d(input=%back, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
output %b
)",
                                 lift_views);
  EXPECT_EQ(text, R"(graph g
input %x : f32[1,2,5]
const %w : f32[2,2,1,1] = [1.0, 2.0, 3.0, 4.0]
const %c : f32[2,1] = [1.0, 2.0]
node "in" "" ""
  %in : f32[1,2,1,5] = aten.view(self=%x, size=[1, 2, 1, 5])
node "a" "" ""
  %a : f32[1,2,1,5] = aten.conv2d(input=%in, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "relu" "" ""
  %relu : f32[1,2,1,5] = aten.clamp(self=%a, min=0.0, max=none)
node "c_view" "" ""
  %c_view : f32[2,1,1] = aten.view(self=%c, size=[2, 1, 1])
node "shift" "" ""
  %shift : f32[1,2,1,5] = aten.add(self=%relu, other=%c_view, alpha=1.0)
node "b" "" ""
  %b : f32[1,2,1,5] = aten.conv2d(input=%shift, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
output %b
)");
}

// A one-dimensional convolution of a model that is already quantized: nothing is between it and its parameters.
TEST(LiftViews, ViewsAreOfIntegersWhereThereAreSome) {
  EXPECT_EQ(after(R"(graph g
input %x : i8[1,2,5] quant([0.5], [0])
const %w : f32[2,2,1,1] = [1.0, 2.0, 3.0, 4.0]
node "dq" "" ""
  %dq : f32[1,2,5] = quantized_decomposed.dequantize_per_tensor(input=%x, scale=0.5, zero_point=0, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "in" "" ""
  %in : f32[1,2,1,5] = aten.view(self=%dq, size=[1, 2, 1, 5])
node "a" "" ""
  %a : f32[1,2,1,5] = aten.conv2d(input=%in, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "out" "" ""
  %out : f32[1,2,5] = aten.view(self=%a, size=[1, 2, 5])
node "q" "" ""
  %q : i8[1,2,5] quant([0.25], [3]) = quantized_decomposed.quantize_per_tensor(input=%out, scale=0.25, zero_point=3, quant_min=-128, quant_max=127, dtype=dtype.i8)
output %q
)",
                  lift_views),
            R"(graph g
input %x : i8[1,2,5] quant([0.5], [0])
const %w : f32[2,2,1,1] = [1.0, 2.0, 3.0, 4.0]
node "x_view" "" ""
  %x_view : i8[1,2,1,5] quant([0.5], [0]) = aten.view(self=%x, size=[1, 2, 1, 5])
node "dq" "" ""
  %dq_1 : f32[1,2,1,5] = quantized_decomposed.dequantize_per_tensor(input=%x_view, scale=0.5, zero_point=0, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "a" "" ""
  %a : f32[1,2,1,5] = aten.conv2d(input=%dq_1, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "q" "" ""
  %q : i8[1,2,1,5] quant([0.25], [3]) = quantized_decomposed.quantize_per_tensor(input=%a, scale=0.25, zero_point=3, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "q_view" "" ""
  %q_view : i8[1,2,5] quant([0.25], [3]) = aten.view(self=%q, size=[1, 2, 5])
output %q_view
)");
}

TEST(JoinConversions, NeedsNoFloatBetweenTwoScales) {
  EXPECT_EQ(after(R"(graph g
input %x : i8[4] quant([0.5], [0])
node "dq" "" ""
  %dq : f32[4] = quantized_decomposed.dequantize_per_tensor(input=%x, scale=0.5, zero_point=0, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "same" "" ""
  %same : i8[4] quant([0.5], [0]) = quantized_decomposed.quantize_per_tensor(input=%dq, scale=0.5, zero_point=0, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "other" "" ""
  %other : i8[4] quant([0.25], [3]) = quantized_decomposed.quantize_per_tensor(input=%dq, scale=0.25, zero_point=3, quant_min=-128, quant_max=127, dtype=dtype.i8)
output %same
output %other
)",
                  join_conversions),
            R"(graph g
input %x : i8[4] quant([0.5], [0])
node "other" "" ""
  %other_1 : i8[4] quant([0.25], [3]) = cormorant.requantize(self=%x)
output %x
output %other_1
)");
}

TEST(TakeUint8, FlipsTheSignOfWhatComesAndGoes) {
  EXPECT_EQ(after(R"(graph g
input %x : i8[4] quant([0.1], [-128])
input %index : i64[4]
node "relu" "net" "m.py:1"
  %y : i8[4] quant([0.1], [-128]) = aten.clamp(self=%x, min=0.0, max=6.0)
output %y
output %index
)",
                  take_uint8),
            R"(graph g
input %x : u8[4] quant(range 0 255, [0.1], [0])
input %index : i64[4]
node "x_int8" "net" "m.py:1"
  %x_int8 : i8[4] quant([0.1], [-128]) = cormorant.flip_sign(self=%x)
node "relu" "net" "m.py:1"
  %y : i8[4] quant([0.1], [-128]) = aten.clamp(self=%x_int8, min=0.0, max=6.0)
node "y_uint8" "net" "m.py:1"
  %y_uint8 : u8[4] quant(range 0 255, [0.1], [0]) = cormorant.flip_sign(self=%y)
output %y_uint8
output %index
)");
}

TEST(KeepBytes, LeavesPixelsOfTheModelsOwnIntegers) {
  EXPECT_EQ(after(R"(graph g
input %x : u8[4]
node "to" "net" "m.py:1"
  %f : f32[4] = cormorant.convert.any(self=%x)
node "q" "net" "m.py:2"
  %q : i8[4] quant([1.0], [-128]) = quantized_decomposed.quantize_per_tensor(input=%f, scale=1.0, zero_point=-128, quant_min=-128, quant_max=127, dtype=dtype.i8)
output %q
)",
                  keep_bytes),
            R"(graph g
input %x : u8[4]
node "q" "net" "m.py:1"
  %q_1 : i8[4] quant([1.0], [-128]) = cormorant.flip_sign(self=%x)
output %q_1
)");
}

TEST(FuseTimeFilter, AddsUpInOneAccumulator) {
  EXPECT_EQ(after(R"(graph g
input %x : f32[1,4,3]
const %t : f32[4,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
const %b : f32[2] = [0.5, -0.5]
node "mul" "" ""
  %m : f32[1,4,3] = aten.mul(self=%x, other=%t)
node "sum" "" ""
  %s : f32[1,4,1] = aten.sum(self=%m, dim=[2])
node "view" "" ""
  %v : f32[1,4] = aten.view(self=%s, size=[1, 4])
node "view_1" "" ""
  %u : f32[1,2,2] = aten.view(self=%v, size=[1, 2, 2])
node "rank" "" ""
  %r : f32[1,2,1] = aten.sum(self=%u, dim=[2])
node "view_2" "" ""
  %q : f32[1,2] = aten.view(self=%r, size=[1, 2])
node "add" "svdf" "m.py:1"
  %y : f32[1,2] = aten.add(self=%q, other=%b, alpha=1.0)
output %y
)",
                  fuse_time_filter),
            R"(graph g
input %x : f32[1,4,3]
const %b : f32[2] = [0.5, -0.5]
const %t_filter : f32[2,1,2,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
node "add_memory" "svdf" "m.py:1"
  %add_memory : f32[1,2,2,3] = aten.view(self=%x, size=[1, 2, 2, 3])
node "add_filter" "svdf" "m.py:1"
  %add_filter : f32[1,2,1,1] = aten.conv2d(input=%add_memory, weight=%t_filter, bias=%b, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=2)
node "add_units" "svdf" "m.py:1"
  %add_units : f32[1,2] = aten.view(self=%add_filter, size=[1, 2])
output %add_units
)");
  // Time before channels; filters that are not constant, or differ between images, stay as they are.
  const std::string turned = after(R"(graph g
input %x : f32[1,3,2]
const %t : f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
node "mul" "" ""
  %m : f32[1,3,2] = aten.mul(self=%t, other=%x)
node "sum" "" ""
  %s : f32[1,1,2] = aten.sum(self=%m, dim=[1])
output %s
)",
                                   fuse_time_filter);
  EXPECT_NE(turned.find("%t_filter : f32[2,1,1,3] = [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]"), std::string::npos) << turned;
  const std::string computed = R"(graph g
input %x : f32[1,3,2]
input %t : f32[3,2]
node "mul" "" ""
  %m : f32[1,3,2] = aten.mul(self=%x, other=%t)
node "sum" "" ""
  %s : f32[1,3,1] = aten.sum(self=%m, dim=[2])
output %s
)";
  EXPECT_EQ(after(computed, fuse_time_filter), computed);
}

// As einsum("bct,ct->bc") is imported, and as people write it with matmul; then the sum over the rank.
TEST(FuseTimeFilter, FindsProductsOfMatrices) {
  const std::string tail = R"(node "permute" "" ""
  %p : f32[1,1,4] = aten.permute(self=%s, dims=[1, 2, 0])
node "view" "" ""
  %u : f32[1,2,2] = aten.view(self=%p, size=[1, 2, 2])
node "rank" "" ""
  %r : f32[1,2,1] = aten.sum(self=%u, dim=[2])
output %r
)";
  const std::string head = R"(graph g
input %x : f32[1,4,3]
const %t : f32[SHAPE] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
node "turned" "" ""
  %m : f32[4,1,3] = aten.permute(self=%x, dims=[1, 0, 2])
node "bmm" "" ""
  %s : f32[4,1,1] = aten.bmm(self=%m, mat2=%t, transposed=TRANSPOSED, scale=1.0)
)";
  for (const bool transposed : {true, false}) {
    std::string text = head;
    text.replace(text.find("SHAPE"), 5, transposed ? "4,1,3" : "4,3,1");
    text.replace(text.find("TRANSPOSED"), 10, transposed ? "true" : "false");
    const std::string found = after(text + tail, fuse_time_filter);
    EXPECT_NE(found.find("f32[2,1,2,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]"),
              std::string::npos)
        << found;
    EXPECT_NE(found.find("aten.conv2d"), std::string::npos) << found;
    for (const char* op : {"aten.bmm", "aten.permute", "aten.mul", "aten.sum"}) {
      EXPECT_EQ(found.find(op), std::string::npos) << found;
    }
  }
  // Two images: their memories lie apart.
  const std::string batch = R"(graph g
input %x : f32[4,2,3]
const %t : f32[4,1,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
node "bmm" "" ""
  %s : f32[4,2,1] = aten.bmm(self=%x, mat2=%t, transposed=true, scale=1.0)
output %s
)";
  EXPECT_EQ(after(batch, fuse_time_filter), batch);
  // One operand serves the whole batch: a product like any other.
  for (const auto& [memory, filters] : {std::pair("1,1,3", "4,3,1"), {"4,1,3", "1,3,1"}, {"2,1,3", "1,3,1"}}) {
    const bool is_filter = std::string_view(filters).starts_with("4");
    const std::string text = std::string("graph g\ninput %x : f32[") + memory + "]\nconst %t : f32[" + filters +
                             (is_filter ? "] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]\n"
                                        : "] = [1.0, 2.0, 3.0]\n") +
                             "node \"bmm\" \"\" \"\"\n  %s : f32[" + (std::string_view(memory)[0] == '2' ? "2" : "4") +
                             ",1,1] = aten.bmm(self=%x, mat2=%t, transposed=false, scale=1.0)\noutput %s\n";
    EXPECT_EQ(after(text, fuse_time_filter), text);
  }
}

}  // namespace
}  // namespace cormorant::passes
