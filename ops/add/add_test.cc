// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/add/prepack.h"
#include "ops/add/reference.h"
#include "ops/host/schema.h"
#include "ops/op.h"
#include "tests/conformance/broadcast_cases.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator add_operator();

namespace {

using conformance::Case;

struct Scales {
  double self, other, out;
  std::int32_t self_zero, other_zero, out_zero;
};

constexpr Scales kUsual = {0.05, 0.03, 0.07, -5, 17, 3};

Case add_case(const ir::Shape& shape, const Scales& s = kUsual, double alpha = 1,
              const std::vector<ir::NamedArgument>& more = {}) {
  return {"sum of " + std::to_string(shape.back()), [=](ir::Graph& g) {
            ir::Value* a = conformance::int8_input(g, shape, s.self, s.self_zero);
            ir::Value* b = conformance::int8_input(g, shape, s.other, s.other_zero);
            std::vector<ir::NamedArgument> args = {{"self", a}, {"other", b}, {"alpha", alpha}};
            args.insert(args.end(), more.begin(), more.end());
            return conformance::add_quantized(g, "aten.add", args, shape, s.out, s.out_zero);
          }};
}

Case constant_case(const ir::Shape& shape, const ir::Shape& constant, bool first = false) {
  return {"constant", [=](ir::Graph& g) {
            ir::Value* a = conformance::int8_input(g, shape, 0.05, 4);
            ir::Value* b = broadcast_constant(g, constant, 0.03, first ? -7 : 0);
            if (first) std::swap(a, b);
            return conformance::add_quantized(g, "aten.add", {{"self", a}, {"other", b}, {"alpha", 1.0}}, shape, 0.06,
                                              -9);
          }};
}

Case broadcast_case(const BroadcastCase& c, const std::vector<ir::NamedArgument>& more = {}) {
  return {c.text(), [=](ir::Graph& g) {
            ir::Value* a = broadcast_input(g, c.self, c.contiguous, 0.05, 4);
            ir::Value* b = broadcast_input(g, c.other, c.contiguous, 0.02, -4);
            std::vector<ir::NamedArgument> args = {{"self", a}, {"other", b}, {"alpha", -1.0}};
            args.insert(args.end(), more.begin(), more.end());
            return conformance::add_quantized(g, "aten.add", args, c.result(), 0.06, 3);
          }};
}

// Scales for which no factors exist: the kernels of cortex_m::quantized_add.
Case unpacked_case(const BroadcastCase& c) {
  return {c.text() + ", unpacked", [=](ir::Graph& g) {
            ir::Value* a = broadcast_input(g, c.self, c.contiguous, 0.02, 1);
            ir::Value* b = broadcast_input(g, c.other, c.contiguous, 0.03, 2);
            return conformance::add_quantized(g, "aten.add", {{"self", a}, {"other", b}, {"alpha", 1.0}}, c.result(),
                                              0.000012, 3);
          }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t size : {1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 100}) all.push_back(add_case({1, size}));
  all.push_back(add_case({1, 3, 5, 7}));
  all.push_back(add_case({2, 17, 3, 2}));
  const Scales table[] = {{0.05, 0.05, 0.05, 0, 0, 0},       {0.05, 0.05, 0.1, -128, 127, -128},
                          {1.0, 0.001, 1.0, 5, 5, 5},        {0.001, 1.0, 0.5, 5, -5, 100},
                          {0.02, 0.03, 0.005, 1, 2, 3},      {0.02, 0.03, 3.0, 1, 2, 3},
                          {0.1237, 0.0412, 0.0983, -7, 9, 2}};
  for (const Scales& s : table) all.push_back(add_case({1, 40}, s));
  all.push_back(add_case({1, 40}, kUsual, 1, {{"activation_min", 0.0}}));
  all.push_back(add_case({1, 40}, kUsual, 1, {{"activation_min", -1.0}, {"activation_max", 2.0}}));
  for (const double alpha : {-1.0, 2.0, -0.37}) all.push_back(add_case({1, 40}, kUsual, alpha));
  all.push_back(constant_case({1, 5, 3, 2}, {}));
  all.push_back(constant_case({1, 5, 3, 2}, {5, 1, 1}, true));
  all.push_back(constant_case({1, 5, 3, 2}, {1, 5, 3, 2}));
  all.push_back(constant_case({2, 5, 3, 2}, {1, 2}));
  all.push_back(constant_case({1, 9}, {9}));
  // In turn through the loops for sums that are clamped to int8, to an activation, and of the unpacked operator.
  std::size_t turn = 0;
  std::vector<BroadcastCase> shapes = broadcast_cases();
  for (const BroadcastCase& c : random_broadcast_cases(1, 12)) shapes.push_back(c);
  for (const BroadcastCase& c : shapes) {
    const std::size_t kind = turn++ % 7;
    if (kind == 3) all.push_back(broadcast_case(c, {{"activation_min", 0.0}, {"activation_max", 2.0}}));
    all.push_back(kind < 3 ? broadcast_case(c) : unpacked_case(c));
  }
  return all;
}

TEST(Add, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(Add, IsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1.0); }

TEST(Add, ATensorIsAddedToItself) {
  const Case twice = {"twice", [](ir::Graph& g) {
                        ir::Value* x = conformance::int8_input(g, {1, 21}, 0.05, 4);
                        return conformance::add_quantized(g, "aten.add", {{"self", x}, {"other", x}, {"alpha", 1.0}},
                                                          {1, 21}, 0.1, 4);
                      }};
  conformance::expect_near_float_semantics({twice}, 0.5);
}

// The row is a view of the image: the sum must not be written over it before its last use.
TEST(Add, ATensorsOwnRowIsAddedToIt) {
  const Case own_row = {"own row", [](ir::Graph& g) {
                          ir::Value* x = conformance::int8_input(g, {1, 4, 3, 5}, 0.05, 4);
                          ir::Value* image = conformance::add_quantized(
                              g, "aten.clamp", {{"self", x}, {"min", -3.0}, {"max", 3.0}}, {1, 4, 3, 5}, 0.05, 4);
                          ir::Value* row = conformance::add_quantized(g, "aten.slice",
                                                                      {{"self", image},
                                                                       {"dim", std::int64_t{2}},
                                                                       {"start", std::int64_t{0}},
                                                                       {"end", std::int64_t{1}},
                                                                       {"step", std::int64_t{1}}},
                                                                      {1, 4, 1, 5}, 0.05, 4);
                          return conformance::add_quantized(
                              g, "aten.add", {{"self", image}, {"other", row}, {"alpha", 1.0}}, {1, 4, 3, 5}, 0.1, 4);
                        }};
  conformance::expect_near_float_semantics({own_row}, 1.0);
}

// ---- factors --------------------------------------------------------------------------------------------------------

add::Plan plan_of(double self, double other, double out, std::mt19937& random) {
  const double common = 2 * std::max(self, other);
  const auto rescale = [&](double factor) {
    int exponent = 0;
    const double fraction = std::frexp(factor, &exponent);
    std::uniform_int_distribution<int> zero(-128, 127);
    return add::Rescale{static_cast<std::int32_t>(std::lround(std::ldexp(fraction, 31) - 1)),
                        static_cast<std::int16_t>(zero(random)), static_cast<std::int8_t>(exponent)};
  };
  add::Plan plan{};
  plan.self = rescale(self / common);
  plan.other = rescale(other / common);
  plan.output = rescale(std::ldexp(common / out, -add::kLeftShift));
  plan.activation_min = -128;
  plan.activation_max = 127;
  return plan;
}

TEST(AddFactors, GiveTheSameForEveryPairOfBytes) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-2, 2);
  int found = 0;
  constexpr int kPlans = 60;
  for (int i = 0; i < kPlans; ++i) {
    add::Plan plan =
        plan_of(std::exp2(exponent(random)), std::exp2(exponent(random)), std::exp2(exponent(random)), random);
    if (i % 3 == 0)
      plan.activation_min = plan.output.zero_point < 127 ? static_cast<std::int8_t>(plan.output.zero_point) : 0;
    if (i % 5 == 0) plan.other.multiplier = -plan.other.multiplier;
    const auto factors = add::find_factors(plan);
    if (!factors) continue;
    ++found;
    ASSERT_TRUE(add::is_valid(*factors));
    const add::FactorPlan simple{{},
                                 factors->self,
                                 factors->other,
                                 factors->offset,
                                 static_cast<std::uint8_t>(factors->shift),
                                 plan.activation_min,
                                 plan.activation_max};
    for (int a = -128; a < 128; ++a) {
      for (int b = -128; b < 128; ++b) {
        const auto x = static_cast<std::int8_t>(a);
        const auto y = static_cast<std::int8_t>(b);
        ASSERT_EQ(add::add_one(simple, x, y), add::add_one(plan, x, y)) << a << " + " << b << ", plan " << i;
      }
    }
  }
  EXPECT_GE(found, kPlans * 9 / 10);
}

