// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ir/text.h"
#include "ops/div/prepack.h"
#include "ops/host/schema.h"
#include "ops/op.h"
#include "tests/conformance/broadcast_cases.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator div_operator();

namespace {

using conformance::Case;
using Counts = std::vector<std::pair<std::string, int>>;

struct Scales {
  double self, other, out;
  std::int32_t self_zero, other_zero, out_zero;
};

constexpr Scales kUsual = {0.05, 0.03, 0.07, -5, -128, 3};

// With a divisor that a clamp keeps off zero, the float semantics are defined.
Case div_case(const BroadcastCase& c, const Scales& s = kUsual, bool positive = true) {
  return {c.text(), [=](ir::Graph& g) {
            ir::Value* a = broadcast_input(g, c.self, c.contiguous, s.self, s.self_zero);
            ir::Value* b = broadcast_input(g, c.other, c.contiguous, s.other, s.other_zero);
            if (positive) {
              b = conformance::add_quantized(g, "aten.clamp", {{"self", b}, {"min", s.other}, {"max", {}}}, c.other,
                                             s.other, s.other_zero);
            }
            return conformance::add_quantized(g, "aten.div", {{"self", a}, {"other", b}}, c.result(), s.out,
                                              s.out_zero);
          }};
}

std::vector<Case> cases(bool positive) {
  std::vector<Case> all;
  for (const std::int64_t size : {1, 3, 4, 5, 17, 100}) all.push_back(div_case({{size}, {size}}, kUsual, positive));
  const Scales table[] = {{0.05, 0.05, 0.05, 0, 0, 0},      {0.05, 0.004, 0.05, -128, -128, -128},
                          {0.05, 0.05, 0.1, -128, 100, 1},  {1.0, 0.001, 1.0, 5, 5, 5},
                          {0.001, 1.0, 0.00001, 5, -5, 10}, {0.02, 0.03, 3000.0, 1, 2, 3},
                          {1.0, 1.0, 0.5, 1, 2, 3},         {1.0, 1.0, 1.0, 0, 0, 0},
                          {100.0, 0.01, 0.001, 1, 2, 3},    {0.1237, 0.0412, 0.0983, -7, 9, 2}};
  for (const Scales& s : table) {
    all.push_back(div_case({{301}, {301}}, s, positive));
    all.push_back(div_case({{3, 61}, {3, 1}}, s, positive));
  }
  for (const BroadcastCase& c : broadcast_cases()) all.push_back(div_case(c, kUsual, positive));
  for (const BroadcastCase& c : random_broadcast_cases(4, 10)) all.push_back(div_case(c, kUsual, positive));
  return all;
}

TEST(Div, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases(false), 2); }

// Both round; only quotients next to a tie differ.
TEST(Div, IsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(cases(true), 1.0); }

TEST(Div, LowersToOneInstruction) {
  EXPECT_EQ(conformance::lowered_operators(div_case({{2, 8, 5, 5}, {2, 8, 1, 1}}, kUsual, false)),
            Counts({{"cortex_m.quantized_div", 1}}));
}

// ---- the table ------------------------------------------------------------------------------------------------------

TEST(DivTable, GivesTheFloatsResultForEveryPairOfBytes) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-12, 12);
  std::uniform_int_distribution<std::int32_t> zero(-128, 127);
  std::vector<float> scales = {1.0F, 0.5F, 2.0F, 3.0F, 1e-9F, 1e9F, 127.5F, 0.1F};
  for (int i = 0; i < 22; ++i) scales.push_back(static_cast<float>(std::exp2(exponent(random))));
  for (const float scale : scales) {
    const std::int32_t self_zero = zero(random);
    const std::int32_t other_zero = zero(random);
    const auto table = div::find_table(other_zero, scale);
    ASSERT_TRUE(table) << scale;
    for (std::int32_t other = -128; other < 128; ++other) {
      const std::int32_t entry = table->at(static_cast<std::size_t>(other + 128));
      ASSERT_LT(std::abs(entry >> 5), div::kFactorLimit);
      for (std::int32_t self = -128; self < 128; ++self) {
        const std::int32_t n = self - self_zero;
        const std::int32_t d = other - other_zero;
        // As ExecuTorch's kernel writes it.
        const float quotient = d != 0 ? static_cast<float>(n) / static_cast<float>(d) : 0.0F;
        const float wanted = std::min(256.0F, std::max(-256.0F, std::round(quotient * scale)));
        const std::int32_t got = std::min(256, std::max(-256, div::apply_entry(entry, n)));
        ASSERT_EQ(static_cast<float>(got), wanted) << n << " / " << d << " · " << scale;
        ASSERT_EQ(static_cast<float>(std::min(256, std::max(-256, div::float_quotient(n, d, scale)))), wanted);
      }
    }
  }
}

