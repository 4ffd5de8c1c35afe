// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/op.h"
#include "ops/pad/reference.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/import_rows.h"

namespace cormorant::ops {

Operator pad_operator();
std::vector<AtenForm> pad_forms();

namespace {

using Dims = std::vector<std::int64_t>;

TEST(PadReference, PutsTheInputInsideABorder) {
  const std::int8_t input[] = {1, 2, 3, 4};
  std::int8_t output[4 * 5];
  pad_reference({{1, 1, 2, 2}, {0, 0, 1, 1}, {0, 0, 1, 2}}, 9, input, output);
  const std::int8_t expected[] = {9, 9, 9, 9, 9,  //
                                  9, 1, 2, 9, 9,  //
                                  9, 3, 4, 9, 9,  //
                                  9, 9, 9, 9, 9};
  EXPECT_TRUE(std::equal(std::begin(output), std::end(output), std::begin(expected)));
}

TEST(PadEvaluate, TakesPyTorchsListLastDimensionFirst) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({2, 2}));
  graph.add_output(graph
                       .add_node("pad", "aten.pad", {{"self", x}, {"pad", Dims{1, 0, 0, 1}}, {"value", 7.0}},
                                 {ir::float_type({3, 3})})
                       ->result());
  const evaluate::Tensor input({2, 2}, {1, 2, 3, 4});
  const auto result = evaluate::evaluate_graph(graph, {&input, 1});
  EXPECT_EQ(std::vector<float>(result[0].values().begin(), result[0].values().end()),
            std::vector<float>({7, 1, 2, 7, 3, 4, 7, 7, 7}));
}

TEST(PadEvaluate, NegativePaddingCrops) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({4}));
  graph.add_output(
      graph.add_node("pad", "aten.pad", {{"self", x}, {"pad", Dims{-1, 1}}, {"value", 0.0}}, {ir::float_type({4})})
          ->result());
  const evaluate::Tensor input({4}, {1, 2, 3, 4});
  const auto result = evaluate::evaluate_graph(graph, {&input, 1});
  EXPECT_EQ(std::vector<float>(result[0].values().begin(), result[0].values().end()), std::vector<float>({2, 3, 4, 0}));
}