TEST(AddFactors, SumsThatCanOverflowAreInvalid) {
  EXPECT_TRUE(add::is_valid({1 << 22, 1 << 22, 1 << 29, 22}));
  EXPECT_FALSE(add::is_valid({1 << 23, 1 << 23, 0, 22}));
  EXPECT_FALSE(add::is_valid({INT32_MIN, 0, 0, 22}));
  EXPECT_FALSE(add::is_valid({1, 1, INT32_MIN, 22}));
  EXPECT_FALSE(add::is_valid({1, 1, 1, 0}));
  EXPECT_FALSE(add::is_valid({1, 1, 1, 31}));
}

// ---- import and float semantics -------------------------------------------------------------------------------------

struct Spelling {
  const char* target;
  bool number;     // other is one
  float constant;  // its value with the factors
  double alpha;    // or the factor of the second operand
  bool swapped = false;
};

// x, 3 or y, alpha 0.5.
TEST(AddImport, EverySpellingIsASum) {
  const Spelling table[] = {{"aten.add.Tensor", true, 1.5F, 1},        {"aten.add_.Tensor", true, 1.5F, 1},
                            {"aten.add.Scalar", true, 1.5F, 1},        {"aten.add_.Scalar", true, 1.5F, 1},
                            {"aten.sub.Tensor", true, -1.5F, 1},       {"aten.sub_.Tensor", true, -1.5F, 1},
                            {"aten.sub.Scalar", true, -1.5F, 1},       {"aten.sub_.Scalar", true, -1.5F, 1},
                            {"aten.subtract.Tensor", true, -1.5F, 1},  {"aten.subtract_.Tensor", true, -1.5F, 1},
                            {"aten.subtract.Scalar", true, -1.5F, 1},  {"aten.subtract_.Scalar", true, -1.5F, 1},
                            {"aten.rsub.Tensor", true, 3, -0.5, true}, {"aten.rsub.Scalar", true, 3, -0.5, true},
                            {"aten.add.Tensor", false, 0, 0.5},        {"aten.sub.Tensor", false, 0, -0.5},
                            {"aten.rsub.Tensor", false, 0, -0.5, true}};
  const Operator op = add_operator();
  for (const Spelling& t : table) {
    const auto form =
        std::ranges::find_if(op.forms, [&](const AtenForm& f) { return parse_schema(f.schema).target() == t.target; });
    ASSERT_NE(form, op.forms.end()) << t.target;
    ir::Graph graph;
    ir::Node call;
    call.name = "call";
    ir::Value* x = graph.add_input("x", ir::float_type({2, 3}));
    ir::Value* y = graph.add_input("y", ir::float_type({2, 3}));
    call.args = {{"self", x}, {"other", t.number ? ir::Argument{std::int64_t{3}} : ir::Argument{y}}, {"alpha", 0.5}};
    Importer importer{&graph, &call, {x->type}};
    const ir::Node* node = form->import(importer).front()->producer;
    EXPECT_EQ(node->op, "aten.add");
    EXPECT_EQ(node->number("alpha"), t.alpha) << t.target;
    EXPECT_EQ(node->tensor(t.swapped ? "other" : "self"), x) << t.target;
    const ir::Value* other = node->tensor(t.swapped ? "self" : "other");
    if (t.number) {
      EXPECT_EQ(other->data.as<float>()[0], t.constant) << t.target;
    }
    if (!t.number) {
      EXPECT_EQ(other, y) << t.target;
    }
  }
}

