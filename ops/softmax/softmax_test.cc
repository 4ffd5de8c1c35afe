// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "base/diagnostic.h"
#include "ops/op.h"
#include "ops/softmax/arithmetic.h"
#include "ops/softmax/reference.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator softmax_operator();

namespace {

using conformance::Case;

Case softmax_case(const ir::Shape& shape, double scale) {
  return {"over " + std::to_string(shape.back()), [=](ir::Graph& g) {
            ir::Value* x = conformance::int8_input(g, shape, scale, 13);
            return conformance::add_quantized(g, "aten.softmax",
                                              {{"self", x}, {"dim", static_cast<std::int64_t>(shape.size()) - 1}},
                                              shape, softmax::kOutputScale, softmax::kOutputZeroPoint);
          }};
}

// Shares of a long row, in a halved scale; levels beyond it saturate.
Case halved(const ir::Shape& shape, std::int64_t dim, double scale, int halvings) {
  return {"over " + std::to_string(shape[static_cast<std::size_t>(dim)]) + " in a scale halved " +
              std::to_string(halvings) + " times",
          [=](ir::Graph& g) {
            ir::Value* x = conformance::int8_input(g, shape, scale, 13);
            return conformance::add_quantized(g, "aten.softmax", {{"self", x}, {"dim", dim}}, shape,
                                              std::ldexp(softmax::kOutputScale, -halvings), softmax::kOutputZeroPoint);
          }};
}

Case over(const ir::Shape& shape, std::int64_t dim, const char* op = "aten.softmax", double scale = 0.05,
          double out_scale = softmax::kOutputScale, std::int32_t out_zero = softmax::kOutputZeroPoint) {
  return {std::string(op) + " over dimension " + std::to_string(dim) + " of " + std::to_string(shape.size()),
          [=](ir::Graph& g) {
            ir::Value* x = conformance::int8_input(g, shape, scale, -20);
            return conformance::add_quantized(g, op, {{"self", x}, {"dim", dim}}, shape, out_scale, out_zero);
          }};
}

// After a convolution, which here changes nothing, the tensor is channels-last in memory.
Case behind_channels_last(std::int64_t dim, const char* op) {
  return {std::string(op) + " after channels-last over dimension " + std::to_string(dim), [=](ir::Graph& g) {
            const ir::Shape shape = {2, 5, 3, 6};
            ir::Value* x = conformance::int8_input(g, shape, 0.1, 3);
            const std::vector<std::int64_t> one = {1, 1};
            std::mt19937 random(5);
            ir::Value* w = conformance::int8_weights(g, {5, 5, 1, 1}, 0, random, std::vector<double>(5, 1.0 / 64));
            std::vector<std::int8_t> identity(25);
            for (std::size_t i = 0; i < 25; i += 6) identity[i] = 64;
            w->data = ir::Bytes::of(std::span<const std::int8_t>(identity));
            ir::Value* y = conformance::add_quantized(g, "aten.conv2d",
                                                      {{"input", x},
                                                       {"weight", w},
                                                       {"bias", ir::None{}},
                                                       {"stride", one},
                                                       {"padding", std::vector<std::int64_t>{0, 0}},
                                                       {"dilation", one},
                                                       {"groups", std::int64_t{1}}},
                                                      shape, 0.1, 3);
            const bool log = std::string_view(op) == "aten.log_softmax";
            return conformance::add_quantized(g, op, {{"self", y}, {"dim", dim}}, shape, log ? 0.5 : 1.0 / 256,
                                              log ? 127 : -128);
          }};
}

std::vector<Case> logarithms() {
  std::vector<Case> all;
  const char* op = "aten.log_softmax";
  for (const std::int64_t size : {1, 2, 3, 4, 5, 10, 17, 35}) all.push_back(over({2, size}, 1, op, 0.1, 0.1, 127));
  for (const double scale : {1e-6, 0.01, 0.5, 3.0, 30.0}) all.push_back(over({1, 21}, 1, op, scale, 0.07, 100));
  for (const double scale : {1e-4, 0.01, 0.5, 3.0, 100.0}) all.push_back(over({1, 21}, 1, op, 0.1, scale, -128));
  all.push_back(over({2, 3, 5}, 1, op, 0.1, 0.1, 120));
  all.push_back(over({7}, 0, op, 0.1, 0.1, 120));
  all.push_back(over({1, 2000}, 1, op, 0.05, 0.1, 127));
  for (std::int64_t dim = 0; dim < 4; ++dim) all.push_back(behind_channels_last(dim, op));
  return all;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t size : {1, 2, 3, 4, 5, 10, 12, 15, 16, 17, 35}) all.push_back(softmax_case({1, size}, 0.1));
  for (const double scale : {1e-9, 1e-4, 0.01, 0.5, 3.0, 20.0, 100.0}) all.push_back(softmax_case({1, 21}, scale));
  all.push_back(softmax_case({3, 7}, 0.05));
  all.push_back(softmax_case({2, 3, 5}, 0.05));
  all.push_back(softmax_case({2, 2, 3, 5}, 0.05));
  all.push_back(softmax_case({9}, 0.05));
  all.push_back(softmax_case({1, 1000}, 0.1));
  all.push_back(softmax_case({1, 4095}, 0.1));
  for (std::int64_t dim = 0; dim < 4; ++dim) {
    all.push_back(over({2, 5, 3, 4}, dim));
    all.push_back(behind_channels_last(dim, "aten.softmax"));
  }
  all.push_back(over({2, 3, 4}, 1));  // upstream's tests have this one, and refuse it
  all.push_back(over({2, 3}, 0));
  all.push_back(over({3, 7, 1}, 1));
  return all;
}

