// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/activation/functions.h"
#include "ops/activation/table.h"
#include "ops/host/schema.h"
#include "ops/op.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

std::vector<AtenForm> activation_forms();

namespace {

using Args = std::vector<ir::NamedArgument>;

using conformance::import_call;

TEST(ActivationImport, EverySpellingBecomesItsFunction) {
  struct {
    const char* target;
    Args args;
    const char* op;
    Args expected;
  } table[] = {
      {"aten.sigmoid.default", {}, "aten.sigmoid", {}},
      {"aten.sigmoid_.default", {}, "aten.sigmoid", {}},
      {"aten.special_expit.default", {}, "aten.sigmoid", {}},
      {"aten.absolute_.default", {}, "aten.abs", {}},
      {"aten.hardswish_.default", {}, "aten.hardswish", {}},
      {"aten.log_sigmoid.default", {}, "aten.log_sigmoid", {}},
      {"aten.gelu.default", {}, "aten.gelu", {{"approximate", std::string("none")}}},
      {"aten.gelu.default",
       {{"approximate", std::string("tanh")}},
       "aten.gelu",
       {{"approximate", std::string("tanh")}}},
      {"aten.leaky_relu_.default", {{"negative_slope", 0.2}}, "aten.leaky_relu", {{"negative_slope", 0.2}}},
      {"aten.rrelu.default", {{"lower", 0.1}, {"upper", 0.3}}, "aten.leaky_relu", {{"negative_slope", 0.2}}},
      {"aten.threshold.default",
       {{"threshold", 0.1}, {"value", 20.0}},
       "aten.threshold",
       {{"threshold", 0.1}, {"value", 20.0}}},
      {"aten.pow.Tensor_Scalar", {{"exponent", std::int64_t{3}}}, "aten.pow", {{"exponent", 3.0}}},
      {"aten.pow_.Scalar", {{"exponent", 0.5}}, "aten.pow", {{"exponent", 0.5}}},
      {"aten.round.decimals", {{"decimals", std::int64_t{2}}}, "aten.round_decimals", {{"decimals", std::int64_t{2}}}},
  };
  for (const auto& t : table) {
    ir::Graph graph;
    Args args = {{"self", graph.add_input("x", ir::float_type({3}))}};
    args.insert(args.end(), t.args.begin(), t.args.end());
    const std::vector<ir::Value*> results = import_call(graph, t.target, args, {3});
    ASSERT_EQ(results.size(), 1U) << t.target;
    const ir::Node& node = *results.front()->producer;
    EXPECT_EQ(node.op, t.op) << t.target;
    ASSERT_EQ(node.args.size(), 1 + t.expected.size()) << t.target;
    for (std::size_t i = 0; i < t.expected.size(); ++i) {
      EXPECT_EQ(node.args[i + 1].name, t.expected[i].name) << t.target;
      EXPECT_EQ(node.args[i + 1].value, t.expected[i].value) << t.target;
    }
    const Operator* owner = find(node);
    ASSERT_NE(owner, nullptr) << t.target;
    EXPECT_EQ(owner->name, "activation") << t.target;
  }
}

TEST(ActivationImport, TheTensorMayBeTheExponentOrHaveABufferBesideIt) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({3}));
  const auto power = import_call(graph, "aten.pow.Scalar", {{"self", std::int64_t{2}}, {"exponent", x}}, {3});
  ASSERT_EQ(power.size(), 1U);
  EXPECT_EQ(power.front()->producer->op, "aten.pow_of_base");
  EXPECT_EQ(power.front()->producer->tensor("self"), x);
  const auto pair = import_call(graph, "aten.log_sigmoid_forward.default", {{"self", x}}, {3}, 2);
  ASSERT_EQ(pair.size(), 2U);
  EXPECT_EQ(pair[0]->producer->op, "aten.log_sigmoid");
  EXPECT_EQ(pair[1], nullptr);
  EXPECT_THROW(import_call(graph, "aten.rrelu_.default", {{"self", x}, {"training", true}}, {3}), InputError);
}

