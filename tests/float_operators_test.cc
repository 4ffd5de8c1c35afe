// SPDX-License-Identifier: Apache-2.0
//
// Every operator in float: near PyTorch's semantics, and on the boards, with and without FPU, with the host's bits.
#include <gtest/gtest.h>

#include "target/parse.h"
#include "tests/check.h"
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
       {"abs",       "acos",        "acosh", "asin",   "asinh", "atan",       "atanh", "ceil",  "cos",
        "cosh",      "erf",         "erfc",  "erfinv", "sinc",  "exp",        "exp2",  "expm1", "floor",
        "frac",      "hardsigmoid", "log",   "log10",  "log1p", "log2",       "mish",  "neg",   "log_sigmoid",
        "hardswish", "round",       "sgn",   "rsqrt",  "selu",  "reciprocal", "sign",  "silu",  "sin",
        "sinh",      "sigmoid",     "sqrt",  "square", "tan",   "tanh",       "trunc"}) {
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
      // Rows long enough for every loop: inside and at the borders, one output and several, with a stride.
      {{1, 2, 4, 21}, {6, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {}, 1, true},
      {{1, 3, 4, 22}, {3, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {}, 3, true},
      {{1, 3, 3, 40}, {3, 1, 3, 5}, {1, 1}, {1, 0}, {1, 1}, {}, 3, false},
      {{1, 3, 5, 23}, {4, 3, 2, 4}, {1, 2}, {0, 1}, {1, 1}, {}, 1, true},
      {{2, 6, 3, 7}, {7, 6, 1, 1}, {1, 1}, {0, 0}, {1, 1}, {}, 1, true},
      {{1, 4, 3, 7}, {4, 1, 1, 1}, {1, 1}, {0, 0}, {1, 1}, {}, 4, true},
      {{1, 4, 3, 7}, {4, 1, 1, 1}, {1, 1}, {1, 1}, {1, 1}, {}, 4, true},
      {{1, 2, 3, 9}, {2, 5, 4, 4}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, 1, true, true},
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
  for (const std::int64_t rows : {1, 2, 6}) {
    cases.push_back({"wide linear", [=](ir::Graph& g) {
                       std::mt19937 random(8);
                       return add_float(g, "aten.linear",
                                        {{"input", float_input(g, {rows, 10})},
                                         {"weight", float_constant(g, {37, 10}, random)},
                                         {"bias", float_constant(g, {37}, random)}});
                     }});
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

// A node whose result has another type than float.
ir::Value* add_of(ir::Graph& g, std::string op, std::vector<ir::NamedArgument> args, DType type) {
  ir::Node* node = g.add_node(op.substr(op.find('.') + 1), op, std::move(args), {{type, {}, {}, std::nullopt}});
  node->result()->type = ops::find(*node)->infer(*node).front();
  return node->result();
}

// Integers from 0 to n, among them the last, which is outside a dimension of n.
ir::Value* integers(ir::Graph& g, const ir::Shape& shape, std::int64_t n, DType type = DType::i64) {
  ir::Value* size = add_float(g, "aten.abs", {{"self", float_input(g, shape)}});
  ir::Value* near = add_float(g, "aten.clamp", {{"self", size}, {"min", 0.0}, {"max", static_cast<double>(n)}});
  return add_of(g, "cormorant.convert.any", {{"self", near}}, type);
}
ir::Value* as_float(ir::Graph& g, ir::Value* x) {
  return add_of(g, "cormorant.convert.any", {{"self", x}}, DType::f32);
}

// Comparisons, logic, integers of all types, and what reads and writes by indices.
std::vector<Case> of_any_type() {
  std::vector<Case> cases;
  for (const char* op :
       {"aten.eq.Tensor_out", "aten.ne.Tensor_out", "aten.lt.Tensor_out", "aten.le.Tensor_out", "aten.gt.Tensor_out",
        "aten.ge.Tensor_out", "aten.logical_and", "aten.logical_or", "aten.logical_xor"}) {
    cases.push_back({op, [=](ir::Graph& g) {
                       return as_float(
                           g, add_of(g, op, {{"self", float_input(g, {2, 3, 1, 4})}, {"other", float_input(g, {5, 1})}},
                                     DType::boolean));
                     }});
  }
  for (const char* op : {"aten.logical_not", "aten.isnan", "aten.isinf"}) {
    cases.push_back({op, [=](ir::Graph& g) {
                       ir::Value* x = add_float(g, "aten.log", {{"self", float_input(g, {3, 5})}});  // some are NaN
                       return as_float(g, add_of(g, op, {{"self", x}}, DType::boolean));
                     }});
  }
  cases.push_back({"signbit", [](ir::Graph& g) {  // which is not defined for NaN
                     ir::Value* x = float_input(g, {3, 5});
                     return as_float(g, add_of(g, "cormorant.signbit.any", {{"self", x}}, DType::boolean));
                   }});
  for (const char* op :
       {"aten.pow.Tensor_Tensor_out", "aten.fmod.Tensor_out", "aten.remainder.Tensor_out", "aten.floor_divide",
        "cormorant.trunc_divide.any", "aten.atan2", "cormorant.hypot.any", "cormorant.logaddexp.any",
        "cormorant.logaddexp2.any", "cormorant.xlogy.any", "cormorant.xlog1py.any", "cormorant.fmax.any",
        "cormorant.fmin.any", "cormorant.copysign.any"}) {
    cases.push_back({op, [=](ir::Graph& g) {
                       return add_float(g, op, {{"self", float_input(g, {3, 5})}, {"other", float_input(g, {5})}});
                     }});
  }
  const auto of_integers = [&](std::string op, DType type, bool has_other) {
    cases.push_back({op + " of " + name_of(type), [=](ir::Graph& g) {
                       std::vector<ir::NamedArgument> args = {{"self", integers(g, {3, 5}, 9, type)}};
                       if (has_other) args.push_back({"other", integers(g, {5}, 9, type)});
                       return as_float(g, add_of(g, op, std::move(args), type));
                     }});
  };
  for (const DType type : {DType::u8, DType::i16, DType::i32, DType::i64}) {
    for (const char* op : {"cormorant.add.any", "cormorant.mul.any", "aten.floor_divide"}) of_integers(op, type, true);
  }
  for (const char* op :
       {"cormorant.sub.any", "cormorant.minimum.any", "cormorant.maximum.any", "cormorant.trunc_divide.any",
        "aten.fmod.Tensor_out", "aten.remainder.Tensor_out", "aten.pow.Tensor_Tensor_out",
        "aten.bitwise_and.Tensor_out", "aten.bitwise_or.Tensor_out", "aten.bitwise_xor.Tensor_out",
        "aten.bitwise_left_shift.Tensor_out", "aten.bitwise_right_shift.Tensor_out"}) {
    of_integers(op, DType::i32, true);
  }
  for (const char* op : {"cormorant.abs.any", "aten.bitwise_not"}) of_integers(op, DType::i16, false);
  cases.push_back(
      {"where", [](ir::Graph& g) {
         ir::Value* condition =
             add_of(g, "aten.gt.Tensor_out", {{"self", float_input(g, {4, 1})}, {"other", float_input(g, {3})}},
                    DType::boolean);
         return add_float(
             g, "aten.where.self_out",
             {{"condition", condition}, {"self", float_input(g, {2, 4, 3})}, {"other", float_input(g, {})}});
       }});
  cases.push_back({"index_select", [](ir::Graph& g) {
                     return add_float(
                         g, "aten.index_select",
                         {{"self", float_input(g, {2, 3, 4})}, {"dim", i(1)}, {"index", integers(g, {5}, 3)}});
                   }});
  cases.push_back({"gather", [](ir::Graph& g) {
                     return add_float(g, "aten.gather",
                                      {{"self", float_input(g, {2, 3, 4})},
                                       {"dim", i(2)},
                                       {"index", integers(g, {2, 2, 5}, 4, DType::i32)},
                                       {"sparse_grad", false}});
                   }});
  for (const char* op : {"aten.scatter.src_out", "aten.scatter_add", "cormorant.scatter_prod.any",
                         "cormorant.scatter_amax.any", "cormorant.scatter_amin.any"}) {
    cases.push_back({op, [=](ir::Graph& g) {
                       return add_float(g, op,
                                        {{"self", float_input(g, {3, 4})},
                                         {"dim", i(0)},
                                         {"index", integers(g, {4, 3}, 3)},
                                         {"src", float_input(g, {4, 4})}});
                     }});
  }
  cases.push_back({"cumsum", [](ir::Graph& g) {
                     return add_float(g, "aten.cumsum",
                                      {{"self", float_input(g, {2, 5, 3})}, {"dim", i(1)}, {"dtype", ir::Argument{}}});
                   }});
  cases.push_back(of_input("cormorant.cumprod.any", {4, 5}, {{"dim", i(0)}}));
  cases.push_back(of_input("cormorant.logcumsumexp.any", {4, 5}, {{"dim", i(1)}}));
  for (const char* op : {"cormorant.cummax_index.any", "cormorant.cummin_index.any"}) {
    cases.push_back({op, [=](ir::Graph& g) {
                       return as_float(g,
                                       add_of(g, op, {{"self", float_input(g, {2, 6, 3})}, {"dim", i(1)}}, DType::i64));
                     }});
  }
  for (const char* op : {"cormorant.sum.any", "cormorant.amax.any", "cormorant.amin.any"}) {
    cases.push_back({op, [=](ir::Graph& g) {
                       ir::Value* x = integers(g, {2, 3, 4}, 9, DType::i32);
                       return as_float(g, add_of(g, op, {{"self", x}, {"dim", Ints{0, 2}}}, DType::i32));
                     }});
  }
  cases.push_back(of_input("cormorant.prod.any", {2, 3, 4}, {{"dim", Ints{0, 2}}}));
  for (const char* op : {"aten.argmax", "aten.argmin"}) {
    cases.push_back(
        {op, [=](ir::Graph& g) {
           return as_float(
               g, add_of(g, op, {{"self", float_input(g, {2, 7, 3})}, {"dim", i(1)}, {"keepdim", false}}, DType::i64));
         }});
  }
  cases.push_back({"argsort", [](ir::Graph& g) {
                     return as_float(g, add_of(g, "cormorant.argsort.any",
                                               {{"self", float_input(g, {3, 9})}, {"dim", i(1)}, {"descending", true}},
                                               DType::i64));
                   }});
  cases.push_back(
      {"searchsorted", [](ir::Graph& g) {
         const float row[] = {-2, -1, 0, 1, 2};
         ir::Value* sorted = g.add_constant("row", ir::float_type({5}), ir::Bytes::of(std::span<const float>(row)));
         return as_float(g,
                         add_of(g, "cormorant.searchsorted.any",
                                {{"sorted", sorted}, {"values", float_input(g, {3, 5})}, {"right", true}}, DType::i32));
       }});
  cases.push_back({"taps", [](ir::Graph& g) {
                     std::mt19937 random(9);
                     const std::int32_t places[] = {0, 1, 1, 2, 4, 4};
                     ir::Value* table = g.add_constant("places", {DType::i32, {3, 2}, {}, std::nullopt},
                                                       ir::Bytes::of(std::span<const std::int32_t>(places)));
                     return add_float(g, "cormorant.taps.float",
                                      {{"self", float_input(g, {2, 5, 3})},
                                       {"dim", i(1)},
                                       {"places", table},
                                       {"weights", float_constant(g, {3, 2}, random)}});
                   }});
  for (const std::int64_t mode : {0, 1, 2}) {
    cases.push_back({"grid_sample", [=](ir::Graph& g) {
                       return add_float(g, "cormorant.grid_sample.float",
                                        {{"input", float_input(g, {1, 2, 4, 5})},
                                         {"grid", float_input(g, {1, 3, 3, 2})},
                                         {"mode", mode},
                                         {"padding", mode},
                                         {"align_corners", mode == 1}});
                     }});
  }
  return cases;
}

std::vector<Case> all() {
  std::vector<Case> cases = functions();
  for (const auto& more : {pairs(), products(), rows_and_windows(), movements(), of_any_type()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

// MVE's vectors would make zeros of these, all or some of which are subnormal.
std::vector<Case> tiny_numbers() {
  const auto times = [](ir::Graph& g, ir::Value* x, const std::vector<float>& factors) {
    ir::Value* other = g.add_constant("factors", ir::float_type({static_cast<std::int64_t>(factors.size())}),
                                      ir::Bytes::of(std::span<const float>(factors)));
    return add_float(g, "aten.mul", {{"self", x}, {"other", other}});
  };
  // In the last dimension, of 37: all, or two only, with vectors in which there is none.
  const auto input = [=](ir::Graph& g, ir::Shape shape, bool all) {
    std::vector<float> factors(37, all ? 1e-38F : 1.0F);
    factors[5] = 1e-40F;
    factors[36] = 1e-41F;
    return times(g, float_input(g, std::move(shape)), factors);
  };
  std::vector<Case> cases;
  for (const bool all : {false, true}) {
    cases.push_back({"product", [=](ir::Graph& g) { return input(g, {3, 37}, all); }});
    cases.push_back(
        {"product with one number", [=](ir::Graph& g) { return times(g, input(g, {3, 37}, all), {0.125F}); }});
    cases.push_back({"sum", [=](ir::Graph& g) {
                       return add_float(
                           g, "aten.add",
                           {{"self", input(g, {3, 37}, all)}, {"other", input(g, {37}, all)}, {"alpha", 0.5}});
                     }});
    cases.push_back({"clamp", [=](ir::Graph& g) {
                       return add_float(g, "aten.clamp",
                                        {{"self", input(g, {3, 37}, all)}, {"min", -1e-39}, {"max", ir::Argument{}}});
                     }});
    cases.push_back({"relu", [=](ir::Graph& g) {
                       return add_float(g, "aten.clamp",
                                        {{"self", input(g, {3, 37}, all)}, {"min", 0.0}, {"max", ir::Argument{}}});
                     }});
    for (const std::int64_t groups : {1, 2}) {
      cases.push_back({"convolution", [=](ir::Graph& g) {
                         std::mt19937 random(10);
                         return add_float(
                             g, "aten.conv2d",
                             {{"input", input(g, {1, 2, 4, 37}, all)},
                              {"weight", float_constant(g, {groups == 1 ? 5 : 2, 2 / groups, 3, 3}, random)},
                              {"bias", ir::Argument{}},
                              {"stride", Ints{1, 1}},
                              {"padding", Ints{1, 1}},
                              {"dilation", Ints{1, 1}},
                              {"groups", groups}});
                       }});
    }
    cases.push_back({"linear", [=](ir::Graph& g) {
                       std::mt19937 random(11);
                       return add_float(g, "aten.linear",
                                        {{"input", input(g, {3, 37}, all)},
                                         {"weight", float_constant(g, {20, 37}, random)},
                                         {"bias", ir::Argument{}}});
                     }});
  }
  return cases;
}

TEST(FloatOperators, SubnormalNumbersStayWhatTheyAre) {
  expect_same_bits_everywhere(
      tiny_numbers(), 2,
      {{parse_target("cortex-m4"), "gcc"}, {parse_target("cortex-m55"), "gcc"}, {parse_target("cortex-m55"), "clang"}});
}

TEST(FloatOperators, AreNearTheirSemantics) { expect_near_evaluation(all()); }

// Soft float on ARMv6-M and v7-M, FPUs of two kinds, both compilers.
TEST(FloatOperators, GiveTheSameBitsEverywhere) {
  std::vector<Case> cases = all();
  cases.push_back(of_input("aten.round_decimals", {3, 7}, {{"decimals", i(2)}}));
  std::vector<Where> places = {{parse_target("cortex-m0"), "gcc"},
                               {parse_target("cortex-m3"), "gcc"},
                               {parse_target("cortex-m4"), "gcc"},
                               {parse_target("cortex-m55"), "gcc"},
                               {parse_target("cortex-m55"), "clang"}};
  if (tests::is_check()) places.push_back({parse_target("cortex-m0"), "clang"});
  expect_same_bits_everywhere(cases, 2, places);
}

}  // namespace
}  // namespace cormorant::conformance