TEST(Softmax, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(Softmax, IsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1.0); }

// Large enough for the table, in every way that rows can be.
std::vector<Case> large() {
  std::vector<Case> all;
  for (const double scale : {1e-9, 0.01, 0.2, 3.0, 100.0}) all.push_back(softmax_case({8, 65}, scale));
  all.push_back(softmax_case({600, 1}, 0.1));
  all.push_back(softmax_case({1, 4095}, 0.001));
  for (std::int64_t dim = 0; dim < 4; ++dim) all.push_back(over({3, 5, 7, 9}, dim));
  return all;
}

TEST(TableSoftmax, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(large()); }

// Short rows take the table as well: the other form has no such scale.
std::vector<Case> halved_cases() {
  std::vector<Case> all;
  for (const int halvings : {1, 2, 5, 8}) {
    all.push_back(halved({2, 100}, 1, 0.005, halvings));
    all.push_back(halved({1, 7, 3}, 1, 0.05, halvings));
  }
  all.push_back(halved({3, 200, 5}, 1, 0.002, 6));
  all.push_back(halved({1, 4095}, 1, 0.001, 8));
  return all;
}

TEST(TableSoftmax, EveryVariantEqualsTheReferenceInHalvedScales) {
  conformance::expect_same_bits_everywhere(halved_cases());
}

TEST(TableSoftmax, IsWithinOneStepOfTheFloatSemanticsInHalvedScales) {
  conformance::expect_near_float_semantics(halved_cases(), 1.0, 3, {.target = {&kCpus[9], kCpus[9].isa}});
}

TEST(TableSoftmax, IsWithinOneStepOfTheFloatSemantics) {
  conformance::expect_near_float_semantics(large(), 1.0, 3, {.target = {&kCpus[9], kCpus[9].isa}});
}