TEST(ActivationImport, EverySchemaParsesAndNoTwoAreOne) {
  std::vector<std::string> targets;
  for (const AtenForm& form : activation_forms()) targets.push_back(parse_schema(form.schema).target());
  std::ranges::sort(targets);
  EXPECT_EQ(std::ranges::adjacent_find(targets), targets.end());
  EXPECT_GT(targets.size(), 100U);
}

// Computed by PyTorch 2.15 in double precision.
TEST(Activation, EvaluatesAsPyTorchDoes) {
  struct {
    const char* op;
    Args args;
    std::vector<double> x;
    std::vector<double> y;
  } table[] = {
      {"aten.abs", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {2.5, 0.75, 0.3, 1.5, 6.25}},
      {"aten.asinh",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-1.64723115, -0.693147181, 0.295673048, 1.19476322, 2.53206806}},
      {"aten.atan",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-1.19028995, -0.643501109, 0.291456794, 0.982793723, 1.41214106}},
      {"aten.ceil", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-2, -0, 1, 2, 7}},
      {"aten.cos",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-0.801143616, 0.731688869, 0.955336489, 0.0707372017, 0.999449418}},
      {"aten.cosh", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {6.13228948, 1.29468328, 1.04533851, 2.35240962, 259.007378}},
      {"aten.erf", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-0.999593048, -0.711155634, 0.328626759, 0.966105146, 1}},
      {"aten.erfc",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {1.99959305, 1.71115563, 0.671373241, 0.0338948535, 9.67220413e-19}},
      {"aten.exp", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {0.0820849986, 0.472366553, 1.34985881, 4.48168907, 518.012825}},
      {"aten.exp2", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {0.176776695, 0.594603558, 1.23114441, 2.82842712, 76.1092554}},
      {"aten.expm1",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-0.917915001, -0.527633447, 0.349858808, 3.48168907, 517.012825}},
      {"aten.floor", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-3, -1, 0, 1, 6}},
      {"aten.frac", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-0.5, -0.75, 0.3, 0.5, 0.25}},
      {"aten.hardsigmoid", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {0.0833333333, 0.375, 0.55, 0.75, 1}},
      {"aten.hardswish", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-0.208333333, -0.28125, 0.165, 1.125, 6.25}},
      {"aten.log_sigmoid",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-2.57888973, -1.13687101, -0.554355244, -0.201413278, -0.0019285932}},
      {"aten.mish",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-0.196816204, -0.276494715, 0.208001372, 1.40337827, 6.2499536}},
      {"aten.neg", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {2.5, 0.75, -0.3, -1.5, -6.25}},
      {"aten.reciprocal", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-0.4, -1.33333333, 3.33333333, 0.666666667, 0.16}},
      {"aten.round", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-2, -1, 0, 2, 6}},
      {"aten.selu",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-1.61378576, -0.927632016, 0.315210296, 1.57605148, 6.56688117}},
      {"aten.sgn", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-1, -1, 1, 1, 1}},
      {"aten.sigmoid",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {0.07585818, 0.320821301, 0.574442517, 0.817574476, 0.998073265}},
      {"aten.sign", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-1, -1, 1, 1, 1}},
      {"aten.silu",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-0.18964545, -0.240615976, 0.172332755, 1.22636171, 6.23795791}},
      {"aten.sin",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-0.598472144, -0.68163876, 0.295520207, 0.997494987, -0.0331792165}},
      {"aten.sinh",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-6.05020448, -0.822316732, 0.304520293, 2.12927946, 259.005447}},
      {"aten.square", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {6.25, 0.5625, 0.09, 2.25, 39.0625}},
      {"aten.tan",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {0.747022297, -0.93159646, 0.30933625, 14.1014199, -0.0331974945}},
      {"aten.tanh",
       {},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-0.986614298, -0.635148952, 0.291312612, 0.905148254, 0.999992547}},
      {"aten.trunc", {}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-2, -0, 0, 1, 6}},
      {"aten.log", {}, {0.05, 0.3, 1.5, 6.25, 20}, {-2.99573227, -1.2039728, 0.405465108, 1.83258146, 2.99573227}},
      {"aten.log10", {}, {0.05, 0.3, 1.5, 6.25, 20}, {-1.30103, -0.522878745, 0.176091259, 0.795880017, 1.30103}},
      {"aten.log2", {}, {0.05, 0.3, 1.5, 6.25, 20}, {-4.32192809, -1.73696559, 0.584962501, 2.64385619, 4.32192809}},
      {"aten.log1p", {}, {0.05, 0.3, 1.5, 6.25, 20}, {0.0487901642, 0.262364264, 0.916290732, 1.98100147, 3.04452244}},
      {"aten.sqrt", {}, {0.05, 0.3, 1.5, 6.25, 20}, {0.223606798, 0.547722558, 1.22474487, 2.5, 4.47213595}},
      {"aten.rsqrt", {}, {0.05, 0.3, 1.5, 6.25, 20}, {4.47213595, 1.82574186, 0.816496581, 0.4, 0.223606798}},
      {"aten.acos", {}, {-0.9, -0.3, 0.1, 0.5, 0.95}, {2.69056584, 1.87548898, 1.47062891, 1.04719755, 0.317560429}},
      {"aten.asin", {}, {-0.9, -0.3, 0.1, 0.5, 0.95}, {-1.11976951, -0.304692654, 0.100167421, 0.523598776, 1.2532359}},
      {"aten.atanh",
       {},
       {-0.9, -0.3, 0.1, 0.5, 0.95},
       {-1.47221949, -0.309519604, 0.100335348, 0.549306144, 1.83178082}},
      {"aten.acosh", {}, {1, 1.5, 2, 6, 20}, {0, 0.96242365, 1.3169579, 2.47788873, 3.68825387}},
      {"aten.celu", {{"alpha", 0.7}}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-0.680319038, -0.460236801, 0.3, 1.5, 6.25}},
      {"aten.elu",
       {{"alpha", 1.0}, {"scale", 1.0}, {"input_scale", 1.0}},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-0.917915001, -0.527633447, 0.3, 1.5, 6.25}},
      {"aten.elu",
       {{"alpha", 0.5}, {"scale", 2.0}, {"input_scale", 3.0}},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-0.999446916, -0.894600775, 0.6, 3, 12.5}},
      {"aten.gelu",
       {{"approximate", std::string("none")}},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-0.0155241633, -0.169970514, 0.185373427, 1.3997892, 6.25}},
      {"aten.gelu",
       {{"approximate", std::string("tanh")}},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-0.0150842661, -0.170039445, 0.185370924, 1.39957158, 6.25}},
      {"aten.hardshrink", {{"lambd", 0.8}}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-2.5, 0, 0, 1.5, 6.25}},
      {"aten.softshrink", {{"lambd", 0.8}}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-1.7, -0, 0, 0.7, 5.45}},
      {"aten.leaky_relu", {{"negative_slope", 0.1}}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-0.25, -0.075, 0.3, 1.5, 6.25}},
      {"aten.logit",
       {{"eps", 0.2}},
       {0.05, 0.3, 0.5, 0.7, 0.95},
       {-1.38629436, -0.84729786, 0, 0.84729786, 1.38629436}},
      {"aten.logit",
       {{"eps", ir::None{}}},
       {0.05, 0.3, 0.5, 0.7, 0.95},
       {-2.94443898, -0.84729786, 0, 0.84729786, 2.94443898}},
      {"aten.softplus",
       {{"beta", 1.0}, {"threshold", 20.0}},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {0.0788897343, 0.386871006, 0.854355244, 1.70141328, 6.25192859}},
      {"aten.softplus",
       {{"beta", 2.0}, {"threshold", 5.0}},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {0.00335767424, 0.100706639, 0.518743975, 1.52429368, 6.25}},
      {"aten.threshold",
       {{"threshold", 0.25}, {"value", -7.0}},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-7, -7, 0.3, 1.5, 6.25}},
      {"aten.pow", {{"exponent", 2.0}}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {6.25, 0.5625, 0.09, 2.25, 39.0625}},
      {"aten.pow", {{"exponent", 3.0}}, {-2.5, -0.75, 0.3, 1.5, 6.25}, {-15.625, -0.421875, 0.027, 3.375, 244.140625}},
      {"aten.pow",
       {{"exponent", -0.5}},
       {0.05, 0.3, 1.5, 6.25, 20},
       {4.47213595, 1.82574186, 0.816496581, 0.4, 0.223606798}},
      {"aten.pow_of_base",
       {{"base", 3.0}},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {0.0641500299, 0.438691338, 1.39038917, 5.19615242, 959.417955}},
      {"aten.round_decimals",
       {{"decimals", std::int64_t{1}}},
       {-2.5, -0.75, 0.3, 1.5, 6.25},
       {-2.5, -0.8, 0.3, 1.5, 6.2}},
  };
  for (const auto& t : table) {
    ir::Graph graph;
    const ir::Shape shape = {static_cast<std::int64_t>(t.x.size())};
    ir::Value* x = graph.add_input("x", ir::float_type(shape));
    Args args = {{"self", x}};
    args.insert(args.end(), t.args.begin(), t.args.end());
    graph.add_output(graph.add_node("f", t.op, args, {ir::float_type(shape)})->result());
    const evaluate::Tensor input(shape, {t.x.begin(), t.x.end()});
    const auto result = evaluate::evaluate_graph(graph, {&input, 1});
    for (std::size_t i = 0; i < t.x.size(); ++i) {
      const double tolerance = 1e-6 * std::max(1.0, std::abs(t.y[i]));
      EXPECT_NEAR(static_cast<double>(result[0].values()[i]), t.y[i], tolerance) << t.op << " of " << t.x[i];
    }
  }
}

