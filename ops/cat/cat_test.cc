// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/op.h"
#include "passes/passes.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator cat_operator();

namespace {

using Shapes = std::vector<ir::Shape>;
using Values = std::vector<ir::Value*>;

std::vector<float> floats(const evaluate::Tensor& tensor) { return {tensor.values().begin(), tensor.values().end()}; }

struct Imported {
  ir::Graph graph;
  Values inputs;
  ir::Value* result = nullptr;
};

Imported import_call(const std::string& target, const Shapes& shapes, std::int64_t dim) {
  Imported made;
  for (const ir::Shape& shape : shapes) made.inputs.push_back(made.graph.add_input("x", ir::float_type(shape)));
  made.result = conformance::import_call(made.graph, target, {{"tensors", made.inputs}, {"dim", dim}}, {}).at(0);
  made.graph.add_output(made.result);
  return made;
}

TEST(CatImport, EverySpellingBecomesOneConcatenation) {
  struct {
    const char* target;
    Shapes shapes;
    std::int64_t dim;
    std::int64_t axis;
    ir::Shape expected;
  } table[] = {
      {"aten.cat.default", {{2, 3}, {2, 4}}, -1, 1, {2, 7}},
      {"aten.cat.default", {{0}, {2, 3}, {1, 3}}, 0, 0, {3, 3}},
      {"aten.concat.default", {{2, 3}, {1, 3}}, 0, 0, {3, 3}},
      {"aten.concatenate.default", {{2}, {3}, {4}}, 0, 0, {9}},
      {"aten.stack.default", {{2, 3}, {2, 3}}, -1, 2, {2, 3, 2}},
      {"aten.stack.default", {{2, 3}, {2, 3}}, 0, 0, {2, 2, 3}},
      {"aten.hstack.default", {{2}, {3}}, 0, 0, {5}},
      {"aten.hstack.default", {{2, 3}, {2, 1}}, 0, 1, {2, 4}},
      {"aten.vstack.default", {{3}, {3}}, 0, 0, {2, 3}},
      {"aten.row_stack.default", {{2, 3}, {1, 3}}, 0, 0, {3, 3}},
      {"aten.dstack.default", {{3}, {3}}, 0, 2, {1, 3, 2}},
      {"aten.dstack.default", {{2, 3}, {2, 3}}, 0, 2, {2, 3, 2}},
      {"aten.column_stack.default", {{3}, {3, 2}}, 0, 1, {3, 3}},
  };
  for (const auto& t : table) {
    const Imported made = import_call(t.target, t.shapes, t.dim);
    ASSERT_NE(made.result->producer, nullptr) << t.target;
    EXPECT_EQ(made.result->producer->op, "aten.cat") << t.target;
    EXPECT_EQ(made.result->producer->integer("dim"), t.axis) << t.target;
    EXPECT_EQ(made.result->type.shape, t.expected) << t.target;
    EXPECT_EQ(cat_operator().infer(*made.result->producer).front().shape, t.expected) << t.target;
  }
  const Imported one = import_call("aten.cat.default", {{2, 3}}, 0);
  EXPECT_EQ(one.result, one.inputs.front());
  EXPECT_THROW(import_call("aten.cat.default", {{2, 3}, {2, 3}}, 2), InputError);
  EXPECT_THROW(import_call("aten.cat.default", {{2, 3}, {2}}, 0), InputError);
}

TEST(CatEvaluate, PutsOneBehindTheOther) {
  Imported made = import_call("aten.cat.default", {{2, 1}, {2, 2}}, 1);
  const std::vector<evaluate::Tensor> inputs = {{{2, 1}, {1, 2}}, {{2, 2}, {3, 4, 5, 6}}};
  EXPECT_EQ(floats(evaluate::evaluate_graph(made.graph, inputs)[0]), std::vector<float>({1, 3, 4, 2, 5, 6}));
  made = import_call("aten.stack.default", {{2}, {2}}, 1);
  const std::vector<evaluate::Tensor> vectors = {{{2}, {1, 2}}, {{2}, {3, 4}}};
  EXPECT_EQ(floats(evaluate::evaluate_graph(made.graph, vectors)[0]), std::vector<float>({1, 3, 2, 4}));
}

TEST(CatInfer, OtherDimensionsMustAgree) {
  ir::Graph graph;
  const Values parts = {graph.add_input("a", ir::float_type({2, 3})), graph.add_input("b", ir::float_type({3, 3}))};
  ir::Node* node =
      graph.add_node("cat", "aten.cat", {{"tensors", parts}, {"dim", std::int64_t{1}}}, {ir::float_type({2, 6})});
  EXPECT_THROW(cat_operator().infer(*node), InputError);
}

// Tensors of the last `of_constants` shapes are constants.
conformance::Case cat_case(const Shapes& shapes, std::int64_t dim) {
  std::string name = "cat along " + std::to_string(dim) + " of";
  for (const ir::Shape& shape : shapes) {
    name += " [";
    for (const std::int64_t size : shape) name += " " + std::to_string(size);
    name += " ]";
  }
  return {name, [=](ir::Graph& g) {
            Values parts;
            ir::Shape out = shapes.front();
            out[static_cast<std::size_t>(dim)] = 0;
            for (const ir::Shape& shape : shapes) {
              parts.push_back(conformance::int8_input(g, shape, 0.1, -5));
              out[static_cast<std::size_t>(dim)] += shape[static_cast<std::size_t>(dim)];
            }
            return conformance::add_quantized(g, "aten.cat", {{"tensors", parts}, {"dim", dim}}, out, 0.1, -5);
          }};
}

// The result turned to the contiguous order by a flattening view: the concatenation itself runs channels-last. With a
// view in front as well it runs contiguous.
conformance::Case contiguous_case(ir::Shape shape, std::int64_t dim) {
  return {
      "contiguous cat along " + std::to_string(dim), [=](ir::Graph& g) {
        const auto elements = shape[0] * shape[1] * shape[2] * shape[3];
        Values parts;
        for (int i = 0; i < 2; ++i) {
          ir::Value* flat = conformance::int8_input(g, {elements}, 0.1, 0);
          parts.push_back(conformance::add_quantized(g, "aten.view", {{"self", flat}, {"size", shape}}, shape, 0.1, 0));
        }
        ir::Shape out = shape;
        out[static_cast<std::size_t>(dim)] *= 2;
        return conformance::add_quantized(g, "aten.cat", {{"tensors", parts}, {"dim", dim}}, out, 0.1, 0);
      }};
}

std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> all = {
      cat_case({{5}, {1}, {300}}, 0),
      cat_case({{2, 3}, {2, 5}}, 1),
      cat_case({{2, 3}, {4, 3}}, 0),
      cat_case({{1, 3, 4, 5}, {1, 3, 4, 5}, {1, 3, 4, 5}, {1, 3, 4, 5}, {1, 3, 4, 5}}, 1),
      cat_case({{1, 1, 4, 5}, {1, 16, 4, 5}}, 1),
      cat_case({{1, 20, 1, 1}, {1, 7, 1, 1}}, 1),
      cat_case({{2, 3, 2, 2, 3}, {2, 3, 1, 2, 3}}, 2),
      cat_case({{2, 1, 2, 1, 2, 3}, {2, 1, 2, 1, 2, 4}}, 5),
  };
  for (std::int64_t dim = 0; dim < 4; ++dim) {
    ir::Shape second = {2, 3, 4, 5};
    second[static_cast<std::size_t>(dim)] = 7;
    all.push_back(cat_case({{2, 3, 4, 5}, second}, dim));
    all.push_back(contiguous_case({2, 3, 4, 5}, dim));
  }
  for (const std::int64_t channels : {1, 3, 4, 5, 7, 8, 16, 17, 33}) {
    all.push_back(cat_case({{1, channels, 3, 3}, {1, 5, 3, 3}}, 1));
  }
  return all;
}

