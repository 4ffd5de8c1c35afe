// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/op.h"
#include "tests/conformance/broadcast_cases.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator mul_operator();

namespace {

using conformance::Case;
using Counts = std::vector<std::pair<std::string, int>>;

struct Scales {
  double self, other, out;
  std::int32_t self_zero, other_zero, out_zero;
};

constexpr Scales kUsual = {0.05, 0.03, 0.07, -5, 17, 3};

Case mul_case(const BroadcastCase& c, const Scales& s = kUsual, const std::vector<ir::NamedArgument>& more = {}) {
  return {c.text(), [=](ir::Graph& g) {
            ir::Value* a = broadcast_input(g, c.self, c.contiguous, s.self, s.self_zero);
            ir::Value* b = broadcast_input(g, c.other, c.contiguous, s.other, s.other_zero);
            std::vector<ir::NamedArgument> args = {{"self", a}, {"other", b}};
            args.insert(args.end(), more.begin(), more.end());
            return conformance::add_quantized(g, "aten.mul", args, c.result(), s.out, s.out_zero);
          }};
}

Case constant_case(const ir::Shape& shape, const ir::Shape& constant, bool first) {
  return {"constant", [=](ir::Graph& g) {
            ir::Value* a = conformance::int8_input(g, shape, 0.05, 4);
            ir::Value* b = broadcast_constant(g, constant, 0.03, first ? -7 : 0);
            if (first) std::swap(a, b);
            return conformance::add_quantized(g, "aten.mul", {{"self", a}, {"other", b}}, shape, 0.06, -9);
          }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 100}) {
    all.push_back(mul_case({{size}, {size}}));
    all.push_back(mul_case({{2, size}, {2, 1}}));
  }
  const Scales table[] = {
      {0.05, 0.05, 0.05, 0, 0, 0},        {0.05, 0.004, 0.05, -128, -128, -128},  // squeeze and excite
      {0.05, 0.05, 0.1, -128, 127, -128}, {0.05, 0.05, 0.1, 127, 127, 127},
      {1.0, 0.001, 1.0, 5, 5, 5},         {0.5, 1.0, 0.25, 5, -5, 100},  // a factor of 2
      {1.0, 1.0, 1.0, 1, 2, 3},           {1.0, 0.5, 1.0, 1, 2, 3},
      {0.02, 0.03, 3000.0, 1, 2, 3},      {0.0002, 0.0003, 3000.0, 1, 2, 127},  // next to nothing
      {1.0, 1.0, 0.00004, 0, 0, 0},       {0.1237, 0.0412, 0.0983, -7, 9, 2},
      {1.0, 0.00390625, 1.0, 0, 0, 0},    {1.0, 0.0078125, 1.0, -128, 64, -1}};  // many ties
  for (const Scales& s : table) {
    all.push_back(mul_case({{61}, {61}}, s));
    all.push_back(mul_case({{3, 61}, {3, 1}}, s));
    all.push_back(mul_case({{61}, {61}}, s, {{"activation_min", -0.2}, {"activation_max", 0.9}}));
    all.push_back(mul_case({{3, 21}, {3, 1}}, s, {{"activation_min", -0.2}, {"activation_max", 0.9}}));
  }
  for (const BroadcastCase& c : broadcast_cases()) all.push_back(mul_case(c));
  for (const BroadcastCase& c : random_broadcast_cases(3, 12)) all.push_back(mul_case(c));
  for (const BroadcastCase& c :
       {BroadcastCase{{2, 17, 3, 5}, {2, 17, 1, 1}}, BroadcastCase{{3, 8, 2, 2}, {1, 8, 1, 1}}})
    all.push_back(mul_case(c, kUsual, {{"activation_min", -0.2}, {"activation_max", 0.9}}));
  all.push_back(constant_case({1, 5, 3, 2}, {}, false));
  all.push_back(constant_case({1, 5, 3, 2}, {5, 1, 1}, true));
  all.push_back(constant_case({1, 5, 3, 2}, {1, 5, 3, 2}, false));
  all.push_back(constant_case({2, 5, 3, 2}, {1, 2}, true));
  return all;
}

TEST(Mul, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(Mul, IsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1.0); }

TEST(Mul, LowersToTheOperatorThatCanClamp) {
  EXPECT_EQ(conformance::lowered_operators(mul_case({{2, 8, 1, 1}, {2, 8, 5, 5}})),
            Counts({{"cortex_m.quantized_mul", 1}}));
  // The product's range begins at zero: relu is nothing to do.
  EXPECT_EQ(
      conformance::lowered_operators(mul_case({{9}, {9}}, {0.1, 0.1, 0.1, 0, 0, -128}, {{"activation_min", 0.0}})),
      Counts({{"cortex_m.quantized_mul", 1}}));
  EXPECT_EQ(conformance::lowered_operators(mul_case({{9}, {9}}, kUsual, {{"activation_min", 0.0}})),
            Counts({{"cormorant.mul.mve", 1}}));
}