TEST(PadImport, EverySpellingIsPyTorchs) {
  const conformance::ImportRow rows[] = {
      {"aten.reflection_pad1d.default",
       {{1, 2, 4}},
       {{"padding", Dims{2, 3}}},
       {{{1, 2, 9}, {2, 1, 0, 1, 2, 3, 2, 1, 0, 6, 5, 4, 5, 6, 7, 6, 5, 4}}}},
      {"aten.reflection_pad2d.default",
       {{1, 1, 3, 3}},
       {{"padding", Dims{1, 2, 0, 1}}},
       {{{1, 1, 4, 6}, {1, 0, 1, 2, 1, 0, 4, 3, 4, 5, 4, 3, 7, 6, 7, 8, 7, 6, 4, 3, 4, 5, 4, 3}}}},
      {"aten.reflection_pad2d.default",
       {{1, 3, 3}},
       {{"padding", Dims{1, 0, 2, 1}}},
       {{{1, 6, 4}, {7, 6, 7, 8, 4, 3, 4, 5, 1, 0, 1, 2, 4, 3, 4, 5, 7, 6, 7, 8, 4, 3, 4, 5}}}},
      {"aten.replication_pad1d.default",
       {{1, 2, 2}},
       {{"padding", Dims{2, 1}}},
       {{{1, 2, 5}, {0, 0, 0, 1, 1, 2, 2, 2, 3, 3}}}},
      {"aten.replication_pad1d.default", {{1, 1, 4}}, {{"padding", Dims{-2, 3}}}, {{{1, 1, 5}, {2, 3, 3, 3, 3}}}},
      {"aten.replication_pad1d.default", {{1, 1, 4}}, {{"padding", Dims{-4, 2}}}, {{{1, 1, 2}, {3, 3}}}},
      {"aten.replication_pad1d.default", {{1, 1, 4}}, {{"padding", Dims{2, -4}}}, {{{1, 1, 2}, {0, 0}}}},
      {"aten.replication_pad2d.default",
       {{1, 1, 2, 2}},
       {{"padding", Dims{1, 0, 0, 2}}},
       {{{1, 1, 4, 3}, {0, 0, 1, 2, 2, 3, 2, 2, 3, 2, 2, 3}}}},
      {"aten.replication_pad3d.default",
       {{1, 1, 1, 2, 2}},
       {{"padding", Dims{1, 0, 0, 1, 1, 0}}},
       {{{1, 1, 2, 3, 3}, {0, 0, 1, 2, 2, 3, 2, 2, 3, 0, 0, 1, 2, 2, 3, 2, 2, 3}}}},
      {"aten.reflection_pad3d.default",
       {{1, 1, 2, 2, 2}},
       {{"padding", Dims{1, 0, 0, 1, 1, 0}}},
       {{{1, 1, 3, 3, 3}, {5, 4, 5, 7, 6, 7, 5, 4, 5, 1, 0, 1, 3, 2, 3, 1, 0, 1, 5, 4, 5, 7, 6, 7, 5, 4, 5}}}},
      {"aten._pad_circular.default", {{1, 1, 3}}, {{"pad", Dims{1, 2}}}, {{{1, 1, 6}, {2, 0, 1, 2, 0, 1}}}},
      {"aten.pad.default",
       {{1, 1, 2, 2}},
       {{"pad", Dims{1, 1, 1, 0}}, {"mode", std::string("circular")}},
       {{{1, 1, 3, 4}, {3, 2, 3, 2, 1, 0, 1, 0, 3, 2, 3, 2}}}},
      {"aten.pad.default",
       {{1, 1, 4}},
       {{"pad", Dims{3, 2}}, {"mode", std::string("reflect")}},
       {{{1, 1, 9}, {3, 2, 1, 0, 1, 2, 3, 2, 1}}}},
      {"aten.pad.default",
       {{1, 1, 2}},
       {{"pad", Dims{1, 2}}, {"mode", std::string("replicate")}},
       {{{1, 1, 5}, {0, 0, 1, 1, 1}}}},
      {"aten.pad.default", {{2, 3}}, {{"pad", Dims{1, 0}}, {"value", 7.0}}, {{{2, 4}, {7, 0, 1, 2, 7, 3, 4, 5}}}},
      {"aten.pad.default", {{2, 4}}, {{"pad", Dims{-1, 1, -1, 0}}, {"value", 7.0}}, {{{1, 4}, {5, 6, 7, 7}}}},
      {"aten.pad.default", {{1, 4}}, {{"pad", Dims{-1, -2}}}, {{{1, 1}, {1}}}},
      {"aten.constant_pad_nd.default",
       {{2, 2}},
       {{"pad", Dims{0, 1, 1, -1}}, {"value", std::int64_t{9}}},
       {{{2, 3}, {9, 9, 9, 0, 1, 9}}}},
      {"aten.pad.default",
       {{1, 1, 4}},
       {{"pad", Dims{-1, 2}}, {"mode", std::string("replicate")}},
       {{{1, 1, 5}, {1, 2, 3, 3, 3}}}},
      {"aten.pad.default",
       {{1, 1, 4}},
       {{"pad", Dims{-1, 2}}, {"mode", std::string("circular")}},
       {{{1, 1, 5}, {1, 2, 3, 1, 2}}}},
  };
  Operator op = pad_operator();
  op.forms = pad_forms();
  for (const auto& row : rows) conformance::expect_as_pytorch(op, row);
}