// The two forms of one program, over all differences and a few scales.
TEST(TableSoftmax, GivesTheBitsOfTheOtherForm) {
  for (const double scale : {1e-6, 0.003, 0.05, 0.7, 20.0}) {
    std::vector<std::vector<std::byte>> results;
    for (const bool packs : {false, true}) {
      ir::Graph graph;
      graph.add_output(softmax_case({2, 300}, scale).build(graph));
      const Config config{.target = {&kCpus[9], kCpus[9].isa}};
      const Operator op = softmax_operator();
      for (auto* hook : {op.lower, packs ? op.prepack : nullptr}) {
        if (hook == nullptr) continue;
        ir::Node& node = graph.nodes().back();
        graph.replace_uses(node.result(), hook({graph, node, config}));
        graph.erase(&node);
      }
      EXPECT_EQ(graph.nodes().back().op, packs ? "cormorant.softmax.mve" : "cortex_m.softmax");
      std::vector<std::byte> input;
      for (int i = 0; i < 600; ++i) input.push_back(static_cast<std::byte>(i * 7));
      HostProgram program(conformance::program_of(graph), host_kernels());
      results.push_back(program.run({&input, 1}).front());
    }
    EXPECT_EQ(results[0], results[1]) << scale;
  }
}

TEST(LogSoftmax, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(logarithms()); }

TEST(LogSoftmax, IsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(logarithms(), 1.0); }

TEST(SoftmaxArithmetic, TheBinaryLogarithmIsRightTo22Bits) {
  for (std::uint32_t sum = 1U << 19; sum < 0xfff00000U; sum += 1048573U) {
    const double exact = std::log2(std::ldexp(sum, -19));
    const double got = std::ldexp(softmax::binary_logarithm<doubling_high_multiply>(sum), -softmax::kLogBits);
    ASSERT_NEAR(got, exact, std::ldexp(1.0, -22)) << sum;
  }
}

TEST(SoftmaxArithmetic, TheExponentialIsRightTo21Bits) {
  for (std::int64_t value = -(std::int64_t{31} << 26); value <= 0; value += 104729) {
    const double exact = std::exp(std::ldexp(static_cast<double>(value), -26));
    const double got =
        std::ldexp(softmax::exp_of_negative<doubling_high_multiply>(static_cast<std::int32_t>(value)), -31);
    ASSERT_NEAR(got, exact, std::ldexp(1.0, -21)) << value;
  }
}

TEST(SoftmaxArithmetic, TheReciprocalIsRightTo26Bits) {
  for (std::int64_t x = 0; x < std::int64_t{1} << 31; x += 104729) {
    const double exact = 1 / (1 + std::ldexp(static_cast<double>(x), -31));
    const double got =
        std::ldexp(softmax::reciprocal_of_one_plus<doubling_high_multiply>(static_cast<std::int32_t>(x)), -31);
    ASSERT_NEAR(got, exact, std::ldexp(1.0, -26)) << x;
  }
}

// More than 512 values near the largest: each one's share is less than half a step.
TEST(Softmax, SharesBelowHalfAStepAreZero) {
  std::vector<std::int8_t> in(softmax::kMaxRow, 5);
  std::vector<std::int8_t> out(in.size());
  softmax::Plan plan{in.data(), out.data(), 1, 1, static_cast<std::uint32_t>(in.size()), 1 << 30, -256, 20};
  softmax::reference(plan);
  EXPECT_EQ(out, std::vector<std::int8_t>(in.size(), -128));
}

TEST(SoftmaxImport, EverySpelling) {
  for (const AtenForm& form : softmax_operator().forms) {
    ir::Graph graph;
    ir::Node call;
    call.name = "call";
    call.args = {{"self", graph.add_input("x", ir::float_type({2, 3, 4}))}, {"dim", std::int64_t{-2}}};
    Importer importer{&graph, &call, {ir::float_type({2, 3, 4})}};
    const ir::Node* node = form.import(importer).front()->producer;
    if (form.schema.starts_with("_safe")) {
      EXPECT_EQ(node->op, "aten.where.self_out");
      node = node->tensor("self")->producer;
    }
    EXPECT_EQ(node->integer("dim"), 1) << form.schema;
    const bool is_log = form.schema.find("log") != std::string_view::npos;
    EXPECT_EQ(node->op, is_log ? "aten.log_softmax" : "aten.softmax") << form.schema;
    call.args.push_back({"dtype", DType::f64});
    EXPECT_THROW(form.import(importer), InputError) << form.schema;
    call.args = {{"self", graph.inputs().front()}, {"dim", std::int64_t{3}}};
    EXPECT_THROW(form.import(importer), InputError) << form.schema;
  }
}

