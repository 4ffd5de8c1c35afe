// SPDX-License-Identifier: Apache-2.0
//
// Passes are tested as text in, text out.
#include "passes/passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/memory_order.h"

namespace cormorant::passes {
namespace {

void lay_out(ir::Graph& graph) { decide_layout(graph); }
void lay_out_for_executorch(ir::Graph& graph) {
  decide_layout(graph, {.target = {}, .runtime = ops::Runtime::executorch});
}

std::string after(const char* text, void (*pass)(ir::Graph&)) {
  ir::Graph graph = ir::parse(text, "test");
  pass(graph);
  ir::verify(graph, "pass");
  return ir::print(graph);
}

// gamma 2, beta 1, mean 3, var 4 - eps: factor 2 / 2 = 1 for channel 0; gamma 4 -> 2 for channel 1.
TEST(FoldBatchNorm, ScalesWeightsAndMakesABias) {
  EXPECT_EQ(after(R"(graph g
input %x : f32[1,1,2,2]
const %w : f32[2,1,1,1] = [1.0, 1.0]
const %gamma : f32[2] = [2.0, 4.0]
const %beta : f32[2] = [1.0, 1.0]
const %mean : f32[2] = [3.0, 0.5]
const %var : f32[2] = [3.0, 3.0]
node "conv" "stem.conv" "m.py:1"
  %conv : f32[1,2,2,2] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "bn" "stem.bn" "m.py:2"
  %bn : f32[1,2,2,2] = aten.batch_norm(input=%conv, weight=%gamma, bias=%beta, running_mean=%mean, running_var=%var, training=false, momentum=0.1, eps=1.0, cudnn_enabled=true)
output %bn
)",
                  fold_batch_norm),
            R"(graph g
input %x : f32[1,1,2,2]
const %w_folded : f32[2,1,1,1] = [1.0, 2.0]
const %conv_bias_folded : f32[2] = [-2.0, 0.0]
node "conv" "stem.conv" "m.py:1"
  %conv : f32[1,2,2,2] = aten.conv2d(input=%x, weight=%w_folded, bias=%conv_bias_folded, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
output %conv
)");
}

TEST(FuseActivations, MakesTheClampPartOfItsProducer) {
  EXPECT_EQ(after(R"(graph g
input %x : f32[1,4]
const %w : f32[1,4] = [1.0, 2.0, 3.0, 4.0]
node "fc" "fc" ""
  %fc : f32[1,1] = aten.linear(input=%x, weight=%w, bias=none)
node "relu" "act" ""
  %relu : f32[1,1] = aten.clamp(self=%fc, min=0.0, max=none)
node "six" "act" ""
  %six : f32[1,1] = aten.clamp(self=%relu, min=-1.0, max=6.0)
output %six
)",
                  fuse_activations),
            R"(graph g
input %x : f32[1,4]
const %w : f32[1,4] = [1.0, 2.0, 3.0, 4.0]
node "fc" "fc" ""
  %fc : f32[1,1] = aten.linear(input=%x, weight=%w, bias=none, activation_min=0.0, activation_max=6.0)
output %fc
)");
}

TEST(FuseActivations, MergesTwoClampsThatNobodyElseTakes) {
  EXPECT_EQ(after(R"(graph g
input %x : f32[2]
node "a" "" ""
  %a : f32[2] = aten.clamp(self=%x, min=none, max=6.0)
node "b" "" ""
  %b : f32[2] = aten.clamp(self=%a, min=0.0, max=8.0)
output %b
)",
                  fuse_activations),
            R"(graph g
input %x : f32[2]
node "a" "" ""
  %a : f32[2] = aten.clamp(self=%x, min=0.0, max=6.0)
output %a
)");
}