TEST(Cat, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases(), 2); }

TEST(Cat, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0.0); }

TEST(Cat, KeepsTheMemoryOrderOfItsInputs) {
  const auto lowered = conformance::lowered_operators(cat_case({{2, 3, 4, 5}, {2, 6, 4, 5}}, 1));
  EXPECT_EQ(lowered, (std::vector<std::pair<std::string, int>>{{"aten.cat", 1}}));
}

TEST(Cat, ExecutorchGetsContiguousTensors) {
  ir::Graph graph;
  graph.add_output(cat_case({{2, 3, 4, 5}, {2, 6, 4, 5}}, 1).build(graph));
  Config config;
  config.runtime = Runtime::executorch;
  passes::lower(graph, config);
  passes::decide_layout(graph);
  int cats = 0;
  for (const ir::Node& node : graph.nodes()) {
    if (node.op != "aten.cat") continue;
    ++cats;
    EXPECT_EQ(node.result()->type.shape, ir::Shape({2, 9, 4, 5, 1}));
    EXPECT_TRUE(node.result()->type.dim_order.empty());
  }
  EXPECT_EQ(cats, 1);
  EXPECT_EQ(graph.outputs()[0]->type.shape, ir::Shape({2, 9, 4, 5}));
}

TEST(Cat, RefusesToChangeParameters) {
  ir::Graph graph;
  const Values parts = {conformance::int8_input(graph, {2}, 0.1, 0), conformance::int8_input(graph, {2}, 0.2, 0)};
  graph.add_output(
      conformance::add_quantized(graph, "aten.cat", {{"tensors", parts}, {"dim", std::int64_t{0}}}, {4}, 0.1, 0));
  EXPECT_THROW(passes::lower(graph, {}), InputError);
}

