// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "emit/emit.h"
#include "evaluate/graph.h"
#include "ops/host/schema.h"
#include "ops/op.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/import_rows.h"

namespace cormorant::ops {

Operator view_operator();

namespace {

using Dims = std::vector<std::int64_t>;

TEST(ViewImport, EverySpellingTakesTheExportedShape) {
  const Operator op = view_operator();
  for (const AtenForm& form : op.forms) {
    if (form.schema.find("shuffle") != std::string_view::npos) continue;
    ir::Graph graph;
    ir::Node call;
    call.name = "call";
    call.args = {{"self", graph.add_input("x", ir::float_type({2, 1, 6}))}};
    Importer importer{&graph, &call, {ir::float_type({3, 4})}};
    const ir::Node* node = form.import(importer).front()->producer;
    ASSERT_NE(node, nullptr) << form.schema;
    EXPECT_EQ(node->op, "aten.view") << form.schema;
    EXPECT_EQ(node->integers("size"), Dims({3, 4})) << form.schema;
  }
}

TEST(ViewImport, AViewOfTheSameShapeIsTheInput) {
  ir::Graph graph;
  ir::Node call;
  ir::Value* x = graph.add_input("x", ir::float_type({2, 6}));
  call.args = {{"self", x}};
  Importer importer{&graph, &call, {ir::float_type({2, 6})}};
  EXPECT_EQ(view_operator().forms.front().import(importer).front(), x);
}

TEST(ViewImport, ShufflesAreTranspositionsBetweenViews) {
  const conformance::ImportRow rows[] = {
      {"aten.pixel_shuffle.default",
       {{1, 8, 1, 2}},
       {{"upscale_factor", std::int64_t{2}}},
       {{{1, 2, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15}}}},
      {"aten.pixel_shuffle.default",
       {{4, 2, 1}},
       {{"upscale_factor", std::int64_t{2}}},
       {{{1, 4, 2}, {0, 2, 4, 6, 1, 3, 5, 7}}}},
      {"aten.pixel_unshuffle.default",
       {{1, 2, 2, 4}},
       {{"downscale_factor", std::int64_t{2}}},
       {{{1, 8, 1, 2}, {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15}}}},
      {"aten.channel_shuffle.default",
       {{1, 6, 1, 2}},
       {{"groups", std::int64_t{3}}},
       {{{1, 6, 1, 2}, {0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11}}}},
      {"aten.channel_shuffle.default",
       {{2, 4, 2}},
       {{"groups", std::int64_t{2}}},
       {{{2, 4, 2}, {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}}}},
      {"aten.native_channel_shuffle.default",
       {{1, 4, 2, 2}},
       {{"groups", std::int64_t{2}}},
       {{{1, 4, 2, 2}, {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15}}}},
  };
  const Operator op = view_operator();
  for (const auto& row : rows) conformance::expect_as_pytorch(op, row);
}

TEST(ViewInfer, TheNumberOfElementsStays) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({2, 6}));
  ir::Node* good = graph.add_node("v", "aten.view", {{"self", x}, {"size", Dims{3, 4}}}, {ir::float_type({3, 4})});
  EXPECT_EQ(view_operator().infer(*good).front(), ir::float_type({3, 4}));
  ir::Node* bad = graph.add_node("v", "aten.view", {{"self", x}, {"size", Dims{3, 5}}}, {ir::float_type({3, 5})});
  EXPECT_THROW(view_operator().infer(*bad), InputError);
}

// [1, 2, 1, 2] channels-last has the same memory order as its [1, 1, 2, 2] view.
TEST(RelayoutEvaluate, MovesElementsToWhereTheBytesAre) {
  ir::Graph graph;
  ir::TensorType last = ir::float_type({1, 2, 1, 2});
  last.dim_order = ir::kChannelsLast;
  ir::Value* x = graph.add_input("x", ir::float_type({1, 1, 2, 2}));  // N, H, W, C
  graph.add_output(graph.add_node("r", "cormorant.relayout", {{"self", x}}, {last})->result());
  const evaluate::Tensor input({1, 1, 2, 2}, {1, 2, 3, 4});  // pixel 0: channels 1, 2; pixel 1: 3, 4
  const auto result = evaluate::evaluate_graph(graph, {&input, 1});
  EXPECT_EQ(std::vector<float>(result[0].values().begin(), result[0].values().end()), std::vector<float>({1, 3, 2, 4}));
}

TEST(View, FlattensChannelsLastImagesInLogicalOrder) {
  std::vector<conformance::Case> cases = {{"flatten", [](ir::Graph& g) {
                                             ir::Value* x = conformance::int8_input(g, {1, 3, 4, 5}, 0.1, 0);
                                             return conformance::add_quantized(
                                                 g, "aten.view", {{"self", x}, {"size", Dims{1, 60}}}, {1, 60}, 0.1, 0);
                                           }}};
  conformance::expect_near_float_semantics(cases, 0.0);
  conformance::expect_same_bits_everywhere(cases, 2);
}

}  // namespace
}  // namespace cormorant::ops
