// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/op.h"
#include "passes/passes.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/import_rows.h"

namespace cormorant::ops {

Operator slice_operator();
std::vector<AtenForm> slice_forms();

namespace {

using Dims = std::vector<std::int64_t>;

TEST(SliceImport, EverySpellingIsPyTorchs) {
  const conformance::ImportRow rows[] = {
      {"aten.slice.Tensor", {{5}}, {}, {{{5}, {0, 1, 2, 3, 4}}}},
      {"aten.slice.Tensor",
       {{2, 5}},
       {{"dim", std::int64_t{-1}}, {"start", std::int64_t{1}}, {"end", std::int64_t{9223372036854775807}}},
       {{{2, 4}, {1, 2, 3, 4, 6, 7, 8, 9}}}},
      {"aten.slice.Tensor", {{5}}, {{"start", std::int64_t{-3}}, {"end", std::int64_t{-1}}}, {{{2}, {2, 3}}}},
      {"aten.slice.Tensor",
       {{7}},
       {{"start", std::int64_t{1}}, {"end", std::int64_t{7}}, {"step", std::int64_t{3}}},
       {{{2}, {1, 4}}}},
      {"aten.slice.Tensor", {{4}}, {{"start", std::int64_t{-100}}, {"end", std::int64_t{2}}}, {{{2}, {0, 1}}}},
      {"aten.slice_copy.Tensor",
       {{2, 4}},
       {{"dim", std::int64_t{1}}, {"start", std::int64_t{0}}, {"end", std::int64_t{3}}, {"step", std::int64_t{2}}},
       {{{2, 2}, {0, 2, 4, 6}}}},
      {"aten.narrow.default",
       {{2, 4}},
       {{"dim", std::int64_t{1}}, {"start", std::int64_t{-3}}, {"length", std::int64_t{2}}},
       {{{2, 2}, {1, 2, 5, 6}}}},
      {"aten.narrow_copy.default",
       {{4}},
       {{"dim", std::int64_t{0}}, {"start", std::int64_t{1}}, {"length", std::int64_t{3}}},
       {{{3}, {1, 2, 3}}}},
      {"aten.select.int", {{2, 3}}, {{"dim", std::int64_t{1}}, {"index", std::int64_t{-1}}}, {{{2}, {2, 5}}}},
      {"aten.select_copy.int", {{2, 3}}, {{"dim", std::int64_t{0}}, {"index", std::int64_t{1}}}, {{{3}, {3, 4, 5}}}},
      {"aten.unbind.int", {{2, 2}}, {{"dim", std::int64_t{-1}}}, {{{2}, {0, 2}}, {{2}, {1, 3}}}},
      {"aten.unbind_copy.int", {{2, 2}}, {}, {{{2}, {0, 1}}, {{2}, {2, 3}}}},
      {"aten.split.Tensor", {{5}}, {{"split_size", std::int64_t{2}}}, {{{2}, {0, 1}}, {{2}, {2, 3}}, {{1}, {4}}}},
      {"aten.split.sizes", {{5}}, {{"split_size", Dims{1, 4}}}, {{{1}, {0}}, {{4}, {1, 2, 3, 4}}}},
      {"aten.split_copy.Tensor",
       {{2, 4}},
       {{"split_size", std::int64_t{2}}, {"dim", std::int64_t{1}}},
       {{{2, 2}, {0, 1, 4, 5}}, {{2, 2}, {2, 3, 6, 7}}}},
      {"aten.unsafe_split.Tensor", {{4}}, {{"split_size", std::int64_t{2}}}, {{{2}, {0, 1}}, {{2}, {2, 3}}}},
      {"aten.split_with_sizes.default",
       {{2, 3}},
       {{"split_sizes", Dims{1, 2}}, {"dim", std::int64_t{-1}}},
       {{{2, 1}, {0, 3}}, {{2, 2}, {1, 2, 4, 5}}}},
      {"aten.split_with_sizes_copy.default", {{3}}, {{"split_sizes", Dims{1, 2}}}, {{{1}, {0}}, {{2}, {1, 2}}}},
      {"aten.unsafe_split_with_sizes.default", {{3}}, {{"split_sizes", Dims{2, 1}}}, {{{2}, {0, 1}}, {{1}, {2}}}},
      {"aten.chunk.default", {{5}}, {{"chunks", std::int64_t{2}}}, {{{3}, {0, 1, 2}}, {{2}, {3, 4}}}},
      {"aten.chunk.default", {{5}}, {{"chunks", std::int64_t{4}}}, {{{2}, {0, 1}}, {{2}, {2, 3}}, {{1}, {4}}}},
      {"aten.chunk.default", {{2}}, {{"chunks", std::int64_t{3}}}, {{{1}, {0}}, {{1}, {1}}}},
      {"aten.unsafe_chunk.default", {{4}}, {{"chunks", std::int64_t{2}}}, {{{2}, {0, 1}}, {{2}, {2, 3}}}},
      {"aten.tensor_split.sections",
       {{5}},
       {{"sections", std::int64_t{3}}},
       {{{2}, {0, 1}}, {{2}, {2, 3}}, {{1}, {4}}}},
      {"aten.tensor_split.indices", {{5}}, {{"indices", Dims{1, -1}}}, {{{1}, {0}}, {{3}, {1, 2, 3}}, {{1}, {4}}}},
      {"aten.hsplit.int", {{4}}, {{"sections", std::int64_t{2}}}, {{{2}, {0, 1}}, {{2}, {2, 3}}}},
      {"aten.hsplit.array", {{2, 3}}, {{"indices", Dims{1}}}, {{{2, 1}, {0, 3}}, {{2, 2}, {1, 2, 4, 5}}}},
      {"aten.vsplit.int", {{2, 2}}, {{"sections", std::int64_t{2}}}, {{{1, 2}, {0, 1}}, {{1, 2}, {2, 3}}}},
      {"aten.vsplit.array", {{3, 1}}, {{"indices", Dims{1}}}, {{{1, 1}, {0}}, {{2, 1}, {1, 2}}}},
      {"aten.dsplit.int", {{1, 1, 4}}, {{"sections", std::int64_t{2}}}, {{{1, 1, 2}, {0, 1}}, {{1, 1, 2}, {2, 3}}}},
      {"aten.dsplit.array", {{1, 1, 4}}, {{"indices", Dims{3}}}, {{{1, 1, 3}, {0, 1, 2}}, {{1, 1, 1}, {3}}}},
      {"aten.roll.default", {{2, 3}}, {{"shifts", Dims{1}}}, {{{2, 3}, {5, 0, 1, 2, 3, 4}}}},
      {"aten.roll.default", {{2, 3}}, {{"shifts", Dims{-1, 1}}, {"dims", Dims{1, 0}}}, {{{2, 3}, {4, 5, 3, 1, 2, 0}}}},
  };
  Operator op = slice_operator();
  op.forms = slice_forms();
  for (const auto& row : rows) conformance::expect_as_pytorch(op, row);
}

TEST(SliceImport, ASliceThatKeepsEverythingIsItsInput) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({2, 5}));
  ir::Node call;
  call.args = {{"self", x},
               {"dim", std::int64_t{1}},
               {"start", std::int64_t{0}},
               {"end", std::int64_t{9223372036854775807}},
               {"step", std::int64_t{1}}};
  Importer importer{&graph, &call, {}};
  EXPECT_EQ(slice_forms().front().import(importer).front(), x);
}