TEST(Cat, LoadRefusesTensorsThatDoNotFit) {
  struct {
    const char* what;
    Shapes in;
    ir::Shape out;
    std::int64_t dim;
  } table[] = {
      {"nothing", {{2, 3}, {2, 4}}, {2, 7}, 1},
      {"nothing", {{2, 3}, {2, 4}}, {2, 7}, -1},
      {"nothing", {{2, 3}, {2, 0}}, {2, 3}, 1},
      {"nothing", {{2, 3}, {0}}, {2, 3}, 1},
      {"no tensors", {}, {0}, 0},
      {"a larger output", {{2, 3}, {2, 4}}, {2, 8}, 1},
      {"a smaller output", {{2, 3}, {2, 4}}, {2, 6}, 1},
      {"another size", {{2, 3}, {3, 4}}, {2, 7}, 1},
      {"another rank", {{2, 3}, {8}}, {2, 7}, 1},
      {"a dimension that is not there", {{2, 3}, {2, 4}}, {2, 7}, 2},
      {"a negative dimension that is not there", {{2, 3}, {2, 4}}, {2, 7}, -3},
      {"more than fits", {{1, 3}, {1, 3}, {1, 3}}, {1, 8}, 1},
  };
  for (const auto& t : table) {
    ir::Graph graph;
    Values parts;
    for (const ir::Shape& shape : t.in) parts.push_back(conformance::int8_input(graph, shape, 1.0, 0));
    graph.add_output(graph
                         .add_node("cat", "aten.cat", {{"tensors", parts}, {"dim", t.dim}},
                                   {ir::quantized_type(t.out, ir::per_tensor_i8(1.0, 0))})
                         ->result());
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what) == "nothing") << t.what;
  }
}

TEST(Cat, LoadRefusesOtherTypesAndMemoryOrders) {
  for (const bool order : {false, true}) {
    ir::Graph graph;
    Values parts = {conformance::int8_input(graph, {1, 2, 3, 4}, 1.0, 0),
                    conformance::int8_input(graph, {1, 2, 3, 4}, 1.0, 0)};
    if (order) {
      parts[1]->type.dim_order = ir::kChannelsLast;
    } else {
      parts[1]->type = {DType::u8, {1, 2, 3, 4}, {}, {}};
    }
    graph.add_output(graph
                         .add_node("cat", "aten.cat", {{"tensors", parts}, {"dim", std::int64_t{1}}},
                                   {ir::quantized_type({1, 4, 3, 4}, ir::per_tensor_i8(1.0, 0))})
                         ->result());
    EXPECT_FALSE(conformance::loads(graph));
  }
}

}  // namespace
}  // namespace cormorant::ops