TEST(FuseActivations, KeepsAClampWhoseInputIsAnOutput) {
  const char* text = R"(graph g
input %x : f32[1,4]
const %w : f32[1,4] = [1.0, 2.0, 3.0, 4.0]
node "fc" "fc" ""
  %fc : f32[1,1] = aten.linear(input=%x, weight=%w, bias=none)
node "relu" "act" ""
  %relu : f32[1,1] = aten.clamp(self=%fc, min=0.0, max=none)
output %fc
output %relu
)";
  EXPECT_EQ(after(text, fuse_activations), text);
}

void fuse_all_slopes(ir::Graph& graph) {
  fuse_slopes(graph, [](const ir::Node&, const ir::Node&) { return true; });
}

TEST(FuseSlopes, MakesAPreluPartOfTheConvolutionBeforeIt) {
  EXPECT_EQ(after(R"(graph g
input %x : f32[1,1,2,2]
const %w : f32[2,1,1,1] = [1.0, 2.0]
const %slopes : f32[2] = [0.25, -0.5]
node "conv" "conv" "m.py:1"
  %conv : f32[1,2,2,2] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "prelu" "act" "m.py:2"
  %prelu : f32[1,2,2,2] = aten.prelu(self=%conv, weight=%slopes)
node "next" "next" ""
  %next : f32[1,2,2,2] = aten.leaky_relu(self=%prelu, negative_slope=0.125)
output %next
)",
                  fuse_all_slopes),
            R"(graph g
input %x : f32[1,1,2,2]
const %w : f32[2,1,1,1] = [1.0, 2.0]
const %slopes : f32[2] = [0.25, -0.5]
node "conv" "conv" "m.py:1"
  %conv : f32[1,2,2,2] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1, activation_slopes=floats[0.25, -0.5])
node "next" "next" ""
  %next : f32[1,2,2,2] = aten.leaky_relu(self=%conv, negative_slope=0.125)
output %next
)");
}

// Its outputs are the last dimension, which is a PReLU's only in two dimensions.
TEST(FuseSlopes, MakesAPreluPartOfTheLinearLayerBeforeIt) {
  const auto fused = [](const std::string& rows, const std::string& function) {
    const std::string text =
        "graph g\ninput %x : f32[" + rows + "3]\nconst %w : f32[2,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n" +
        "const %slopes : f32[2] = [0.25, -0.5]\nnode \"fc\" \"fc\" \"\"\n  %fc : f32[" + rows +
        "2] = aten.linear(input=%x, weight=%w, bias=none)\nnode \"act\" \"act\" \"\"\n  %act : f32[" + rows +
        "2] = " + function + "\noutput %act\n";
    return after(text.c_str(), fuse_all_slopes).find("activation_slopes") != std::string::npos;
  };
  const std::string prelu = "aten.prelu(self=%fc, weight=%slopes)";
  const std::string leaky = "aten.leaky_relu(self=%fc, negative_slope=0.125)";
  EXPECT_TRUE(fused("4,", prelu));
  EXPECT_TRUE(fused("4,", leaky));
  EXPECT_TRUE(fused("1,2,", leaky));
  EXPECT_FALSE(fused("1,2,", prelu));
  EXPECT_FALSE(fused("65536,", leaky));
}

TEST(FuseSlopes, KeepsAFunctionWhoseInputIsSeenElsewhereOrClampedOrWhoseSlopeIsNotFinite) {
  const char* text = R"(graph g
input %x : f32[1,1,2,2]
const %w : f32[2,1,1,1] = [1.0, 2.0]
node "seen" "seen" ""
  %seen : f32[1,2,2,2] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "leaky" "act" ""
  %leaky : f32[1,2,2,2] = aten.leaky_relu(self=%seen, negative_slope=0.125)
node "clamped" "clamped" ""
  %clamped : f32[1,2,2,2] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1, activation_max=6.0)
node "after" "act" ""
  %after : f32[1,2,2,2] = aten.leaky_relu(self=%clamped, negative_slope=0.125)
node "steep" "steep" ""
  %steep : f32[1,2,2,2] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "endless" "act" ""
  %endless : f32[1,2,2,2] = aten.leaky_relu(self=%steep, negative_slope=inf)