TEST(SoftmaxImport, TheSafeFormGivesZerosWhereEverythingIsMinusInfinity) {
  ir::Graph graph;
  ir::Node call;
  call.name = "call";
  call.args = {{"self", graph.add_input("x", ir::float_type({2, 2}))}, {"dim", std::int64_t{-1}}};
  Importer importer{&graph, &call, {ir::float_type({2, 2})}};
  const Operator op = softmax_operator();
  const auto form =
      std::ranges::find_if(op.forms, [](const AtenForm& known) { return known.schema.starts_with("_safe"); });
  ASSERT_NE(form, op.forms.end());
  graph.add_output(form->import(importer).front());
  constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
  const evaluate::Tensor input({2, 2}, {kMinusInfinity, kMinusInfinity, kMinusInfinity, 3});
  const evaluate::Tensor got = evaluate::evaluate_graph(graph, {&input, 1})[0];
  EXPECT_EQ(std::vector<float>(got.values().begin(), got.values().end()), std::vector<float>({0, 0, 0, 1}));
}

// Only scores that may be minus infinity need it.
TEST(SoftmaxImport, TheSafeFormOfAProductIsASoftmax) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({1, 2, 2}));
  ir::Node* product =
      graph.add_node("bmm", "aten.bmm", {{"self", x}, {"mat2", x}, {"transposed", false}, {"scale", 1.0}},
                     {ir::float_type({1, 2, 2})});
  ir::Node call;
  call.name = "call";
  call.args = {{"self", product->result()}, {"dim", std::int64_t{-1}}};
  Importer importer{&graph, &call, {ir::float_type({1, 2, 2})}};
  for (const AtenForm& form : softmax_operator().forms) {
    if (!form.schema.starts_with("_safe")) continue;
    EXPECT_EQ(form.import(importer).front()->producer->op, "aten.softmax");
  }
}

// ExecuTorch's kernel takes rows that are consecutive.
TEST(SoftmaxLower, ForExecuTorchTheDimensionIsMovedToTheEnd) {
  ir::Graph graph;
  graph.add_output(over({2, 3, 4, 5}, 1).build(graph));
  const Config config{.target = {&kCpus[9], kCpus[9].isa}, .runtime = Runtime::executorch};
  ir::Value* result = softmax_operator().lower({graph, graph.nodes().back(), config});
  EXPECT_EQ(result->type.shape, ir::Shape({2, 3, 4, 5}));
  EXPECT_EQ(result->producer->op, "cortex_m.transpose");
  EXPECT_EQ(result->producer->integers("perm"), std::vector<std::int64_t>({0, 3, 1, 2}));
  const ir::Node* rows = result->producer->tensor("input")->producer->tensor("self")->producer;
  EXPECT_EQ(rows->op, "cortex_m.softmax");
  EXPECT_EQ(rows->result()->type.shape, ir::Shape({40, 3}));
  const ir::Node* turned = rows->tensor("input")->producer->tensor("self")->producer;
  EXPECT_EQ(turned->integers("perm"), std::vector<std::int64_t>({0, 2, 3, 1}));
}

TEST(SoftmaxQuantize, OnlyShortRows) {
  ir::Graph graph;
  const auto is_rejected = [&](const ir::Shape& shape, std::int64_t dim) {
    ir::Value* x = graph.add_input("x", ir::float_type(shape));
    ir::Node* node = graph.add_node("softmax", "aten.softmax", {{"self", x}, {"dim", dim}}, {x->type});
    return std::holds_alternative<QuantRule::Reject>(softmax_operator().quantize(*node).output);
  };
  EXPECT_FALSE(is_rejected({2, 10}, 1));
  EXPECT_FALSE(is_rejected({4096, 10}, 1));
  EXPECT_FALSE(is_rejected({1, 4095}, 1));
  EXPECT_TRUE(is_rejected({1, 4096}, 1));
}