TEST(AddEvaluate, BroadcastsAsPyTorchDoes) {
  ir::Graph graph;
  ir::Value* a = graph.add_input("a", ir::float_type({2, 1, 3}));
  ir::Value* b = graph.add_input("b", ir::float_type({2, 1}));
  graph.add_output(
      graph.add_node("add", "aten.add", {{"self", a}, {"other", b}, {"alpha", 10.0}}, {ir::float_type({2, 2, 3})})
          ->result());
  EXPECT_EQ(add_operator().infer(graph.nodes().back()).front().shape, ir::Shape({2, 2, 3}));
  const evaluate::Tensor inputs[] = {{{2, 1, 3}, {1, 2, 3, 4, 5, 6}}, {{2, 1}, {1, 2}}};
  const auto result = evaluate::evaluate_graph(graph, inputs);
  EXPECT_EQ(std::vector<float>(result[0].values().begin(), result[0].values().end()),
            std::vector<float>({11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26}));
}

TEST(AddQuantize, TwoConstantsAreRejectedWithAReason) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({1, 4}));
  const float numbers[] = {1, 2, 3, 4};
  ir::Value* c = graph.add_constant("c", x->type, ir::Bytes::of(std::span<const float>(numbers)));
  const auto is_rejected = [&](ir::Value* self, ir::Value* other) {
    ir::Node* node = graph.add_node("add", "aten.add", {{"self", self}, {"other", other}, {"alpha", 1.0}}, {x->type});
    return std::holds_alternative<QuantRule::Reject>(add_operator().quantize(*node).output);
  };
  EXPECT_FALSE(is_rejected(x, x));
  EXPECT_FALSE(is_rejected(c, x));
  EXPECT_TRUE(is_rejected(c, c));
}