output %seen
output %leaky
output %after
output %endless
)";
  EXPECT_EQ(after(text, fuse_all_slopes), text);
}

TEST(FuseSlopes, KeepsWhatIsToStay) {
  const char* text = R"(graph g
input %x : f32[1,1,2,2]
const %w : f32[2,1,1,1] = [1.0, 2.0]
node "conv" "conv" ""
  %conv : f32[1,2,2,2] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "leaky" "act" ""
  %leaky : f32[1,2,2,2] = aten.leaky_relu(self=%conv, negative_slope=0.125)
output %leaky
)";
  const auto keep = [](ir::Graph& graph) {
    fuse_slopes(graph, [](const ir::Node& convolution, const ir::Node& function) {
      EXPECT_EQ(convolution.name, "conv");
      EXPECT_EQ(function.name, "leaky");
      return false;
    });
  };
  EXPECT_EQ(after(text, keep), text);
}

TEST(Lower, SlopesOfAConvolutionInFloatAreAFunctionAgain) {
  const std::string lowered = after(R"(graph g
input %x : f32[1,1,2,2]
const %w : f32[2,1,1,1] = [1.0, 2.0]
node "conv" "conv" ""
  %conv : f32[1,2,2,2] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1, activation_slopes=floats[0.25, -0.5], activation_max=6.0)
output %conv
)",
                                    [](ir::Graph& graph) { lower(graph, {}); });
  const std::size_t convolution = lowered.find("aten.convolution"), prelu = lowered.find("cormorant.prelu.float"),
                    clamp = lowered.find("aten.hardtanh");
  EXPECT_NE(convolution, std::string::npos) << lowered;
  EXPECT_LT(convolution, prelu) << lowered;
  EXPECT_LT(prelu, clamp) << lowered;
  EXPECT_NE(lowered.find("[0.25, -0.5]"), std::string::npos) << lowered;
}