// Sums of entry · (index + 1) over the tables that ExecuTorch 1.5.1 builds (build_activation_lut). Negative inputs of
// the logarithms and the root have no result there either.
TEST(Table, EqualsExecuTorchs) {
  struct {
    const char* op;
    int sums[3];
  } table[] = {
      {"aten.sigmoid", {1673044, 425287, 665879}}, {"aten.tanh", {1336613, 426253, 516864}},
      {"aten.silu", {1438282, 4121696, 782740}},   {"aten.gelu", {1491340, 4125886, 863607}},
      {"aten.log", {618589, 2342759, -844081}},    {"aten.log2", {864820, 3624367, -818407}},
      {"aten.log10", {-1315939, 645251, -876319}}, {"aten.log1p", {1418119, 2422935, 124777}},
      {"aten.sqrt", {1710468, 3612111, 787700}},   {"aten.rsqrt", {1678205, -366704, 1755257}},
  };
  const std::pair<ir::QuantParams, ir::QuantParams> params[] = {
      {ir::per_tensor_i8(0.05, 3), ir::per_tensor_i8(0.004, -128)},
      {ir::per_tensor_i8(0.1, -128), ir::per_tensor_i8(0.03, -20)},
      {ir::per_tensor_i8(0.02, 0), ir::per_tensor_i8(0.05, 7)}};
  for (const auto& t : table) {
    ir::Node node;
    node.op = t.op;
    node.args = {{"self", ir::None{}}, {"approximate", std::string("none")}};
    for (std::size_t p = 0; p < std::size(params); ++p) {
      const Table lut = make_table(function_of(node), params[p].first, params[p].second).value();
      int sum = 0;
      for (std::size_t i = 0; i < lut.size(); ++i) sum += static_cast<int>(i + 1) * lut[i];
      EXPECT_EQ(sum, t.sums[p]) << t.op << " with parameters " << p;
    }
  }
}

