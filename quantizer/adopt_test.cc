// SPDX-License-Identifier: Apache-2.0
//
// Models that arrive quantized, text in, text out, with the real operators.
#include "quantizer/adopt.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"

namespace cormorant::quantizer {
namespace {

struct Adopted {
  std::string text;
  std::vector<FloatNode> left;
  std::vector<Decision> decisions;
};

Adopted adopted(const std::string& text, bool int8_io = false) {
  ir::Graph graph = ir::parse(text, "test");
  EXPECT_TRUE(is_quantized_model(graph));
  AdoptReport report = adopt(graph, int8_io);
  ir::verify(graph, "adopt");
  return {ir::print(graph), std::move(report.float_nodes), std::move(report.decisions)};
}

std::string quantize(const std::string& name, const std::string& from, const std::string& type, const char* scale,
                     const char* zero) {
  return "node \"" + name + "\" \"\" \"\"\n  %" + name + " : i8" + type + " quant([" + scale + "], [" + zero +
         "]) = quantized_decomposed.quantize_per_tensor(input=%" + from + ", scale=" + scale + ", zero_point=" + zero +
         ", quant_min=-128, quant_max=127, dtype=dtype.i8)\n";
}

std::string dequantize(const std::string& name, const std::string& from, const std::string& type, const char* scale,
                       const char* zero) {
  return "node \"" + name + "\" \"\" \"\"\n  %" + name + " : f32" + type +
         " = quantized_decomposed.dequantize_per_tensor(input=%" + from + ", scale=" + scale + ", zero_point=" + zero +
         ", quant_min=-128, quant_max=127, dtype=dtype.i8)\n";
}

const std::string kLinear = R"(graph g
input %x : f32[1,2]
const %w : i8[1,2] quant([0.5], [0]) = [-128, 3]
const %b : f32[1] = [2.0]
)" + quantize("xq", "x", "[1,2]", "0.25", "-3") +
                            dequantize("xd", "xq", "[1,2]", "0.25", "-3") + dequantize("wd", "w", "[1,2]", "0.5", "0") +
                            R"(node "fc" "fc" ""
  %fc : f32[1,1] = aten.linear(input=%xd, weight=%wd, bias=%b)
)" + quantize("yq", "fc", "[1,1]", "1.0", "7") +
                            dequantize("yd", "yq", "[1,1]", "1.0", "7") + "output %yd\n";

// The bias's unit is 0.25 · 0.5: 2.0 is 16 of them. Weights of -128 are the model's own and stay.
TEST(Adopt, TakesTheModelsParametersAndIntegers) {
  EXPECT_EQ(adopted(kLinear).text, R"(graph g
input %x : f32[1,2]
const %w : i8[1,2] quant([0.5], [0]) = [-128, 3]
const %b_int : i32[1] quant([0.125], [0]) = [16]
)" + quantize("xq", "x", "[1,2]", "0.25", "-3") +
                                       R"(node "fc" "fc" ""
  %fc : i8[1,1] quant([1.0], [7]) = aten.linear(input=%xq, weight=%w, bias=%b_int)
)" + dequantize("yd", "fc", "[1,1]", "1.0", "7") +
                                       "output %yd\n");
  EXPECT_TRUE(adopted(kLinear).left.empty());
  const Decision decision = adopted(kLinear).decisions.at(0);
  EXPECT_EQ(decision.rule, "the model's parameters");
  EXPECT_EQ(decision.scale, 1.0);
  EXPECT_EQ(decision.zero_point, 7);
  EXPECT_NE(decision.weights.find("int8 per "), std::string::npos) << decision.weights;
}

// The factors of a norm are numbers, not a tensor of weights.
TEST(Adopt, TakesNorms) {
  const std::string text = "graph g\ninput %x : f32[1,2]\n" + quantize("xq", "x", "[1,2]", "0.25", "-3") +
                           dequantize("xd", "xq", "[1,2]", "0.25", "-3") +
                           "node \"norm\" \"norm\" \"\"\n  %norm : f32[1,2] = aten.layer_norm(input=%xd, groups=1, "
                           "channels=2, inner=1, weight=floats[1.0, 0.5], bias=floats[0.0, 2.0], eps=1e-05, "
                           "subtracts_mean=true)\n" +
                           quantize("yq", "norm", "[1,2]", "0.5", "7") + dequantize("yd", "yq", "[1,2]", "0.5", "7") +
                           "output %yd\n";
  const auto result = adopted(text);
  EXPECT_NE(result.text.find("%norm : i8[1,2] quant([0.5], [7]) = aten.layer_norm(input=%xq"), std::string::npos)
      << result.text;
  EXPECT_TRUE(result.left.empty());
  EXPECT_EQ(result.decisions.at(0).rule, "the model's parameters");
  EXPECT_EQ(result.decisions.at(0).weights, "");
}