TEST(DecideLayout, PutsOneTransposeBetweenAContiguousInputAndAConvolution) {
  const std::string text = after(R"(graph g
input %x : f32[1,3,4,4]
const %w : i8[2,3,1,1] quant(axis 0, [1.0, 1.0], [0, 0]) = [1, 2, 3, 4, 5, 6]
node "q" "" ""
  %q : i8[1,3,4,4] quant([0.5], [0]) = cortex_m.quantize_per_tensor(input=%x, scale=0.5, zero_point=0, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "conv" "" ""
  %conv : i8[1,2,4,4] quant([0.5], [0]) = aten.conv2d(input=%q, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "dq" "" ""
  %dq : f32[1,2,4,4] = cortex_m.dequantize_per_tensor(input=%conv, scale=0.5, zero_point=0, quant_min=-128, quant_max=127, dtype=dtype.i8)
output %dq
)",
                                 lay_out);
  EXPECT_EQ(text, R"(graph g
input %x : f32[1,3,4,4]
const %w : i8[2,3,1,1] quant(axis 0, [1.0, 1.0], [0, 0]) = [1, 2, 3, 4, 5, 6]
node "q" "" ""
  %q : i8[1,3,4,4] quant([0.5], [0]) = cortex_m.quantize_per_tensor(input=%x, scale=0.5, zero_point=0, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "q_transpose" "" ""
  %q_transpose : i8[1,4,4,3] quant([0.5], [0]) = cortex_m.transpose(input=%q, perm=[0, 2, 3, 1])
node "q_transpose_relayout" "" ""
  %q_transpose_relayout : i8[1,3,4,4] order(0,2,3,1) quant([0.5], [0]) = cormorant.relayout(self=%q_transpose)
node "conv" "" ""
  %conv : i8[1,2,4,4] order(0,2,3,1) quant([0.5], [0]) = aten.conv2d(input=%q_transpose_relayout, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "conv_relayout" "" ""
  %conv_relayout : i8[1,4,4,2] quant([0.5], [0]) = cormorant.relayout(self=%conv)
node "conv_transpose" "" ""
  %conv_transpose : i8[1,2,4,4] quant([0.5], [0]) = cortex_m.transpose(input=%conv_relayout, perm=[0, 3, 1, 2])
node "dq" "" ""
  %dq : f32[1,2,4,4] = cortex_m.dequantize_per_tensor(input=%conv_transpose, scale=0.5, zero_point=0, quant_min=-128, quant_max=127, dtype=dtype.i8)
output %dq
)");
}

TEST(DecideLayout, NeedsNoTransposeForOneChannelOrInt8Inputs) {
  for (const char* input : {"i8[1,1,4,4] quant([0.5], [0])", "i8[1,3,4,4] quant([0.5], [0])"}) {
    const std::string channels = std::string(input).substr(5, 1);
    const std::string text =
        "graph g\ninput %x : " + std::string(input) + "\nconst %w : i8[1," + channels +
        ",1,1] quant(axis 0, [1.0], [0]) = [" + (channels == "1" ? "1" : "1, 2, 3") +
        "]\nnode \"conv\" \"\" \"\"\n  %conv : i8[1,1,4,4] quant([0.5], [0]) = aten.conv2d(input=%x, "
        "weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)\noutput %conv\n";
    EXPECT_EQ(after(text.c_str(), lay_out).find("transpose"), std::string::npos) << text;
  }
}

// A float input, quantized, times one number per channel. Our own kernels do that in any order.
TEST(DecideLayout, ForExecuTorchChannelsThatRepeatLieBesideEachOther) {
  const char* text = R"(graph g
input %x : f32[1,3,4,4]
const %c : i8[1,3,1,1] quant([0.5], [0]) = [1, 2, 3]
node "q" "" ""
  %q : i8[1,3,4,4] quant([0.5], [0]) = cortex_m.quantize_per_tensor(input=%x, scale=0.5, zero_point=0, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "m" "" ""
  %m : i8[1,3,4,4] quant([0.5], [0]) = cortex_m.quantized_mul(self=%q, self_zero_point=0, other=%c, other_zero_point=0, output_zero_point=0, output_multiplier=1073741824, output_shift=0)
node "dq" "" ""
  %dq : f32[1,3,4,4] = cortex_m.dequantize_per_tensor(input=%m, scale=0.5, zero_point=0, quant_min=-128, quant_max=127, dtype=dtype.i8)
output %dq
)";
  EXPECT_EQ(after(text, lay_out).find("transpose"), std::string::npos);
  const std::string turned = after(text, lay_out_for_executorch);
  EXPECT_NE(turned.find("%m : i8[1,3,4,4] order(0,2,3,1)"), std::string::npos) << turned;
  EXPECT_NE(turned.find("cortex_m.transpose"), std::string::npos) << turned;
}

// The transposes in a graph after the layout is decided, as "[from] perm [to]".
std::vector<std::string> transposes(const char* text) {
  ir::Graph graph = ir::parse(text, "test");
  decide_layout(graph);
  ir::verify(graph, "layout");
  std::vector<std::string> all;
  for (const ir::Node& node : graph.nodes()) {
    if (node.op != "cortex_m.transpose") continue;
    all.push_back(
        fmt::format("{} {} {}", node.tensor("input")->type.shape, node.integers("perm"), node.result()->type.shape));
  }
  return all;
}

TEST(DecideLayout, ReadsAFlattenedAndTransposedImageInPlace) {
  EXPECT_EQ(transposes(R"(graph g
input %x : i8[1,8,3,5] quant([0.5], [0])
node "flat" "" ""
  %flat : i8[1,8,15] quant([0.5], [0]) = aten.view(self=%x, size=[1, 8, 15])
node "tokens" "" ""
  %tokens : i8[1,15,8] quant([0.5], [0]) = cortex_m.transpose(input=%flat, perm=[0, 2, 1])
output %tokens
)"),
            std::vector<std::string>{});
}

TEST(DecideLayout, MakesOneTransposeOfAChannelShuffle) {
  EXPECT_EQ(transposes(R"(graph g
input %x : i8[1,6,3,5] quant([0.5], [0])
node "groups" "" ""
  %groups : i8[1,2,3,3,5] quant([0.5], [0]) = aten.view(self=%x, size=[1, 2, 3, 3, 5])
node "swap" "" ""
  %swap : i8[1,3,2,3,5] quant([0.5], [0]) = cortex_m.transpose(input=%groups, perm=[0, 2, 1, 3, 4])
node "join" "" ""
  %join : i8[1,6,3,5] quant([0.5], [0]) = aten.view(self=%swap, size=[1, 6, 3, 5])
node "max" "" ""
  %max : i8[1,6,3,5] quant([0.5], [0]) = cortex_m.pad(input=%join, pre_pad=[0, 0, 0, 0], post_pad=[0, 0, 0, 0], pad_value=0)
output %max
)"),
            std::vector<std::string>{"[15, 2, 3] [0, 2, 1] [15, 3, 2]"});
}

TEST(DecideLayout, CancelsPermutationsThatUndoEachOther) {
  EXPECT_EQ(transposes(R"(graph g
input %x : i8[2,3,4] quant([0.5], [0])
node "a" "" ""
  %a : i8[4,2,3] quant([0.5], [0]) = cortex_m.transpose(input=%x, perm=[2, 0, 1])
node "b" "" ""
  %b : i8[2,3,4] quant([0.5], [0]) = cortex_m.transpose(input=%a, perm=[1, 2, 0])
node "c" "" ""
  %c : i8[3,2,4] quant([0.5], [0]) = cortex_m.transpose(input=%b, perm=[1, 0, 2])
output %b
output %c
)"),
            std::vector<std::string>{"[2, 3, 4] [1, 0, 2] [3, 2, 4]"});
}

TEST(DecideLayout, ReordersALinearsColumnsInsteadOfTheImageBeforeIt) {
  const std::string text = after(R"(graph g
input %x : i8[1,2,1,3] quant([0.5], [0])
const %w : i8[1,6] quant([1.0], [0]) = [1, 2, 3, 4, 5, 6]
node "flat" "" ""
  %flat : i8[1,6] quant([0.5], [0]) = aten.view(self=%x, size=[1, 6])
node "fc" "" ""
  %fc : i8[1,1] quant([0.5], [0]) = cortex_m.quantized_linear(input=%flat, weights=%w)
output %fc
)",
                                 lay_out);
  EXPECT_NE(text.find("= [1, 4, 2, 5, 3, 6]"), std::string::npos) << text;  // channels of a pixel side by side
  EXPECT_EQ(text.find("transpose"), std::string::npos) << text;
}

// Two images side by side, row by row: a row of the linear's input is no longer one stretch of memory.
TEST(DecideLayout, TurnsImagesWhoseBatchIsNotOutermostBeforeALinear) {
  const std::string text = after(R"(graph g
input %x : i8[2,2,3] quant([0.5], [0])
const %w : i8[1,6] quant([1.0], [0]) = [1, 2, 3, 4, 5, 6]
node "swap" "" ""
  %swap : i8[2,2,3] quant([0.5], [0]) = cortex_m.transpose(input=%x, perm=[1, 0, 2])
node "image" "" ""
  %image : i8[2,2,1,3] quant([0.5], [0]) = aten.view(self=%swap, size=[2, 2, 1, 3])
node "flat" "" ""
  %flat : i8[2,6] quant([0.5], [0]) = aten.view(self=%image, size=[2, 6])
node "fc" "" ""
  %fc : i8[2,1] quant([0.5], [0]) = cortex_m.quantized_linear(input=%flat, weights=%w)
output %fc
)",
                                 lay_out);
  EXPECT_NE(text.find("weights=%w)"), std::string::npos) << text;
  EXPECT_NE(text.find("cortex_m.transpose"), std::string::npos) << text;
}

TEST(DecideLayout, TurnsAConstantOperandAtCompileTime) {
  const std::string text = after(R"(graph g
input %x : i8[1,2,1,3] quant([0.5], [0])
const %c : i8[1,2,1,3] quant([0.5], [0]) = [1, 2, 3, 4, 5, 6]
node "clamp" "" ""
  %clamp : i8[1,2,1,3] quant([0.5], [0]) = cortex_m.quantize_per_tensor(self=%x, other=%c)
output %clamp
)",
                                 lay_out);
  EXPECT_NE(text.find("order(0,2,3,1) quant([0.5], [0]) = [1, 4, 2, 5, 3, 6]"), std::string::npos) << text;
}