TEST(Mul, ForExecutorchAClampIsAComparison) {
  ir::Graph graph;
  const ir::Value* product =
      mul_case({{9}, {9}}, kUsual, {{"activation_min", 0.0}, {"activation_max", 1.0}}).build(graph);
  const Config config{.target = {}, .runtime = Runtime::executorch};
  const ir::Node* minimum = mul_operator().lower({graph, *product->producer, config})->producer;
  EXPECT_EQ(minimum->op, "cortex_m.minimum");
  EXPECT_EQ(minimum->tensor("other")->data.as<std::int8_t>()[0], 17);  // 1 / 0.07 + 3
  EXPECT_EQ(minimum->tensor("self")->producer->op, "cortex_m.maximum");
  EXPECT_EQ(minimum->tensor("self")->producer->tensor("self")->producer->op, "cortex_m.quantized_mul");
}

TEST(MulLower, RefusesAFactorThatOverflows) {
  ir::Graph graph;
  const ir::Value* product = mul_case({{9}, {9}}, {1.0, 1.0, 1e-5, 0, 0, 0}).build(graph);
  EXPECT_THROW(mul_operator().lower({graph, *product->producer, {}}), InputError);
}

// A number in a model that is already quantized.
TEST(MulLower, AFloatConstantGetsParameters) {
  const Case c = {"number", [](ir::Graph& g) {
                    ir::Value* a = conformance::int8_input(g, {2, 5}, 0.05, 4);
                    const float numbers[] = {-0.7F};
                    ir::Value* b =
                        g.add_constant("c", ir::float_type({}), ir::Bytes::of(std::span<const float>(numbers)));
                    return conformance::add_quantized(g, "aten.mul", {{"self", b}, {"other", a}}, {2, 5}, 0.035, 4);
                  }};
  conformance::expect_near_float_semantics({c}, 0.501);
}

TEST(MulImport, NumbersAreConstants) {
  const Operator op = mul_operator();
  for (const AtenForm& form : op.forms) {
    ir::Graph graph;
    ir::Node call;
    call.name = "call";
    ir::Value* x = graph.add_input("x", ir::float_type({2, 3}));
    ir::Value* y = graph.add_input("y", ir::float_type({1, 3}));
    for (const bool number : {false, true}) {
      call.args = {{"self", x}, {"other", number ? ir::Argument{0.25} : ir::Argument{y}}};
      Importer importer{&graph, &call, {x->type}};
      const ir::Node* node = form.import(importer).front()->producer;
      EXPECT_EQ(node->op, "aten.mul") << form.schema;
      EXPECT_EQ(node->tensor("self"), x);
      if (number) {
        EXPECT_EQ(node->tensor("other")->data.as<float>()[0], 0.25F);
      }
      if (!number) {
        EXPECT_EQ(node->tensor("other"), y);
      }
      EXPECT_EQ(op.infer(*node).front().shape, ir::Shape({2, 3}));
    }
  }
}

TEST(MulLoad, RejectsProductsThatAreNotSound) {
  struct {
    const char* what;
    ir::Shape other, out;
    std::int64_t zero_point, multiplier, shift, min;
    bool sound = false;
  } table[] = {{"sound", {1, 4}, {1, 4}, 0, 1 << 30, -3, -128, true},
               {"a shifted zero point", {1, 4}, {1, 4}, -300, 1 << 30, -3, -128, true},
               {"another size", {1, 5}, {1, 4}, 0, 1 << 30, -3, -128},
               {"another result", {1, 4}, {1, 5}, 0, 1 << 30, -3, -128},
               {"a far zero point", {1, 4}, {1, 4}, -60000, 1 << 30, -15, -128, true},
               {"an overflow", {1, 4}, {1, 4}, 1 << 24, 1 << 30, -3, -128},
               {"a negative multiplier", {1, 4}, {1, 4}, 0, -1, -3, -128},
               {"a shift of 32", {1, 4}, {1, 4}, 0, 1 << 30, -32, -128},
               {"a bound beyond int8", {1, 4}, {1, 4}, 0, 1 << 30, -3, -129}};
  for (const auto& t : table) {
    ir::Graph graph;
    const auto i8 = [](const ir::Shape& shape) { return ir::quantized_type(shape, ir::per_tensor_i8(1.0, 0)); };
    graph.add_output(graph
                         .add_node("mul", "cormorant.mul.mve",
                                   {{"self", graph.add_input("a", i8({1, 4}))},
                                    {"self_zero_point", t.zero_point},
                                    {"other", graph.add_input("b", i8(t.other))},
                                    {"other_zero_point", std::int64_t{0}},
                                    {"output_zero_point", std::int64_t{0}},
                                    {"output_multiplier", t.multiplier},
                                    {"output_shift", t.shift},
                                    {"activation_min", t.min},
                                    {"activation_max", std::int64_t{127}}},
                                   {i8(t.out)})
                         ->result());
    EXPECT_EQ(conformance::loads(graph), t.sound) << t.what;
  }
}

}  // namespace
}  // namespace cormorant::ops