TEST(PadImport, ABorderThatTheTensorDoesNotHaveIsRefused) {
  for (const char* mode : {"reflect", "circular", "nonsense"}) {
    ir::Graph graph;
    ir::Node call;
    call.args = {{"self", graph.add_input("x", ir::float_type({1, 1, 3}))},
                 {"pad", Dims{4, 0}},
                 {"mode", std::string(mode)},
                 {"value", {}}};
    Importer importer{&graph, &call, {}};
    EXPECT_THROW(pad_forms().front().import(importer), InputError) << mode;
  }
}

conformance::Case pad_case(ir::Shape shape, Dims pad, double value) {
  std::string name = "pad of rank " + std::to_string(shape.size()) + " by";
  for (const std::int64_t n : pad) name += " " + std::to_string(n);
  return {name, [=](ir::Graph& g) {
            ir::Shape out = shape;
            for (std::size_t i = 0; i < pad.size(); ++i) out[shape.size() - 1 - i / 2] += pad[i];
            ir::Value* x = conformance::int8_input(g, shape, 0.1, -5);
            return conformance::add_quantized(g, "aten.pad", {{"self", x}, {"pad", pad}, {"value", value}}, out, 0.1,
                                              -5);
          }};
}

std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> all = {
      pad_case({7}, {2, 3}, 0),
      pad_case({3, 5}, {1, 0, 0, 2}, 1.5),
      pad_case({2, 3, 5}, {0, 0, 1, 1}, 0),
      pad_case({2, 3, 4, 5}, {1, 2, 3, 4, 5, 6, 1, 1}, -2),
      pad_case({1, 4, 3, 3}, {0, 0, 0, 0, 2, 1}, 0),
      pad_case({2, 1, 3, 3}, {1, 1, 1, 1}, 0),
      pad_case({1, 20, 1, 1}, {1, 1, 1, 1}, 100),
  };
  for (const std::int64_t channels : {1, 3, 4, 5, 8, 16, 17, 40}) {
    all.push_back(pad_case({1, channels, 4, 5}, {0, 1, 0, 1}, 0));
    all.push_back(pad_case({1, channels, 3, 3}, {1, 1, 2, 2}, 0));
  }
  return all;
}

TEST(Pad, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(Pad, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0.5); }

TEST(Pad, LoadRejectsBordersThatDoNotFit) {
  struct {
    const char* what;
    ir::Shape in, out;
    Dims pre, post;
    std::int64_t value;
  } table[] = {
      {"nothing", {4}, {5}, {0, 0, 0, 1}, {0, 0, 0, 0}, 0},
      {"a larger output", {4}, {8}, {0, 0, 0, 1}, {0, 0, 0, 1}, 0},
      {"a smaller output", {4}, {5}, {0, 0, 0, 1}, {0, 0, 0, 1}, 0},
      {"negative borders", {4}, {4}, {0, 0, 0, -1}, {0, 0, 0, 1}, 0},
      {"borders that cancel by overflow", {4}, {4}, {0, 0, 0, 2147483647}, {0, 0, 0, 2147483647}, 0},
      {"a border of a dimension that is not there", {4}, {4}, {1, 0, 0, 0}, {0, 0, 0, 0}, 0},
      {"lists of another length", {4}, {5}, {1}, {0}, 0},
      {"a value beyond int8", {4}, {5}, {0, 0, 0, 1}, {0, 0, 0, 0}, 128},
      {"another rank", {4}, {1, 5}, {0, 0, 0, 1}, {0, 0, 0, 0}, 0},
  };
  for (const auto& t : table) {
    ir::Graph graph;
    ir::Value* x = conformance::int8_input(graph, t.in, 1.0, 0);
    graph.add_output(graph
                         .add_node("pad", "cortex_m.pad",
                                   {{"input", x}, {"pre_pad", t.pre}, {"post_pad", t.post}, {"pad_value", t.value}},
                                   {ir::quantized_type(t.out, ir::per_tensor_i8(1.0, 0))})
                         ->result());
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what) == "nothing") << t.what;
  }
}

}  // namespace
}  // namespace cormorant::ops