// Operands that cancel, as far as 32 bits go: the differences of these two fit, their sums do not.
TEST(AddLower, RefusesASumThatOverflowsAndNoOther) {
  const auto lower = [](double alpha) {
    ir::Graph graph;
    const ir::Value* sum = add_case({4}, {200 / 255.0, 200 / 255.0, 1.1920929e-7, 0, 0, 0}, alpha).build(graph);
    add_operator().lower({graph, *sum->producer, {}});
  };
  EXPECT_NO_THROW(lower(-1));
  EXPECT_THROW(lower(1), InputError);
}

TEST(AddLower, ExecutorchGetsConstantsInFullAndRefusesWhatItCannotRepeat) {
  const auto lowered_shape = [](const ir::Shape& other, bool constant) {
    ir::Graph graph;
    ir::Value* x = conformance::int8_input(graph, {2, 3, 4, 5}, 0.1, 0);
    ir::Value* y = constant ? broadcast_constant(graph, other, 0.1, 0) : conformance::int8_input(graph, other, 0.1, 0);
    const ir::Value* sum = conformance::add_quantized(graph, "aten.add", {{"self", x}, {"other", y}, {"alpha", 1.0}},
                                                      {2, 3, 4, 5}, 0.2, 0);
    const Config config{.target = {}, .runtime = Runtime::executorch};
    return add_operator().lower({graph, *sum->producer, config})->producer->tensor("other")->type.shape;
  };
  EXPECT_EQ(lowered_shape({}, true), ir::Shape({2, 3, 4, 5}));
  EXPECT_EQ(lowered_shape({3, 1, 1}, true), ir::Shape({2, 3, 4, 5}));
  EXPECT_EQ(lowered_shape({1, 3, 1, 1}, false), ir::Shape({1, 3, 1, 1}));
  EXPECT_THROW(lowered_shape({2, 3, 1, 1}, false), InputError);
  EXPECT_THROW(lowered_shape({1}, false), InputError);
}

TEST(AddLoad, RejectsSumsThatAreNotSound) {
  struct {
    const char* what;
    ir::Shape other, out;
    std::int64_t factor, shift, min;
  } table[] = {{"another size", {1, 5}, {1, 4}, 1, 22, -128},
               {"another result", {1, 4}, {1, 5}, 1, 22, -128},
               {"an overflow", {1, 4}, {1, 4}, 1 << 24, 22, -128},
               {"no shift", {1, 4}, {1, 4}, 1, 0, -128},
               {"a bound beyond int8", {1, 4}, {1, 4}, 1, 22, -129}};
  for (const auto& t : table) {
    ir::Graph graph;
    const auto i8 = [](const ir::Shape& shape) { return ir::quantized_type(shape, ir::per_tensor_i8(1.0, 0)); };
    graph.add_output(graph
                         .add_node("add", "cormorant.add.mve",
                                   {{"self", graph.add_input("a", i8({1, 4}))},
                                    {"other", graph.add_input("b", i8(t.other))},
                                    {"self_factor", t.factor},
                                    {"other_factor", t.factor},
                                    {"offset", std::int64_t{0}},
                                    {"shift", t.shift},
                                    {"activation_min", t.min},
                                    {"activation_max", std::int64_t{127}}},
                                   {i8(t.out)})
                         ->result());
    EXPECT_FALSE(conformance::loads(graph)) << t.what;
  }
}

}  // namespace
}  // namespace cormorant::ops