TEST(Table, PolesAreTheEndsAndUndefinedPartsContinueTheBoundary) {
  const auto params = ir::per_tensor_i8;
  const Table log = make_table([](double x) { return std::log(x); }, params(0.02, 0), params(0.05, 7)).value();
  EXPECT_EQ(log[128], -128);
  EXPECT_TRUE(std::ranges::is_sorted(log));
  const Table root = make_table([](double x) { return std::sqrt(x); }, params(0.02, 0), params(0.05, 7)).value();
  EXPECT_EQ(root[128], 7);
  EXPECT_EQ(root[0], 7);
  const Table inverse = make_table([](double x) { return 1 / std::sqrt(x); }, params(0.02, 0), params(0.05, 7)).value();
  EXPECT_EQ(inverse[128], 127);
  EXPECT_EQ(inverse[3], 127);
  EXPECT_FALSE(make_table([](double) { return std::nan(""); }, params(0.02, 0), params(0.05, 7)).has_value());
}

// (q + 85) · (min(q, −42) + 128) · 0.07² / (6 · 0.06) − 122, by hand: 3 is 43 steps here instead of 42.86.
TEST(Table, MultipliesHardswishInWholeStepsWhenAsked) {
  const Table table = make_hardswish_product_table(ir::per_tensor_i8(0.07, -85), ir::per_tensor_i8(0.06, -122)).value();
  const auto at = [&](int q) { return int{table[static_cast<std::size_t>(q + 128)]}; };
  EXPECT_EQ(at(-128), -122);
  EXPECT_EQ(at(-127), -123);  // −42 · 1 · 0.01361 = −0.57; the exact function is at −0.42
  EXPECT_EQ(at(-85), -122);
  EXPECT_EQ(at(-46), -78);  // 39 · 82 · 0.01361 = 43.53; exactly 43.46
  EXPECT_EQ(at(0), -22);    // 85 · 86 · 0.01361 = 99.50; exactly 99.17
  EXPECT_EQ(at(127), 126);  // 212 · 86 · 0.01361 = 248.2
}