// As in swin_v2, whose keys of a padded window are zeros, divided by their norm: what corrects biases must not see NaN.
TEST(Div, ZeroDividedByARoundedDivisorIsZeroWhenEvaluated) {
  const ir::Graph graph = ir::parse(R"(graph g
input %x : i8[3] quant([0.5], [0])
input %y : i8[3] quant([0.5], [0])
input %z : f32[3]
node "a" "" ""
  %a : i8[3] quant([0.25], [0]) = aten.div(self=%x, other=%y)
node "b" "" ""
  %b : f32[3] = aten.div(self=%z, other=%z)
output %a
output %b
)",
                                    "test");
  const evaluate::Tensor x({3}, {0, 2, 3}), y({3}, {1e-12F, 0.1F, 2});
  const auto outputs = evaluate::evaluate_graph(graph, std::vector<evaluate::Tensor>{x, y, x});
  const auto integers = outputs[0].values();
  EXPECT_EQ(std::vector<float>(integers.begin(), integers.end()), (std::vector<float>{0, 0, 1.5F}));
  EXPECT_TRUE(std::isnan(outputs[1].values()[0]));  // floats are as PyTorch's
}

// ---- import and lowering --------------------------------------------------------------------------------------------

TEST(DivImport, ANumberBecomesAFactor) {
  const Operator op = div_operator();
  for (const AtenForm& form : op.forms) {
    ir::Graph graph;
    ir::Node call;
    call.name = "call";
    ir::Value* x = graph.add_input("x", ir::float_type({2, 3}));
    ir::Value* y = graph.add_input("y", ir::float_type({2, 1}));
    const auto import = [&](ir::Argument other) {
      call.args = {{"self", x}, {"other", std::move(other)}};
      Importer importer{&graph, &call, {x->type}};
      return form.import(importer).front()->producer;
    };
    const ir::Node* by_number = import(std::int64_t{8});
    EXPECT_EQ(by_number->op, "aten.mul") << form.schema;
    EXPECT_EQ(by_number->tensor("other")->data.as<float>()[0], 0.125F);
    EXPECT_EQ(import(y)->op, "aten.div");
    EXPECT_THROW(import(0.0), InputError);
  }
}

TEST(DivLower, ExecutorchRepeatsNothingButConstants) {
  const auto lowered = [](const ir::Shape& other, bool constant) {
    ir::Graph graph;
    ir::Value* x = conformance::int8_input(graph, {2, 3}, 0.1, 0);
    ir::Value* y = constant ? broadcast_constant(graph, other, 0.1, 0) : conformance::int8_input(graph, other, 0.1, 0);
    const ir::Value* z = conformance::add_quantized(graph, "aten.div", {{"self", x}, {"other", y}}, {2, 3}, 0.2, 0);
    const Config config{.target = {}, .runtime = Runtime::executorch};
    return div_operator().lower({graph, *z->producer, config})->producer->tensor("other")->type.shape;
  };
  EXPECT_EQ(lowered({2, 3}, false), ir::Shape({2, 3}));
  EXPECT_EQ(lowered({1}, true), ir::Shape({2, 3}));
  EXPECT_THROW(lowered({1}, false), InputError);
}

TEST(DivLoad, RejectsCallsThatAreNotSound) {
  struct {
    const char* what;
    std::int64_t entries, zero_point, max;
    bool sound = false;
  } table[] = {{"sound", 256, 0, 127, true},
               {"a short table", 255, 0, 127},
               {"a zero point beyond int8", 256, 128, 127},
               {"a bound beyond int8", 256, 0, 128}};
  for (const auto& t : table) {
    ir::Graph graph;
    const ir::TensorType i8 = ir::quantized_type({4}, ir::per_tensor_i8(1.0, 0));
    const std::vector<std::int32_t> entries(static_cast<std::size_t>(t.entries), 1);
    graph.add_output(
        graph
            .add_node("div", "cormorant.div.mve",
                      {{"self", graph.add_input("a", i8)},
                       {"self_zero_point", t.zero_point},
                       {"other", graph.add_input("b", i8)},
                       {"table", graph.add_constant("t", {DType::i32, {t.entries}, {}, std::nullopt},
                                                    ir::Bytes::of(std::span<const std::int32_t>(entries)))},
                       {"output_zero_point", std::int64_t{0}},
                       {"activation_min", std::int64_t{-128}},
                       {"activation_max", t.max}},
                      {i8})
            ->result());
    EXPECT_EQ(conformance::loads(graph), t.sound) << t.what;
  }
}

}  // namespace
}  // namespace cormorant::ops