conformance::Case slice_case(ir::Shape shape, std::int64_t dim, std::int64_t start, std::int64_t end,
                             std::int64_t step = 1) {
  std::string name = "slice of rank " + std::to_string(shape.size()) + " along " + std::to_string(dim) + " from " +
                     std::to_string(start) + " to " + std::to_string(end) + " by " + std::to_string(step);
  return {name, [=](ir::Graph& g) {
            ir::Shape out = shape;
            out[static_cast<std::size_t>(dim)] = (end - start + step - 1) / step;
            ir::Value* x = conformance::int8_input(g, shape, 0.1, -5);
            return conformance::add_quantized(
                g, "aten.slice", {{"self", x}, {"dim", dim}, {"start", start}, {"end", end}, {"step", step}}, out, 0.1,
                -5);
          }};
}

std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> all = {
      slice_case({300}, 0, 7, 290),
      slice_case({300}, 0, 7, 290, 3),
      slice_case({300}, 0, 0, 300, 19),
      slice_case({33, 5}, 1, 1, 4),
      slice_case({33, 5}, 0, 0, 33, 2),
      slice_case({33, 5}, 1, 0, 5, 2),
      slice_case({7, 9, 11}, 1, 2, 9, 3),
      slice_case({2, 3, 4, 5, 6}, 2, 1, 3),
      slice_case({2, 3, 2, 3, 2, 5}, 5, 1, 5, 2),
      slice_case({2, 3, 2, 3, 2, 5}, 3, 2, 3),
      slice_case({1, 40, 1, 1}, 1, 20, 40),
      slice_case({9}, 0, 4, 5),
      slice_case({9500}, 0, 0, 9500, 9400),
  };
  for (std::int64_t dim = 0; dim < 4; ++dim) {
    all.push_back(slice_case({4, 5, 6, 7}, dim, 1, 4));
    all.push_back(slice_case({4, 5, 6, 7}, dim, 0, 4, 3));
  }
  for (const std::int64_t channels : {2, 3, 5, 7, 16, 17, 34}) {
    all.push_back(slice_case({1, channels, 5, 3}, 1, 0, channels / 2));
    all.push_back(slice_case({1, channels, 5, 3}, 1, channels / 2, channels));
    all.push_back(slice_case({1, channels, 5, 3}, 1, 0, channels, 2));
  }
  return all;
}