TEST(Adopt, LeavesTheBorderToTheCallerWithIntegerInputsAndOutputs) {
  const std::string text = adopted(kLinear, true).text;
  EXPECT_EQ(text.find("quantized_decomposed"), std::string::npos) << text;
  EXPECT_NE(text.find("input %x : i8[1,2] quant([0.25], [-3])"), std::string::npos) << text;
  EXPECT_NE(text.find("output %fc"), std::string::npos) << text;
}

TEST(Adopt, NamesWhatTheModelLeavesInFloat) {
  const Adopted result = adopted(R"(graph g
input %x : f32[1,2]
const %w : i8[1,2] quant([0.5], [0]) = [1, 2]
)" + quantize("xq", "x", "[1,2]", "0.25", "0") +
                                 dequantize("xd", "xq", "[1,2]", "0.25", "0") +
                                 dequantize("wd", "w", "[1,2]", "0.5", "0") + R"(node "fc" "blocks.fc" "m.py:7"
  %fc : f32[1,1] = aten.linear(input=%xd, weight=%wd, bias=none)
output %fc
)");
  ASSERT_EQ(result.left.size(), 1U);
  EXPECT_EQ(result.left[0].node, "fc");
  EXPECT_EQ(result.left[0].source, "blocks.fc (m.py:7)");
  EXPECT_EQ(result.left[0].reason, "the model does not quantize its result");
  ASSERT_EQ(result.decisions.size(), 1U);
  EXPECT_EQ(result.decisions[0].rule, "float");
  EXPECT_EQ(result.decisions[0].reason, result.left[0].reason);
  EXPECT_NE(result.text.find("f32[1,2] = [0.5, 1.0]"), std::string::npos) << result.text;  // the weights, in float
}

// As a quantizer does that takes a transposed convolution's first dimension for its results'.
TEST(Adopt, LeavesLayersWhoseScalesAreNotThoseOfTheirResults) {
  const Adopted result = adopted(R"(graph g
input %x : f32[1,2]
const %w : i8[1,2] quant(axis 1, [0.5, 0.25], [0, 0]) = [1, 2]
)" + quantize("xq", "x", "[1,2]", "0.25", "0") +
                                 dequantize("xd", "xq", "[1,2]", "0.25", "0") + R"(node "wd" "" ""
  %wd : f32[1,2] = quantized_decomposed.dequantize_per_channel(input=%w)
node "fc" "blocks.fc" "m.py:7"
  %fc : f32[1,1] = aten.linear(input=%xd, weight=%wd, bias=none)
)" + quantize("yq", "fc", "[1,1]", "1.0", "7") +
                                 dequantize("yd", "yq", "[1,1]", "1.0", "7") + "output %yd\n");
  ASSERT_EQ(result.left.size(), 1U);
  EXPECT_EQ(result.left[0].reason, "the model quantizes its weight along a different dimension than its results");
}

// Quantizers leave slopes in float. Each is the last level of a scale of its own, so nothing is rounded.
TEST(Adopt, TakesSlopesInFloat) {
  const Adopted result =
      adopted("graph g\ninput %x : f32[1,2]\nconst %w : f32[2] = [0.127, -12.7]\n" +
              quantize("xq", "x", "[1,2]", "0.25", "0") + dequantize("xd", "xq", "[1,2]", "0.25", "0") +
              "node \"p\" \"\" \"\"\n  %p : f32[1,2] = aten.prelu(self=%xd, weight=%w)\n" +
              quantize("pq", "p", "[1,2]", "0.5", "1") + dequantize("pd", "pq", "[1,2]", "0.5", "1") + "output %pd\n");
  EXPECT_TRUE(result.left.empty());
  EXPECT_NE(result.text.find("%p : i8[1,2] quant([0.5], [1]) = aten.prelu(self=%xq, weight=%w_int)"), std::string::npos)
      << result.text;
  EXPECT_NE(result.text.find("= [127, -127]"), std::string::npos) << result.text;
}

