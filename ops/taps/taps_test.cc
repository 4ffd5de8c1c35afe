// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>

#include "runtime/host.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

// Along `dim`, from the table's places with its weights; three results of an image's five rows or seven columns.
conformance::Case taps_case(const char* name, ir::Shape shape, std::int64_t dim, std::int64_t taps,
                            std::vector<std::int32_t> places, std::vector<float> weights) {
  return {name, [=](ir::Graph& g) {
            ir::Value* x = conformance::int8_input(g, shape, 0.1, 3);
            const ir::Shape table = {static_cast<std::int64_t>(weights.size()) / taps, taps};
            ir::Value* p = g.add_constant("p", {DType::i32, table, {}, std::nullopt},
                                          ir::Bytes::of(std::span<const std::int32_t>(places)));
            ir::Value* w = g.add_constant("w", ir::float_type(table), ir::Bytes::of(std::span<const float>(weights)));
            ir::Shape out = shape;
            out[static_cast<std::size_t>(dim)] = table[0];
            return conformance::add_quantized(g, "cormorant.taps.float",
                                              {{"self", x}, {"dim", dim}, {"places", p}, {"weights", w}}, out, 0.1, 3);
          }};
}

std::vector<conformance::Case> cases() {
  const std::vector<std::int32_t> pairs = {0, 1, 1, 2, 3, 4};
  const std::vector<float> linear = {0.75F, 0.25F, 0.5F, 0.5F, 1.0F / 3, 2.0F / 3};
  return {taps_case("rows", {1, 3, 5, 7}, 2, 2, pairs, linear),
          taps_case("columns", {1, 17, 5, 7}, 3, 2, pairs, linear),
          taps_case("a signal", {2, 3, 9}, 2, 2, pairs, linear),
          taps_case("one each", {1, 4, 5, 7}, 2, 1, {4, 0, 2, 2}, {1, 1, 1, 1}),
          taps_case("cubic", {1, 4, 5, 7}, 3, 4, {0, 1, 2, 3, 1, 2, 3, 4},
                    {-0.1F, 0.6F, 0.6F, -0.1F, -0.05F, 0.2F, 0.95F, -0.1F})};
}

TEST(Taps, EveryCpuEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

// Halves may go the other way.
TEST(Taps, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1); }

TEST(Taps, IsOneOperator) {
  using Count = std::vector<std::pair<std::string, int>>;
  EXPECT_EQ(conformance::lowered_operators(cases().front(), {&kCpus[9], Isa::mve}),
            Count({{"cormorant.taps.int8", 1}}));
}

TEST(TapsLoad, RejectsTablesThatDoNotFit) {
  struct Table {
    const char* what;
    ir::Shape out = {2, 3, 4}, places = {3, 2}, weights = {3, 2};
    std::int64_t dim = 1;
    DType place_type = DType::i32, weight_type = DType::i16, out_type = DType::i8;
    std::vector<std::uint8_t> out_order = {};
    ir::Shape in = {2, 5, 4};
  };
  const Table tables[] = {{.what = "nothing"},
                          {.what = "nothing, from the end", .dim = -2},
                          {.what = "nothing, no results", .out = {2, 0, 4}, .places = {0, 2}, .weights = {0, 2}},
                          {.what = "more results than places", .out = {2, 4, 4}},
                          {.what = "more places than results", .out = {2, 2, 4}},
                          {.what = "more weights", .weights = {3, 3}},
                          {.what = "places in a row", .places = {6}, .weights = {6}},
                          {.what = "another size beside it", .out = {2, 3, 5}},
                          {.what = "a dimension less", .out = {3, 4}},
                          {.what = "no such dimension", .dim = 3},
                          {.what = "no such dimension from the end", .dim = -4},
                          {.what = "places of floats", .place_type = DType::f32},
                          {.what = "weights of bytes", .weight_type = DType::i8},
                          {.what = "results of another type", .out_type = DType::u8},
                          {.what = "results in another order", .out_order = {0, 2, 1}},
                          {.what = "results of nothing", .in = {2, 0, 4}}};
  for (const Table& t : tables) {
    ir::Graph graph;
    const auto constant = [&](const char* name, DType type, const ir::Shape& shape) {
      const ir::TensorType of{type, shape, {}, std::nullopt};
      return graph.add_constant(name, of, ir::Bytes::own(std::vector<std::byte>(static_cast<std::size_t>(of.bytes()))));
    };
    ir::Value* x = graph.add_input("x", {DType::i8, t.in, {}, std::nullopt});
    ir::Value* places = constant("p", t.place_type, t.places);
    ir::Value* weights = constant("w", t.weight_type, t.weights);
    graph.add_output(graph
                         .add_node("node", "cormorant.taps.int8",
                                   {{"self", x}, {"dim", t.dim}, {"places", places}, {"weights", weights}},
                                   {{t.out_type, t.out, t.out_order, std::nullopt}})
                         ->result());
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what).starts_with("nothing")) << t.what;
  }
}

// A place outside the tensor is as much the file's as one inside: whatever a table says, the nearest row is read.
TEST(TapsLoad, PlacesOutsideAreThoseAtTheBorder) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", {DType::i8, {1, 3, 2}, {}, std::nullopt});
  const std::vector<std::int32_t> places = {-1, 3, 2147483647, -2147483647 - 1, 1};
  const std::vector<std::int16_t> weights(places.size(), 1 << 14);
  const ir::Shape table = {5, 1};
  ir::Value* p = graph.add_constant("p", {DType::i32, table, {}, std::nullopt},
                                    ir::Bytes::of(std::span<const std::int32_t>(places)));
  ir::Value* w = graph.add_constant("w", {DType::i16, table, {}, std::nullopt},
                                    ir::Bytes::of(std::span<const std::int16_t>(weights)));
  graph.add_output(graph
                       .add_node("node", "cormorant.taps.int8",
                                 {{"self", x}, {"dim", std::int64_t{1}}, {"places", p}, {"weights", w}},
                                 {{DType::i8, {1, 5, 2}, {}, std::nullopt}})
                       ->result());
  HostProgram program(conformance::program_of(graph), host_kernels());
  const std::array<std::int8_t, 6> input = {1, 2, 3, 4, 5, 6};
  const auto bytes = std::as_bytes(std::span(input));
  const std::vector<std::vector<std::byte>> inputs = {{bytes.begin(), bytes.end()}};
  const auto outputs = program.run(inputs);
  const std::vector<std::byte> expected = {std::byte{1}, std::byte{2}, std::byte{5}, std::byte{6}, std::byte{5},
                                           std::byte{6}, std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0], expected);
}

}  // namespace
}  // namespace cormorant::ops