TEST(SoftmaxLoad, RejectsWhatItCannotCompute) {
  struct {
    const char* what;
    ir::Shape shape, out;
    std::int64_t dim, zero_point, multiplier, shift, diff_min;
  } table[] = {{"a dimension that is not there", {2, 3}, {2, 3}, 2, -128, 1 << 30, 20, -100},
               {"another result", {2, 3}, {3, 2}, 1, -128, 1 << 30, 20, -100},
               {"another zero point", {2, 3}, {2, 3}, 1, 0, 1 << 30, 20, -100},
               {"a negative multiplier", {2, 3}, {2, 3}, 1, -128, -1, 20, -100},
               {"a negative shift", {2, 3}, {2, 3}, 1, -128, 1 << 30, -1, -100},
               {"a shift too far", {2, 3}, {2, 3}, 1, -128, 1 << 30, 32, -100},
               {"a positive difference", {2, 3}, {2, 3}, 1, -128, 1 << 30, 20, 1},
               {"a long row", {1, 4096}, {1, 4096}, 1, -128, 1 << 30, 20, -100}};
  for (const auto& t : table) {
    ir::Graph graph;
    const auto i8 = [](const ir::Shape& shape) { return ir::quantized_type(shape, ir::per_tensor_i8(1.0, 0)); };
    graph.add_output(graph
                         .add_node("softmax", "cortex_m.softmax",
                                   {{"input", graph.add_input("x", i8(t.shape))},
                                    {"dim", t.dim},
                                    {"input_zero_point", std::int64_t{0}},
                                    {"output_zero_point", t.zero_point},
                                    {"input_multiplier", t.multiplier},
                                    {"input_shift", t.shift},
                                    {"diff_min", t.diff_min}},
                                   {i8(t.out)})
                         ->result());
    EXPECT_FALSE(conformance::loads(graph)) << t.what;
  }
}

// Exponentials that no row can have, in the finest scale: as many places as there are to shift by are left.
TEST(SoftmaxLoad, ComputesWithAnyTable) {
  for (const std::int32_t entry : {0, 1, 40960, -1, INT32_MAX, INT32_MIN}) {
    const std::vector<std::int32_t> entries(softmax::kDifferences, entry);
    const std::vector<std::int8_t> row = {-128, 0, 127};
    std::vector<std::int8_t> out(row.size());
    softmax::reference(softmax::TablePlan{.input = row.data(),
                                          .out = out.data(),
                                          .exponentials = entries.data(),
                                          .outer = 1,
                                          .inner = 1,
                                          .row_size = 3,
                                          .halvings = softmax::kMostHalvings});
    if (entry == 0) EXPECT_EQ(out, std::vector<std::int8_t>(3, -128));
    if (entry == 40960) EXPECT_EQ(out, std::vector<std::int8_t>(3, -127));  // 1.25 of 2^15, as if 0 were among them
  }
}

TEST(SoftmaxLoad, RejectsScalesThatAreHalvedTooOften) {
  for (const std::int64_t halvings : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{8}, std::int64_t{9}}) {
    ir::Graph graph;
    const ir::TensorType i8 = ir::quantized_type({2, 3}, ir::per_tensor_i8(1.0, 0));
    ir::Value* table = graph.add_constant(
        "table", {.dtype = DType::i32, .shape = {softmax::kDifferences}, .dim_order = {}, .quant = std::nullopt},
        ir::Bytes::of(std::span<const std::int32_t>(std::vector<std::int32_t>(softmax::kDifferences, 1 << 20))));
    graph.add_output(graph
                         .add_node("softmax", "cormorant.softmax.scalar",
                                   {{"input", graph.add_input("x", i8)},
                                    {"exponentials", table},
                                    {"dim", std::int64_t{1}},
                                    {"halvings", halvings}},
                                   {i8})
                         ->result());
    EXPECT_EQ(conformance::loads(graph), halvings == 0 || halvings == softmax::kMostHalvings) << halvings;
  }
}

}  // namespace
}  // namespace cormorant::ops