TEST(Slice, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases(), 1); }

TEST(Slice, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0.0, 2); }

TEST(Slice, KeepsTheMemoryOrderOfItsInput) {
  const auto lowered = conformance::lowered_operators(slice_case({2, 6, 4, 5}, 1, 0, 3));
  EXPECT_EQ(lowered, (std::vector<std::pair<std::string, int>>{{"aten.slice_copy.Tensor_out", 1}}));
}

ir::TensorType i8(ir::Shape shape) { return {DType::i8, std::move(shape), {}, {}}; }

TEST(Slice, LoadTakesPythonsBounds) {
  const auto slice = [](ir::Argument start, ir::Argument end, std::int64_t out) {
    return conformance::loads("aten.slice_copy.Tensor_out", i8({2, 5}),
                              {{"dim", std::int64_t{-1}}, {"start", start}, {"end", end}, {"step", std::int64_t{2}}},
                              i8({2, out}));
  };
  EXPECT_TRUE(slice({}, {}, 3));
  EXPECT_TRUE(slice(std::int64_t{1}, std::int64_t{9223372036854775807}, 2));
  EXPECT_TRUE(slice(std::int64_t{-9223372036854775807 - 1}, std::int64_t{-1}, 2));
  EXPECT_TRUE(slice(std::int64_t{4}, std::int64_t{2}, 0));
  EXPECT_FALSE(slice({}, {}, 5));
  EXPECT_FALSE(slice(std::int64_t{4}, std::int64_t{2}, 1));
  EXPECT_FALSE(slice(1.0, {}, 2));
}

TEST(Slice, LoadRefusesWhatDoesNotFit) {
  const auto slice = [](std::int64_t dim, std::int64_t step, const ir::TensorType& out) {
    return conformance::loads("aten.slice_copy.Tensor_out", i8({2, 5}),
                              {{"dim", dim}, {"start", std::int64_t{0}}, {"end", std::int64_t{4}}, {"step", step}},
                              out);
  };
  EXPECT_TRUE(slice(1, 2, i8({2, 2})));
  EXPECT_TRUE(slice(1, 2147483647, i8({2, 1})));
  EXPECT_FALSE(slice(2, 2, i8({2, 2})));
  EXPECT_FALSE(slice(-3, 2, i8({2, 2})));
  EXPECT_FALSE(slice(1, 0, i8({2, 2})));
  EXPECT_FALSE(slice(1, -1, i8({2, 2})));
  EXPECT_FALSE(slice(1, 2, i8({3, 2})));
  EXPECT_FALSE(slice(1, 2, i8({2, 2, 1})));
  EXPECT_FALSE(slice(1, 2, {DType::u8, {2, 2}, {}, {}}));
}

TEST(Select, LoadTakesOnePlace) {
  const auto select = [](std::int64_t dim, std::int64_t index, ir::Shape out) {
    return conformance::loads("aten.select_copy.int_out", i8({2, 5, 3}), {{"dim", dim}, {"index", index}},
                              i8(std::move(out)));
  };
  EXPECT_TRUE(select(1, 4, {2, 3}));
  EXPECT_TRUE(select(-2, -5, {2, 3}));
  EXPECT_FALSE(select(1, 5, {2, 3}));
  EXPECT_FALSE(select(1, -6, {2, 3}));
  EXPECT_FALSE(select(3, 0, {2, 3}));
  EXPECT_FALSE(select(1, 0, {2, 4}));
  EXPECT_FALSE(select(1, 0, {6}));
}

TEST(Select, MovesOnePlace) {
  ir::Graph graph;
  ir::TensorType type = i8({1, 2, 3, 2});
  type.dim_order = ir::kChannelsLast;
  ir::Value* x = graph.add_input("x", type);
  graph.add_output(graph
                       .add_node("select", "aten.select_copy.int_out",
                                 {{"self", x}, {"dim", std::int64_t{2}}, {"index", std::int64_t{-1}}}, {i8({1, 2, 2})})
                       ->result());
  HostProgram program(conformance::program_of(graph), host_kernels());
  std::vector<std::byte> input;  // pixel by pixel: channels 0, 1 of (0, 0), then of (0, 1), …
  for (int i = 0; i < 12; ++i) input.push_back(static_cast<std::byte>(i));
  const std::vector<std::byte> output = program.run({&input, 1}).at(0);
  EXPECT_EQ(output, (std::vector<std::byte>{std::byte{8}, std::byte{10}, std::byte{9}, std::byte{11}}));
}

}  // namespace
}  // namespace cormorant::ops