// A quantizer that does not clamp x to -3 means the function itself, which is 0 there; the product would be 3.7 at
// -6.5.
TEST(Table, DoesNotMultiplyWhatIsNotClamped) {
  const auto can = [](double scale, std::int32_t zero) {
    return make_hardswish_product_table(ir::per_tensor_i8(scale, zero), ir::per_tensor_i8(0.03, -115)).has_value();
  };
  EXPECT_TRUE(can(0.07, -85));
  EXPECT_FALSE(can(0.0522, -4));
}

TEST(Table, DoesNotMultiplyWhatOverflows) {
  const auto can = [](double from, double to) {
    return make_hardswish_product_table(ir::per_tensor_i8(from, -128), ir::per_tensor_i8(to, -128)).has_value();
  };
  EXPECT_TRUE(can(1e-6, 0.01));
  EXPECT_FALSE(can(1e-10, 0.01));  // 3 is 3e10 steps
  EXPECT_FALSE(can(0.05, 1e-12));  // a product of one step is 4e8 steps of the result
}

TEST(Table, KeepsWithinTheResultsRange) {
  ir::QuantParams narrow = ir::per_tensor_i8(0.01, 0);
  narrow.qmin = -127;
  const Table table = make_table([](double x) { return x; }, ir::per_tensor_i8(1.0, 0), narrow).value();
  EXPECT_EQ(table[0], -127);
  EXPECT_EQ(table[255], 127);
}

conformance::Case unary(const std::string& op, const ir::Shape& shape, const Args& args = {}, double scale = 0.05,
                        std::int32_t zero_point = 3, double out_scale = 0.03, std::int32_t out_zero = -11) {
  return {op + " of " + std::to_string(shape.back()), [=](ir::Graph& g) {
            Args all = {{"self", conformance::int8_input(g, shape, scale, zero_point)}};
            all.insert(all.end(), args.begin(), args.end());
            return conformance::add_quantized(g, op, all, shape, out_scale, out_zero);
          }};
}

