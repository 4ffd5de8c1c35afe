// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "base/diagnostic.h"
#include "ops/host/schema.h"
#include "ops/op.h"
#include "runtime/host.h"
#include "tests/conformance/broadcast_cases.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator minimum_maximum_operator();

namespace {

using conformance::Case;

Case choice_case(const char* op, const BroadcastCase& c) {
  return {op + (" of " + c.text()), [=](ir::Graph& g) {
            ir::Value* a = broadcast_input(g, c.self, c.contiguous, 0.05, 4);
            ir::Value* b = broadcast_input(g, c.other, c.contiguous, 0.05, 4);
            return conformance::add_quantized(g, op, {{"self", a}, {"other", b}}, c.result(), 0.05, 4);
          }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  std::vector<BroadcastCase> shapes = broadcast_cases();
  for (const BroadcastCase& c : random_broadcast_cases(2, 10)) shapes.push_back(c);
  for (std::size_t i = 0; i < shapes.size(); ++i)
    all.push_back(choice_case(i % 2 == 0 ? "aten.minimum" : "aten.maximum", shapes[i]));
  for (const char* op : {"aten.minimum", "aten.maximum"}) {
    for (const std::int64_t size : {1, 15, 16, 17, 67}) all.push_back(choice_case(op, {{size}, {size}}));
    for (const std::int64_t size : {3, 16, 21}) all.push_back(choice_case(op, {{4, 1}, {4, size}}));
    all.push_back({"with a constant per channel", [=](ir::Graph& g) {
                     ir::Value* a = conformance::int8_input(g, {1, 5, 3, 2}, 0.05, 4);
                     ir::Value* b = broadcast_constant(g, {5, 1, 1}, 0.05, 4);
                     return conformance::add_quantized(g, op, {{"self", a}, {"other", b}}, {1, 5, 3, 2}, 0.05, 4);
                   }});
  }
  return all;
}

TEST(MinimumMaximum, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(MinimumMaximum, EqualTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0); }

TEST(MinimumMaximum, ConstantsComeInTheResultsParameters) {
  const Case c = {"constant", [](ir::Graph& g) {
                    ir::Value* a = conformance::int8_input(g, {2, 5}, 0.05, 4);
                    const float numbers[] = {-1, 0, 1, 2, 3};
                    ir::Value* b =
                        g.add_constant("c", ir::float_type({5}), ir::Bytes::of(std::span<const float>(numbers)));
                    return conformance::add_quantized(g, "aten.maximum", {{"self", b}, {"other", a}}, {2, 5}, 0.05, 4);
                  }};
  conformance::expect_near_float_semantics({c}, 0);
}

TEST(MinimumMaximum, LowersToOneInstruction) {
  using Counts = std::vector<std::pair<std::string, int>>;
  EXPECT_EQ(conformance::lowered_operators(choice_case("aten.minimum", {{3, 1, 1}, {2, 3, 4, 4}})),
            Counts({{"cortex_m.minimum", 1}}));
  EXPECT_EQ(conformance::lowered_operators(choice_case("aten.maximum", {{9}, {}})), Counts({{"cortex_m.maximum", 1}}));
}

TEST(MinimumMaximumImport, ANumberMakesItAClamp) {
  const Operator op = minimum_maximum_operator();
  for (const AtenForm& form : op.forms) {
    const std::string target = parse_schema(form.schema).target();
    const bool minimum = target.find("min") != std::string::npos;
    for (const char* place : {"self", "other", "neither"}) {
      ir::Graph graph;
      const float six[] = {6};
      ir::Value* x = graph.add_input("x", ir::float_type({2, 3}));
      ir::Value* y = graph.add_input("y", ir::float_type({2, 3}));
      ir::Value* c = graph.add_constant("c", ir::float_type({}), ir::Bytes::of(std::span<const float>(six)));
      ir::Node call;
      call.name = "call";
      call.args = {{"self", std::string_view(place) == "self" ? c : x},
                   {"other", std::string_view(place) == "other" ? c : y}};
      Importer importer{&graph, &call, {x->type}};
      const ir::Node* node = form.import(importer).front()->producer;
      if (std::string_view(place) == "neither") {
        EXPECT_EQ(node->op, minimum ? "aten.minimum" : "aten.maximum");
        continue;
      }
      EXPECT_EQ(node->op, "aten.clamp") << target;
      EXPECT_EQ(node->number(minimum ? "max" : "min"), 6);
      EXPECT_FALSE(node->has(minimum ? "min" : "max"));
    }
  }
}

TEST(MinimumMaximumLower, RefusesDifferentParameters) {
  ir::Graph graph;
  ir::Value* x = conformance::int8_input(graph, {4}, 0.1, 0);
  ir::Value* y = conformance::int8_input(graph, {4}, 0.2, 0);
  const ir::Value* z = conformance::add_quantized(graph, "aten.minimum", {{"self", x}, {"other", y}}, {4}, 0.1, 0);
  EXPECT_THROW(minimum_maximum_operator().lower({graph, *z->producer, {}}), InputError);
}

// ---- load -----------------------------------------------------------------------------------------------------------

HostProgram program_of(const ir::TensorType& self, const ir::TensorType& other, const ir::TensorType& out) {
  ir::Graph graph;
  graph.add_output(graph
                       .add_node("m", "cortex_m.maximum",
                                 {{"self", graph.add_input("a", self)}, {"other", graph.add_input("b", other)}}, {out})
                       ->result());
  return {conformance::program_of(graph), host_kernels()};
}

ir::TensorType i8(const ir::Shape& shape, std::vector<std::uint8_t> order = {}) {
  return ir::quantized_type(shape, ir::per_tensor_i8(1.0, 0), std::move(order));
}

// Programs of other compilers may mix memory orders: element by element then.
TEST(MinimumMaximumLoad, OperandsInAnotherOrderAreReadInTheirs) {
  HostProgram program = program_of(i8({1, 2, 1, 3}, ir::kChannelsLast), i8({1, 2, 1, 1}), i8({1, 2, 1, 3}));
  const auto bytes = [](std::initializer_list<int> list) {
    std::vector<std::byte> all;
    for (const int value : list) all.push_back(static_cast<std::byte>(value));
    return all;
  };
  const std::vector<std::byte> inputs[] = {bytes({1, 4, 2, 5, 3, 6}), bytes({2, 5})};
  EXPECT_EQ(program.run(inputs).at(0), bytes({2, 2, 3, 5, 5, 6}));
}

TEST(MinimumMaximumLoad, RefusesShapesThatDoNotMatch) {
  EXPECT_NO_THROW(program_of(i8({2, 1}), i8({3}), i8({2, 3})));
  EXPECT_THROW(program_of(i8({2, 2}), i8({3}), i8({2, 3})), InputError);
  EXPECT_THROW(program_of(i8({2, 3}), i8({3}), i8({3})), InputError);
  EXPECT_THROW(program_of(i8({2, 1}), i8({1}), i8({2, 3})), InputError);
  EXPECT_THROW(program_of(i8({2, 3}), i8({1, 2, 3}), i8({2, 3})), InputError);
  EXPECT_THROW(program_of(ir::float_type({2, 3}), i8({2, 3}), i8({2, 3})), InputError);
  EXPECT_THROW(program_of(i8({2, 3}), ir::float_type({2, 3}), i8({2, 3})), InputError);
}

}  // namespace
}  // namespace cormorant::ops
