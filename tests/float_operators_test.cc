// SPDX-License-Identifier: Apache-2.0
//
// Every operator in float: near PyTorch's semantics, and on the boards, with and without FPU, with the host's bits.
#include <gtest/gtest.h>

#include "target/parse.h"
#include "tests/conformance/conformance.h"

namespace cormorant::conformance {
namespace {

using Ints = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

ir::Argument i(std::int64_t n) { return ir::Argument{n}; }

// One node on one input of that shape.
Case of_input(std::string op, ir::Shape shape, std::vector<ir::NamedArgument> args, const char* input = "self") {
  return {op, [=](ir::Graph& g) {
            std::vector<ir::NamedArgument> all = {{input, float_input(g, shape)}};
            all.insert(all.end(), args.begin(), args.end());
            return add_float(g, op, std::move(all));
          }};
}

std::vector<Case> functions() {
  std::vector<Case> cases;
  for (const char* name :
       {"abs",  "acos",   "acosh", "asin",       "asinh", "atan",  "atanh",       "ceil",      "cos",
        "cosh", "erf",    "erfc",  "exp",        "exp2",  "expm1", "floor",       "frac",      "hardsigmoid",
        "log",  "log10",  "log1p", "log2",       "mish",  "neg",   "log_sigmoid", "hardswish", "round",
        "sgn",  "rsqrt",  "selu",  "reciprocal", "sign",  "silu",  "sin",         "sinh",      "sigmoid",
        "sqrt", "square", "tan",   "tanh",       "trunc"}) {
    cases.push_back(of_input(std::string("aten.") + name, {3, 7}, {}));
  }
  cases.push_back(of_input("aten.celu", {3, 7}, {{"alpha", 1.3}}));
  cases.push_back(of_input("aten.elu", {3, 7}, {{"alpha", 1.3}, {"scale", i(2)}, {"input_scale", 0.5}}));
  cases.push_back(of_input("aten.gelu", {3, 7}, {{"approximate", std::string("none")}}));
  cases.push_back(of_input("aten.gelu", {3, 7}, {{"approximate", std::string("tanh")}}));
  cases.push_back(of_input("aten.hardshrink", {3, 7}, {{"lambd", 0.5}}));
  cases.push_back(of_input("aten.leaky_relu", {3, 7}, {{"negative_slope", 0.01}}));
  cases.push_back(of_input("aten.logit", {3, 7}, {{"eps", ir::Argument{}}}));
  cases.push_back(of_input("aten.logit", {3, 7}, {{"eps", 0.125}}));
  cases.push_back(of_input("aten.pow", {3, 7}, {{"exponent", 2.5}}));
  cases.push_back(of_input("aten.pow", {3, 7}, {{"exponent", 3.0}}));
  cases.push_back(of_input("aten.pow_of_base", {3, 7}, {{"base", 1.25}}));
  cases.push_back(of_input("aten.softplus", {3, 7}, {{"beta", 2.0}, {"threshold", i(20)}}));
  cases.push_back(of_input("aten.softshrink", {3, 7}, {{"lambd", 0.5}}));
  cases.push_back(of_input("aten.threshold", {3, 7}, {{"threshold", 0.25}, {"value", i(-3)}}));
  cases.push_back(of_input("aten.clamp", {3, 7}, {{"min", 0.0}, {"max", ir::Argument{}}}));
  cases.push_back(of_input("aten.clamp", {3, 7}, {{"min", ir::Argument{}}, {"max", 1.5}}));
  cases.push_back(of_input("aten.clamp", {3, 7}, {{"min", 2.0}, {"max", -2.0}}));
  return cases;
}

std::vector<Case> pairs() {
  std::vector<Case> cases;
  const std::pair<ir::Shape, ir::Shape> shapes[] = {
      {{2, 3, 5}, {2, 3, 5}}, {{2, 3, 4, 5}, {3, 1, 1}}, {{1, 5}, {3, 1}}, {{2, 3, 4, 5}, {2, 1, 4, 1}}, {{}, {7}}};
  for (const auto& [a, b] : shapes) {
    for (const char* op : {"aten.add", "aten.mul", "aten.div", "aten.minimum", "aten.maximum"}) {
      cases.push_back({op, [=](ir::Graph& g) {
                         std::vector<ir::NamedArgument> args = {{"self", float_input(g, a)},
                                                                {"other", float_input(g, b)}};
                         if (std::string_view(op) == "aten.add") args.push_back({"alpha", -1.5});
                         return add_float(g, op, std::move(args));
                       }});
    }
  }
  cases.push_back({"a sum with a constant and a fused relu", [](ir::Graph& g) {
                     std::mt19937 random(3);
                     return add_float(g, "aten.add",
                                      {{"self", float_input(g, {1, 3, 4, 4})},
                                       {"other", float_constant(g, {3, 1, 1}, random)},
                                       {"alpha", 1.0},
                                       {"activation_min", 0.0}});
                   }});
  cases.push_back({"prelu", [](ir::Graph& g) {
                     std::mt19937 random(4);
                     return add_float(
                         g, "aten.prelu",
                         {{"self", float_input(g, {2, 3, 4, 4})}, {"weight", float_constant(g, {3}, random)}});
                   }});
  return cases;
}

struct Convolution {
  ir::Shape input, weight;
  Ints stride, padding, dilation, output_padding;
  std::int64_t groups;
  bool bias, transposed = false, relu = false;
};

std::vector<Case> products() {
  const Convolution convolutions[] = {
      {{1, 3, 7, 6}, {5, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {}, 1, true, false, true},
      {{2, 4, 9, 8}, {6, 2, 3, 2}, {2, 1}, {1, 0}, {1, 2}, {}, 2, false},
      {{1, 5, 8, 8}, {5, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {}, 5, true},
      {{1, 7, 1, 1}, {3, 7, 1, 1}, {1, 1}, {0, 0}, {1, 1}, {}, 1, true},
      {{1, 2, 3, 3}, {2, 2, 3, 3}, {3, 3}, {3, 3}, {1, 1}, {}, 1, true},
      {{1, 3, 4, 5}, {3, 2, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 0}, 1, true, true},
      {{2, 4, 3, 3}, {4, 3, 2, 3}, {1, 3}, {0, 2}, {2, 1}, {0, 1}, 2, false, true},
  };
  std::vector<Case> cases;
  for (const Convolution& c : convolutions) {
    cases.push_back({c.transposed ? "transposed convolution" : "convolution", [=](ir::Graph& g) {
                       std::mt19937 random(5);
                       const std::int64_t outputs = c.transposed ? c.weight[1] * c.groups : c.weight[0];
                       std::vector<ir::NamedArgument> args = {
                           {"input", float_input(g, c.input)},
                           {"weight", float_constant(g, c.weight, random)},
                           {"bias", c.bias ? ir::Argument{float_constant(g, {outputs}, random)} : ir::Argument{}},
                           {"stride", c.stride},
                           {"padding", c.padding},
                           {"dilation", c.dilation},
                           {"groups", c.groups}};
                       if (c.transposed) args.push_back({"output_padding", c.output_padding});
                       if (c.relu) args.push_back({"activation_min", 0.0});
                       return add_float(g, c.transposed ? "aten.conv_transpose2d" : "aten.conv2d", std::move(args));
                     }});
  }
  for (const ir::Shape& shape : {ir::Shape{1, 9}, {4, 9}, {2, 3, 9}, {9}}) {
    for (const bool bias : {false, true}) {
      cases.push_back({"linear", [=](ir::Graph& g) {
                         std::mt19937 random(6);
                         return add_float(
                             g, "aten.linear",
                             {{"input", float_input(g, shape)},
                              {"weight", float_constant(g, {5, 9}, random)},
                              {"bias", bias ? ir::Argument{float_constant(g, {5}, random)} : ir::Argument{}},
                              {"activation_max", 2.0}});
                       }});
    }
  }
  const struct {
    ir::Shape self, mat2;
    bool transposed;
    double scale;
  } matrices[] = {{{2, 3, 4}, {2, 4, 5}, false, 1}, {{2, 3, 4}, {2, 5, 4}, true, 0.25},
                  {{3, 4}, {4, 2}, false, 1},       {{2, 3, 4, 5}, {5, 2}, false, 2},
                  {{2, 3, 4}, {1, 5, 4}, true, 1},  {{1, 3, 4, 5}, {2, 1, 6, 5}, true, 1}};
  for (const auto& m : matrices) {
    for (const bool constant : {false, true}) {
      cases.push_back({"matrix product", [=](ir::Graph& g) {
                         std::mt19937 random(7);
                         ir::Value* self = float_input(g, m.self);
                         ir::Value* mat2 = constant ? float_constant(g, m.mat2, random) : float_input(g, m.mat2);
                         return add_float(
                             g, "aten.bmm",
                             {{"self", self}, {"mat2", mat2}, {"transposed", m.transposed}, {"scale", m.scale}});
                       }});
    }
  }
  return cases;
}

std::vector<Case> rows_and_windows() {
  std::vector<Case> cases;
  for (const bool counts : {false, true}) {
    for (const bool ceil : {false, true}) {
      cases.push_back(of_input("aten.avg_pool2d", {2, 3, 7, 6},
                               {{"kernel_size", Ints{3, 2}},
                                {"stride", Ints{2, 3}},
                                {"padding", Ints{1, 1}},
                                {"ceil_mode", ceil},
                                {"count_include_pad", counts},
                                {"divisor_override", ir::Argument{}}}));
      cases.push_back(of_input("aten.max_pool2d", {2, 3, 9, 8},
                               {{"kernel_size", Ints{3, 2}},
                                {"stride", Ints{2, 3}},
                                {"padding", Ints{1, 1}},
                                {"dilation", counts ? Ints{2, 1} : Ints{1, 3}},
                                {"ceil_mode", ceil}}));
    }
  }
  cases.push_back(of_input("aten.avg_pool2d", {1, 2, 4, 4},
                           {{"kernel_size", Ints{2, 2}},
                            {"stride", Ints{2, 2}},
                            {"padding", Ints{0, 0}},
                            {"ceil_mode", false},
                            {"count_include_pad", true},
                            {"divisor_override", i(3)}}));
  cases.push_back(of_input("aten.adaptive_avg_pool2d", {2, 3, 7, 5}, {{"output_size", Ints{3, 4}}}));
  for (const char* op : {"aten.mean", "aten.sum", "aten.amax", "aten.amin"}) {
    cases.push_back(of_input(op, {2, 3, 4, 5}, {{"dim", Ints{2, 3}}}));
    cases.push_back(of_input(op, {2, 3, 4, 5}, {{"dim", Ints{1}}}));
    cases.push_back(of_input(op, {7}, {{"dim", Ints{0}}}));
  }
  for (const std::int64_t dim : {0, 1, 2}) {
    cases.push_back(of_input("aten.softmax", {3, 5, 4}, {{"dim", dim}}));
    cases.push_back(of_input("aten.log_softmax", {3, 5, 4}, {{"dim", dim}}));
  }
  const auto norm = [&](std::int64_t groups, std::int64_t channels, std::int64_t inner, ir::Argument weight,
                        ir::Argument bias, bool mean) {
    cases.push_back(of_input("aten.layer_norm", {2, 6, 4},
                             {{"groups", groups},
                              {"channels", channels},
                              {"inner", inner},
                              {"weight", std::move(weight)},
                              {"bias", std::move(bias)},
                              {"eps", 1e-5},
                              {"subtracts_mean", mean}},
                             "input"));
  };
  norm(1, 4, 1, Numbers{1, -2, 3, 0.5}, Numbers{0, 1, 2, 3}, true);
  norm(1, 24, 1, {}, {}, true);
  norm(3, 2, 4, Numbers{1, 2, 3, 4, 5, 6}, Numbers{0, 1, 0, 1, 0, 1}, true);
  norm(1, 4, 1, Numbers{1, -2, 3, 0.5}, {}, false);
  cases.push_back({"batch norm", [](ir::Graph& g) {
                     std::mt19937 random(8);
                     ir::Value* x = float_input(g, {2, 3, 4, 4});
                     const std::vector<float> variance = {0.5F, 1.0F, 2.0F};
                     return add_float(g, "aten.batch_norm",
                                      {{"input", x},
                                       {"weight", float_constant(g, {3}, random)},
                                       {"bias", float_constant(g, {3}, random)},
                                       {"running_mean", float_constant(g, {3}, random)},
                                       {"running_var", g.add_constant("v", ir::float_type({3}),
                                                                      ir::Bytes::of(std::span<const float>(variance)))},
                                       {"eps", 1e-5}});
                   }});
  return cases;
}

std::vector<Case> movements() {
  std::vector<Case> cases = {
      of_input("aten.pad", {2, 3, 4}, {{"pad", Ints{1, 2}}, {"value", 0.5}}),
      of_input("aten.pad", {1, 2, 3, 4}, {{"pad", Ints{1, 0, 2, 1, 0, 1, 1, 1}}, {"value", i(-1)}}),
      of_input("aten.pad", {1, 2, 5, 4}, {{"pad", Ints{-1, 1, 2, -2}}, {"value", 0.0}}),
      of_input("aten.slice", {2, 7, 3}, {{"dim", i(1)}, {"start", i(1)}, {"end", i(6)}, {"step", i(2)}}),
      of_input("aten.flip", {2, 3, 4}, {{"dims", Ints{0, 2}}}),
      of_input("aten.expand", {2, 1, 4}, {{"size", Ints{2, 3, 4}}}),
      of_input("aten.permute", {2, 3, 4, 5}, {{"dims", Ints{3, 0, 2, 1}}}),
      of_input("aten.repeat_interleave", {1, 2, 3, 3}, {{"repeats", Ints{1, 1, 2, 2}}}),
  };
  cases.push_back({"cat", [](ir::Graph& g) {
                     const std::vector<ir::Value*> parts = {float_input(g, {2, 3, 4}), float_input(g, {2, 1, 4})};
                     return add_float(g, "aten.cat", {{"tensors", parts}, {"dim", i(1)}});
                   }});
  return cases;
}

std::vector<Case> all() {
  std::vector<Case> cases = functions();
  for (const auto& more : {pairs(), products(), rows_and_windows(), movements()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

TEST(FloatOperators, AreNearTheirSemantics) { expect_near_evaluation(all()); }

// Soft float on ARMv6-M and v7-M, FPUs of two kinds, both compilers.
TEST(FloatOperators, GiveTheSameBitsEverywhere) {
  std::vector<Case> cases = all();
  cases.push_back(of_input("aten.round_decimals", {3, 7}, {{"decimals", i(2)}}));
  expect_same_bits_everywhere(cases, 2,
                              {{parse_target("cortex-m0"), "gcc"},
                               {parse_target("cortex-m3"), "gcc"},
                               {parse_target("cortex-m4"), "gcc"},
                               {parse_target("cortex-m55"), "gcc"},
                               {parse_target("cortex-m0"), "clang"},
                               {parse_target("cortex-m55"), "clang"}});
}

}  // namespace
}  // namespace cormorant::conformance