// By brute force: a view keeps every element's place in memory.
TEST(MemoryOrder, OfAViewKeepsElementsInPlace) {
  const std::vector<ir::Shape> shapes = {{2, 3, 4, 5}, {2, 12, 5},    {6, 20},    {2, 3, 2, 2, 5},
                                         {120},        {2, 1, 3, 20}, {1, 2, 60}, {2, 3, 4, 1, 5}};
  const std::vector<Order> orders4 = {{}, {0, 2, 3, 1}, {3, 2, 1, 0}, {0, 2, 1, 3}, {2, 3, 0, 1}};
  int kept = 0, refused = 0;
  for (const Order& order : orders4) {
    ir::TensorType type = ir::float_type({2, 3, 4, 5});
    type.dim_order = order;
    for (const ir::Shape& shape : shapes) {
      const std::optional<Order> viewed = order_of_view(type, shape);
      if (!viewed) {
        ++refused;
        ir::TensorType near = type;
        near.dim_order = order_for_view(type, shape);
        EXPECT_TRUE(order_of_view(near, shape)) << fmt::format("{} {}", shape, order);
        continue;
      }
      ++kept;
      ir::TensorType to = ir::float_type(shape);
      to.dim_order = *viewed;
      EXPECT_EQ(memory_sequence(type), memory_sequence(to)) << fmt::format("{} {}", shape, order);
    }
  }
  EXPECT_GT(kept, 15);
  EXPECT_GT(refused, 10);
}

