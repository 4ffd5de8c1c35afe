// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "evaluate/graph.h"
#include "ops/host/schema.h"
#include "ops/op.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator clamp_operator();

namespace {

// Imports one call, as the compiler does: absent arguments have the schema's defaults.
const ir::Node* imported(ir::Graph& graph, std::string_view target, std::vector<ir::NamedArgument> given) {
  static const Operator op = clamp_operator();
  ir::Node call;
  call.name = "call";
  const ir::Value* self = std::get<ir::Value*>(given.front().value);
  for (const AtenForm& form : op.forms) {
    const Schema schema = parse_schema(form.schema);
    if (schema.target() != target) continue;
    call.args = given;
    for (const SchemaArgument& argument : schema.arguments) {
      const auto known = [&](const ir::NamedArgument& arg) { return arg.name == argument.name; };
      if (std::none_of(given.begin(), given.end(), known))
        call.args.push_back({argument.name, argument.fallback.value()});
    }
    Importer importer{&graph, &call, {self->type}};
    return form.import(importer).front()->producer;
  }
  return nullptr;
}

TEST(ClampImport, EverySpellingBecomesBounds) {
  using Bounds = std::pair<std::optional<double>, std::optional<double>>;
  const auto i = [](std::int64_t n) { return ir::Argument{n}; };
  struct {
    const char* target;
    std::vector<ir::NamedArgument> args;
    Bounds expected;
  } table[] = {
      {"aten.relu.default", {}, {0.0, std::nullopt}},
      {"aten.relu_.default", {}, {0.0, std::nullopt}},
      {"aten.relu6.default", {}, {0.0, 6.0}},
      {"aten.hardtanh.default", {}, {-1.0, 1.0}},
      {"aten.hardtanh_.default", {{"min_val", 0.0}, {"max_val", 6.0}}, {0.0, 6.0}},
      {"aten.clamp.default", {{"min", i(-2)}}, {-2.0, std::nullopt}},
      {"aten.clamp_.default", {{"max", 2.5}}, {std::nullopt, 2.5}},
      {"aten.clip.default", {{"min", i(-2)}, {"max", i(3)}}, {-2.0, 3.0}},
      {"aten.clamp_min.default", {{"min", i(1)}}, {1.0, std::nullopt}},
      {"aten.clamp_max.default", {{"max", i(1)}}, {std::nullopt, 1.0}},
  };
  for (const auto& t : table) {
    ir::Graph graph;
    std::vector<ir::NamedArgument> args = {{"self", graph.add_input("x", ir::float_type({2, 3}))}};
    args.insert(args.end(), t.args.begin(), t.args.end());
    const ir::Node* node = imported(graph, t.target, args);
    ASSERT_NE(node, nullptr) << t.target;
    EXPECT_EQ(node->op, "aten.clamp");
    const auto bound = [&](const char* name) {
      return node->has(name) ? std::optional(node->number(name)) : std::nullopt;
    };
    EXPECT_EQ(bound("min"), t.expected.first) << t.target;
    EXPECT_EQ(bound("max"), t.expected.second) << t.target;
  }
}

TEST(ClampEvaluate, TheMaximumWinsWhereBoundsCross) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({3}));
  graph.add_output(
      graph.add_node("clamp", "aten.clamp", {{"self", x}, {"min", 5.0}, {"max", 2.0}}, {ir::float_type({3})})
          ->result());
  const evaluate::Tensor input({3}, {-10.0F, 3.0F, 10.0F});
  const auto result = evaluate::evaluate_graph(graph, {&input, 1});
  EXPECT_EQ(std::vector<float>(result[0].values().begin(), result[0].values().end()), std::vector<float>({2, 2, 2}));
}

std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> all;
  for (const int size : {1, 3, 4, 15, 16, 17, 65}) {
    all.push_back({"relu6 of " + std::to_string(size), [=](ir::Graph& g) {
                     ir::Value* x = conformance::int8_input(g, {1, size}, 0.1, 3);
                     return conformance::add_quantized(g, "aten.clamp", {{"self", x}, {"min", 0.0}, {"max", 6.0}},
                                                       {1, size}, 0.1, 3);
                   }});
  }
  struct {
    ir::Argument min, max;
  } bounds[] = {{0.0, {}}, {{}, 1.0}, {-1000.0, 1000.0}, {2.0, -2.0}, {-3.14, 3.14}};
  for (const auto& b : bounds) {
    all.push_back({"bounds", [=](ir::Graph& g) {
                     ir::Value* x = conformance::int8_input(g, {1, 5, 3, 7}, 0.05, -20);
                     return conformance::add_quantized(g, "aten.clamp", {{"self", x}, {"min", b.min}, {"max", b.max}},
                                                       {1, 5, 3, 7}, 0.05, -20);
                   }});
  }
  return all;
}

TEST(Clamp, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(Clamp, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0.5); }

TEST(Clamp, TheVariantIsTheTargets) {
  const auto only = [](const Target& target) { return conformance::lowered_operators(cases().front(), target); };
  using Count = std::vector<std::pair<std::string, int>>;
  EXPECT_EQ(only({&kCpus[0], Isa::scalar}), Count({{"cormorant.clamp.scalar", 1}}));
  EXPECT_EQ(only({&kCpus[3], Isa::dsp}), Count({{"cormorant.clamp.dsp", 1}}));
  EXPECT_EQ(only({&kCpus[9], Isa::mve}), Count({{"cormorant.clamp.mve", 1}}));
  EXPECT_EQ(only({nullptr, Isa::mve}), Count({{"cormorant.clamp.scalar", 1}}));
}

TEST(Clamp, LoadRejectsWrongBoundsAndShapes) {
  struct {
    const char* what;
    std::int64_t min, max;
    ir::Shape out;
  } table[] = {{"nothing", -128, 127, {4}},
               {"a bound below int8", -129, 0, {4}},
               {"a bound above int8", 0, 128, {4}},
               {"crossed bounds", 1, 0, {4}},
               {"a larger output", 0, 1, {5}}};
  for (const auto& t : table) {
    ir::Graph graph;
    ir::Value* x = conformance::int8_input(graph, {4}, 1.0, 0);
    graph.add_output(graph
                         .add_node("clamp", "cormorant.clamp.mve", {{"input", x}, {"min", t.min}, {"max", t.max}},
                                   {ir::quantized_type(t.out, ir::per_tensor_i8(1.0, 0))})
                         ->result());
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what) == "nothing") << t.what;
  }
}

}  // namespace
}  // namespace cormorant::ops