std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> all;
  for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100}) {
    all.push_back(unary("aten.sigmoid", {1, size}));
  }
  all.push_back(unary("aten.silu", {1, 5, 3, 7}));
  all.push_back(unary("aten.tanh", {2, 17, 3, 2}, {}, 0.02, 0, 1.0 / 128, 0));
  all.push_back(unary("aten.gelu", {1, 64}, {{"approximate", std::string("tanh")}}));
  all.push_back(unary("aten.elu", {1, 64}, {{"alpha", 1.0}, {"scale", 1.0}, {"input_scale", 1.0}}));
  all.push_back(unary("aten.hardsigmoid", {1, 64}, {}, 0.05, 3, 1.0 / 256, -128));
  all.push_back(unary("aten.exp", {1, 64}, {}, 0.01, 0, 0.02, -128));
  all.push_back(unary("aten.neg", {1, 64}, {}, 0.05, -128, 0.05, 127));
  all.push_back(unary("cormorant.requantize", {1, 64}));
  all.push_back(unary("cormorant.requantize", {3, 5, 7}, {}, 0.03, 100, 0.31, -100));
  // The result takes its input's memory.
  all.push_back({"chain", [](ir::Graph& g) {
                   ir::Value* x = conformance::int8_input(g, {1, 3, 5, 7}, 0.05, 3);
                   ir::Value* y =
                       conformance::add_quantized(g, "aten.hardswish", {{"self", x}}, {1, 3, 5, 7}, 0.04, -90);
                   return conformance::add_quantized(g, "aten.sqrt", {{"self", y}}, {1, 3, 5, 7}, 0.01, -128);
                 }});
  return all;
}

TEST(Activation, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(Activation, IsTheNearestIntegerToTheFloatSemantics) {
  std::vector<conformance::Case> defined = cases();
  defined.pop_back();  // the root of negative numbers is not a number
  conformance::expect_near_float_semantics(defined, 0.501);
}

TEST(Activation, BecomesATableLookup) {
  using Count = std::vector<std::pair<std::string, int>>;
  const Count expected = {{"cortex_m.quantized_activation", 1}};
  for (const Function& function : unary_functions()) {
    Args args;
    const Schema schema = parse_schema("f.default(Tensor self" + std::string(function.arguments.empty() ? "" : ", ") +
                                       std::string(function.arguments) + ")");
    for (const SchemaArgument& argument : schema.arguments) {
      if (argument.name != "self") args.push_back({argument.name, argument.fallback.value_or(ir::Argument{1.0})});
    }
    EXPECT_EQ(conformance::lowered_operators(unary("aten." + std::string(function.name), {8}, args)), expected);
  }
  EXPECT_EQ(conformance::lowered_operators(unary("cormorant.requantize", {8})), expected);
}

TEST(Activation, LoadRejectsWrongTablesAndShapes) {
  struct {
    const char* what;
    ir::Shape table;
    ir::Shape out;
    DType dtype;
  } table[] = {{"nothing", {256}, {4}, DType::i8},          {"a short table", {255}, {4}, DType::i8},
               {"a long table", {257}, {4}, DType::i8},     {"a larger output", {256}, {5}, DType::i8},
               {"another shape", {256}, {2, 2}, DType::i8}, {"a table of words", {256}, {4}, DType::i32}};
  for (const auto& t : table) {
    ir::Graph graph;
    ir::Value* x = conformance::int8_input(graph, {4}, 1.0, 0);
    const ir::TensorType type{.dtype = t.dtype, .shape = t.table, .dim_order = {}, .quant = {}};
    ir::Value* lut =
        graph.add_constant("lut", type, ir::Bytes::own(std::vector<std::byte>(static_cast<std::size_t>(type.bytes()))));
    graph.add_output(graph
                         .add_node("f", "cortex_m.quantized_activation", {{"input", x}, {"lut", lut}},
                                   {ir::quantized_type(t.out, ir::per_tensor_i8(1.0, 0))})
                         ->result());
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what) == "nothing") << t.what;
  }
}

}  // namespace
}  // namespace cormorant::ops