TEST(CleanUp, KeepsEqualConstantsOnce) {
  EXPECT_EQ(after(R"(graph g
input %x : f32[1]
const %a : f32[1] = [1.0]
const %b : f32[1] = [1.0]
const %c : f32[1] = [2.0]
const %unused : f32[1] = [3.0]
node "n" "" ""
  %n : f32[1] = aten.x(self=%x, a=%a, b=%b, c=%c)
output %n
)",
                  clean_up),
            R"(graph g
input %x : f32[1]
const %a : f32[1] = [1.0]
const %c : f32[1] = [2.0]
node "n" "" ""
  %n : f32[1] = aten.x(self=%x, a=%a, b=%a, c=%c)
output %n
)");
}

// aten.pad is what int8 borders are; this is its float kernel's name, which would fail only when the program is loaded.
TEST(RequireProgramOperators, RefusesInt8ForAKernelThatComputesInFloat) {
  const auto complaint = [](const std::string& type) -> std::string {
    const ir::Graph graph = ir::parse(fmt::format(R"(graph g
input %x : {0}
node "pad" "border" "m.py:7"
  %y : {0} = aten.constant_pad_nd(self=%x, pad=[0, 0], value=0.0)
output %y
)",
                                                  type),
                                      "test");
    try {
      require_program_operators(graph, {});
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint("f32[1,3,4,4]"), "");
  const std::string refusal = complaint("i8[1,3,4,4] quant([0.05], [-5])");
  EXPECT_NE(refusal.find("aten.constant_pad_nd computes in float"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("m.py:7"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("use aten.pad"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace cormorant::passes