// A view cannot change a scale: the model that does so gets a conversion before it.
TEST(Adopt, ConvertsBeforeDataMovementThatChangesTheScale) {
  const std::string text =
      adopted("graph g\ninput %x : f32[4]\n" + quantize("xq", "x", "[4]", "0.25", "0") +
              dequantize("xd", "xq", "[4]", "0.25", "0") +
              "node \"v\" \"\" \"\"\n  %v : f32[2,2] = aten.view(self=%xd, size=[2, 2])\n" +
              quantize("vq", "v", "[2,2]", "0.5", "1") + dequantize("vd", "vq", "[2,2]", "0.5", "1") + "output %vd\n")
          .text;
  EXPECT_NE(text.find("%xq_requantize : i8[4] quant([0.5], [1]) = cormorant.requantize(self=%xq)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("%v : i8[2,2] quant([0.5], [1]) = aten.view(self=%xq_requantize"), std::string::npos) << text;
}

const std::string kQuantizedInput = "graph g\ninput %x : f32[2,3]\n" + quantize("xq", "x", "[2,3]", "0.25", "-3") +
                                    dequantize("xd", "xq", "[2,3]", "0.25", "-3");

// The largest integer is the largest number. A view in between, which the model does not quantize, is one of integers.
TEST(Adopt, AnswersFromIntegers) {
  const std::string largest = "node \"a\" \"\" \"\"\n  %a : i64[2] = aten.argmax(self=";
  const Adopted direct = adopted(kQuantizedInput + largest + "%xd, dim=1, keepdim=false)\noutput %a\n");
  EXPECT_NE(direct.text.find("aten.argmax(self=%xq, dim=1"), std::string::npos) << direct.text;
  EXPECT_EQ(direct.text.find("dequantize"), std::string::npos) << direct.text;
  EXPECT_TRUE(direct.left.empty());
  EXPECT_EQ(direct.decisions.at(0).precision, "8w8a");
  EXPECT_EQ(direct.decisions.at(0).zero_point, -3);

  const std::string view = "node \"v\" \"\" \"\"\n  %v : f32[3,2] = aten.view(self=%xd, size=[3, 2])\n";
  const std::string of_view = kQuantizedInput + view + largest + "%v, dim=0, keepdim=false)\n";
  const Adopted viewed = adopted(of_view + "output %a\n");
  EXPECT_NE(viewed.text.find("%v : i8[3,2] quant([0.25], [-3]) = aten.view(self=%xq"), std::string::npos)
      << viewed.text;
  EXPECT_NE(viewed.text.find("aten.argmax(self=%v, dim=0"), std::string::npos) << viewed.text;
  EXPECT_TRUE(viewed.left.empty());
  // Unless something else reads it.
  const Adopted kept = adopted(of_view + "output %a\noutput %v\n");
  ASSERT_EQ(kept.left.size(), 2U);
  EXPECT_EQ(kept.left[1].reason, "the model does not quantize its operand");
  EXPECT_NE(kept.text.find("%v : f32[3,2]"), std::string::npos) << kept.text;
}

// The number to compare with stays real, also where the model has quantized it: lowering finds its threshold.
TEST(Adopt, ComparesIntegersWithNumbers) {
  const std::string number = "const %c : i8[1] quant([0.5], [0]) = [3]\n" + quantize("xq", "x", "[2,3]", "0.25", "-3") +
                             dequantize("xd", "xq", "[2,3]", "0.25", "-3") + dequantize("cd", "c", "[1]", "0.5", "0");
  const Adopted constant = adopted("graph g\ninput %x : f32[2,3]\n" + number +
                                   "node \"g\" \"\" \"\"\n  %g : bool[2,3] = aten.gt.Tensor_out(self=%xd, other=%cd)\n"
                                   "output %g\n");
  EXPECT_NE(constant.text.find("const %c_real : f32[1] = [1.5]"), std::string::npos) << constant.text;
  EXPECT_NE(constant.text.find("aten.gt.Tensor_out(self=%xq, other=%c_real)"), std::string::npos) << constant.text;
  EXPECT_TRUE(constant.left.empty());

  const Adopted both = adopted(kQuantizedInput +
                               "node \"g\" \"\" \"\"\n  %g : bool[2,3] = aten.gt.Tensor_out(self=%xd, other=%xd)\n"
                               "output %g\n");
  ASSERT_EQ(both.left.size(), 1U);
  EXPECT_EQ(both.left[0].reason, "only comparisons of a tensor with a constant have an integer form");
}

// What answers from numbers that the model leaves in float is listed.
TEST(Adopt, ListsAnswersFromFloats) {
  const Adopted result =
      adopted(kQuantizedInput +
              "node \"a\" \"\" \"\"\n  %a : i64[2] = aten.argmax(self=%x, dim=1, keepdim=false)\noutput %a\n"
              "output %xd\n");
  ASSERT_EQ(result.left.size(), 1U);
  EXPECT_EQ(result.left[0].op, "aten.argmax");
  EXPECT_EQ(result.left[0].reason, "the model does not quantize its operand");
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// The same model with activations of 16 bits.
std::string in_words(std::string text) {
  replace_all(text, " : i8[1,2] quant([0.25]", " : i16[1,2] quant(range -32768 32767, [0.25]");
  replace_all(text, " : i8[1,1] quant(", " : i16[1,1] quant(range -32768 32767, ");
  for (const char* name : {"xq", "xd", "yq", "yd"}) {
    const std::size_t node = text.find("node \"" + std::string(name));
    const std::size_t at = text.find("quant_min", node);
    text.replace(at, text.find(')', at) - at, "quant_min=-32768, quant_max=32767, dtype=dtype.i16");
  }
  replace_all(text, "zero_point=-3", "zero_point=0");
  replace_all(text, "[-3]", "[0]");
  return text;
}

TEST(Adopt, TakesSymmetricActivationsOf16Bits) {
  std::string text = in_words(kLinear);
  // The result's zero point, 7, has no place in 16 bits.
  EXPECT_EQ(adopted(text).left.at(0).reason, "its 16-bit result has a zero point");
  for (const auto& [from, to] : {std::pair{"zero_point=7", "zero_point=0"}, std::pair{"[7]", "[0]"}}) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
      text.replace(at, std::string(from).size(), to);
    }
  }
  const Adopted result = adopted(text);
  EXPECT_TRUE(result.left.empty());
  EXPECT_EQ(result.decisions.at(0).precision, "8w16a");
  EXPECT_NE(result.text.find("%fc : i16[1,1] quant(range -32768 32767, [1.0], [0]) = "
                             "aten.linear(input=%xq, weight=%w, bias=%b_int)"),
            std::string::npos)
      << result.text;
}

// Training lets channels wither, and 16-bit activations have fine units: the products' unit may be 2^-35, of which 32
// bits end at 1/16. The first bias is 2 and needs a unit 2^6 times as large; the second fits as it is.
TEST(Adopt, ABiasThatDoesNotFitMakesItsChannelsWeightsCoarser) {
  std::string text = in_words(kLinear);
  replace_all(text, "[1,1]", "[1,2]");
  replace_all(text, "zero_point=7", "zero_point=0");
  replace_all(text, "[7]", "[0]");
  replace_all(text, "0.25", "3.0517578125e-05");  // 2^-15
  replace_all(text, "const %w : i8[1,2] quant([0.5], [0]) = [-128, 3]",
              "const %w : i8[2,2] quant(axis 0, [9.5367431640625e-07, 0.5], [0, 0]) = [0, 64, -128, 3]");  // 2^-20
  replace_all(text, "const %b : f32[1] = [2.0]", "const %b : f32[2] = [2.0, -1.0]");
  const Adopted result = adopted(text);
  EXPECT_TRUE(result.left.empty());
  EXPECT_NE(result.text.find("const %w_coarser : i8[2,2] quant(axis 0, [6.103515625e-05, 0.5], [0, 0]) = "
                             "[0, 1, -128, 3]"),
            std::string::npos)
      << result.text;
  EXPECT_NE(result.text.find("const %b_int : i32[2] quant(axis 0, [1.862645149230957e-09, 1.52587890625e-05], [0, 0]) "
                             "= [1073741824, -65536]"),
            std::string::npos)
      << result.text;
}

// Weights with one scale get one per channel, so that only those of the channel in question are rounded.
TEST(Adopt, ABiasThatDoesNotFitLeavesOtherChannelsAlone) {
  std::string text = kLinear;
  replace_all(text, "[1,1]", "[1,2]");
  replace_all(text, "const %w : i8[1,2] quant([0.5], [0]) = [-128, 3]",
              "const %w : i8[2,2] quant([2.3283064365386963e-10], [0]) = [7, 64, -128, 3]");  // 2^-32
  replace_all(text, "scale=0.5", "scale=2.3283064365386963e-10");
  replace_all(text, "const %b : f32[1] = [2.0]", "const %b : f32[2] = [2.0, 0.0]");
  const Adopted result = adopted(text);
  EXPECT_NE(result.text.find("const %w_coarser : i8[2,2] quant(axis 0, [7.450580596923828e-09, "
                             "2.3283064365386963e-10], [0, 0]) = [0, 2, -128, 3]"),
            std::string::npos)
      << result.text;
  EXPECT_NE(result.text.find("= [1073741824, 0]"), std::string::npos) << result.text;
}

// A number in the model's code has the bits of what it is added to.
TEST(Adopt, NumbersHaveTheBitsOfTheActivationsTheyMeet) {
  const std::string sum = "graph g\ninput %x : f32[1,2]\nconst %c : f32[1] = [0.5]\n" +
                          quantize("xq", "x", "[1,2]", "0.25", "0") + dequantize("xd", "xq", "[1,2]", "0.25", "0") +
                          "node \"s\" \"\" \"\"\n  %s : f32[1,2] = aten.add(self=%xd, other=%c, alpha=1.0)\n";
  const auto with = [&](const std::string& zero) {
    return sum + quantize("yq", "s", "[1,2]", "0.5", zero.c_str()) + dequantize("yd", "yq", "[1,2]", "0.5", "0") +
           "output %yd\n";
  };
  EXPECT_NE(adopted(with("0")).text.find("const %c_int : i8[1] quant(range -127 127, "), std::string::npos);
  std::string wide = with("0");
  replace_all(wide, " : i8[1,2] quant(", " : i16[1,2] quant(range -32768 32767, ");
  replace_all(wide, "quant_min=-128, quant_max=127, dtype=dtype.i8",
              "quant_min=-32768, quant_max=32767, dtype=dtype.i16");
  const Adopted result = adopted(wide);
  EXPECT_TRUE(result.left.empty());
  EXPECT_NE(result.text.find("const %c_int : i16[1] quant(range -32768 32767, "), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("= [32767]"), std::string::npos) << result.text;
}

TEST(Adopt, TakesWeightsOf4Bits) {
  std::string text = kLinear;
  const std::string weights = "quant([0.5], [0]) = [-128, 3]";
  text.replace(text.find(weights), weights.size(), "quant(range -8 7, [0.5], [0]) = [-8, 3]");
  const Adopted result = adopted(text);
  EXPECT_TRUE(result.left.empty());
  EXPECT_EQ(result.decisions.at(0).precision, "4w8a");
  EXPECT_TRUE(result.decisions.at(0).weights.starts_with("int4 per tensor")) << result.decisions.at(0).weights;
}

// Nothing says which integers the activations are, so it is a float model.
TEST(Adopt, WeightsAloneMakeNoQuantizedModel) {
  const std::string text = R"(graph g
input %x : f32[1,2]
const %w : i8[1,2] quant(axis 0, range -8 7, [0.5], [0]) = [-8, 3]
node "wd" "" ""
  %wd : f32[1,2] = quantized_decomposed.dequantize_per_channel(input=%w)
node "fc" "fc" ""
  %fc : f32[1,1] = aten.linear(input=%x, weight=%wd, bias=none)
output %fc
)";
  ir::Graph graph = ir::parse(text, "test");
  EXPECT_FALSE(is_quantized_model(graph));
  EXPECT_EQ(real_weights(graph), 1U);
  ir::verify(graph, "real_weights");
  EXPECT_NE(ir::print(graph).find("const %w_real : f32[1,2] = [-4.0, 1.5]"), std::string::npos) << ir::print(graph);
  EXPECT_EQ(ir::print(graph).find("quantized_decomposed"), std::string::npos);

  graph = ir::parse(kLinear, "test");
  EXPECT_EQ(real_weights(graph), 0U);
  EXPECT_EQ(ir::print(graph), ir::print(ir::parse(kLinear, "test")));
}

}  // namespace
}  // namespace cormorant::quantizer
