// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "ops/op.h"
#include "ops/update/kernel.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

using conformance::Case;

ir::Value* places(ir::Graph& g, const std::vector<std::int64_t>& values) {
  return g.add_constant("places", {DType::i64, {static_cast<std::int64_t>(values.size())}, {}, {}},
                        ir::Bytes::of(std::span<const std::int64_t>(values)));
}

// Rows of whole words, of a few bytes and of one; places from the end, and one outside.
std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](ir::Shape shape, std::int64_t dim, const std::vector<std::int64_t>& index) {
    all.push_back({"index_copy", [=](ir::Graph& g) {
                     ir::Shape part = shape;
                     part[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(index.size());
                     ir::Value* self = conformance::int8_input(g, shape, 0.1, 3);
                     ir::Value* source = conformance::int8_input(g, part, 0.1, 3);
                     return conformance::add_quantized(
                         g, "aten.index_copy",
                         {{"self", self}, {"dim", dim}, {"index", places(g, index)}, {"source", source}}, shape, 0.1,
                         3);
                   }});
  };
  add({1, 2, 5, 8}, 2, {3});
  add({1, 3, 4, 7}, 2, {-1, 0});
  add({2, 9}, 1, {4, 9, -10});
  add({6, 33}, 0, {5, 2, 5});
  add({5}, 0, {1});
  return all;
}

TEST(Update, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }
TEST(Update, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0.5); }

// One execution of a ring whose oldest entry is at `oldest`; its entries have so many bytes.
struct Ring {
  std::int64_t unit, step, taps, oldest;
};
std::vector<Case> ring_cases(int result) {
  std::vector<Case> all;
  for (const Ring& r : {Ring{32, 4, 3, 0},
                        {32, 4, 3, 8},
                        {32, 4, 3, 5},
                        {7, 2, 5, 3},
                        {1, 3, 2, 2},
                        {45, 1, 4, 1},
                        {16, 5, 2, 77},
                        {16, 5, 2, -1}}) {
    all.push_back({"ring of " + std::to_string(r.unit), [r, result](ir::Graph& g) {
                     const std::int64_t entries = r.step * (r.taps - 1) + 1;
                     ir::Value* self = conformance::int8_input(g, {entries, r.unit}, 0.1, 3);
                     ir::Value* source = conformance::int8_input(g, {1, r.unit}, 0.1, 3);
                     const std::int32_t oldest = static_cast<std::int32_t>(r.oldest);
                     ir::Value* position = g.add_constant("position", {DType::i32, {1}, {}, {}},
                                                          ir::Bytes::of(std::span<const std::int32_t>(&oldest, 1)));
                     ir::TensorType taps = self->type;
                     taps.shape[0] = r.taps;
                     return g
                         .add_node("ring", "aten.update_ring",
                                   {{"self", self}, {"position", position}, {"source", source}, {"step", r.step}},
                                   {taps, self->type, position->type})
                         ->results.at(static_cast<std::size_t>(result));
                   }});
  }
  return all;
}

// What is read from it, and what it becomes.
TEST(UpdateRing, EveryVariantEqualsTheReference) {
  std::vector<Case> both = ring_cases(0);
  const std::vector<Case> kept = ring_cases(1);
  both.insert(both.end(), kept.begin(), kept.end());
  conformance::expect_same_bits_everywhere(both);
}
TEST(UpdateRing, EqualsTheFloatSemantics) {
  for (const int result : {0, 1}) conformance::expect_near_float_semantics(ring_cases(result), 0.5);
}

ir::TensorType i8(ir::Shape shape) { return {DType::i8, std::move(shape), {}, {}}; }

// Programs' own nodes, which no model has: as they are on the host.
std::vector<int> run(const char* op, ir::TensorType self, ir::TensorType source, std::vector<ir::NamedArgument> args) {
  ir::Graph graph;
  std::vector<ir::NamedArgument> all = {{"self", graph.add_input("x", self)}};
  all.insert(all.end(), args.begin(), args.end());
  all.push_back({"source", graph.add_input("s", source)});
  graph.add_output(graph.add_node("update", op, std::move(all), {self})->result());
  HostProgram program(conformance::program_of(graph), host_kernels());
  std::vector<std::vector<std::byte>> inputs(2);
  for (int i = 0; i < self.elements(); ++i) inputs[0].push_back(static_cast<std::byte>(i));
  for (int i = 0; i < source.elements(); ++i) inputs[1].push_back(static_cast<std::byte>(100 + i));
  std::vector<int> values;
  const std::vector<std::byte> output = program.run(inputs).at(0);
  for (const std::byte value : output) values.push_back(static_cast<int>(value));
  return values;
}

TEST(Update, ReplacesAPart) {
  EXPECT_EQ(run("cormorant.update_part.scalar", i8({2, 3}), i8({2, 1}),
                {{"dim", std::int64_t{1}}, {"start", std::int64_t{1}}}),
            (std::vector<int>{0, 100, 2, 3, 101, 5}));
}

TEST(Update, ShiftsBothWays) {
  const auto shift = [](bool in_front) {
    return run("cormorant.update_shift.scalar", i8({2, 4}), i8({2, 1}),
               {{"dim", std::int64_t{1}}, {"in_front", in_front}});
  };
  EXPECT_EQ(shift(false), (std::vector<int>{1, 2, 3, 100, 5, 6, 7, 101}));
  EXPECT_EQ(shift(true), (std::vector<int>{100, 0, 1, 2, 101, 4, 5, 6}));
}

// Whatever its position says, a ring is written and read inside its memory.
TEST(UpdateRing, TakesTheOldestEntrysPlace) {
  const auto run_ring = [](std::int32_t position) {
    ir::Graph graph;
    const ir::TensorType index{DType::i32, {1}, {}, {}};
    const ir::Node* node = graph.add_node("ring", "cormorant.update_ring.scalar",
                                          {{"self", graph.add_input("x", i8({5, 1}))},
                                           {"position", graph.add_input("p", index)},
                                           {"source", graph.add_input("s", i8({1, 1}))},
                                           {"step", std::int64_t{2}}},
                                          {i8({3, 1}), i8({5, 1}), index});
    for (ir::Value* result : node->results) graph.add_output(result);
    HostProgram program(conformance::program_of(graph), host_kernels());
    std::vector<std::vector<std::byte>> inputs(3);
    for (int i = 0; i < 5; ++i) inputs[0].push_back(static_cast<std::byte>(i));
    inputs[1].resize(sizeof position);
    std::memcpy(inputs[1].data(), &position, sizeof position);
    inputs[2].push_back(std::byte{100});
    std::vector<int> values;
    const std::vector<std::vector<std::byte>> outputs = program.run(inputs);
    for (std::size_t k = 0; k < 2; ++k) {
      for (const std::byte value : outputs.at(k)) values.push_back(static_cast<int>(value));
    }
    values.push_back(static_cast<int>(outputs.at(2).at(0)));
    return values;
  };
  EXPECT_EQ(run_ring(0), (std::vector<int>{1, 3, 100, 100, 1, 2, 3, 4, 1}));
  EXPECT_EQ(run_ring(2), (std::vector<int>{3, 0, 100, 0, 1, 100, 3, 4, 3}));
  EXPECT_EQ(run_ring(4), (std::vector<int>{0, 2, 100, 0, 1, 2, 3, 100, 0}));
  EXPECT_EQ(run_ring(5), run_ring(0));
  EXPECT_EQ(run_ring(-3), run_ring(0));
}

TEST(UpdateRing, LoadRefusesWhatDoesNotFit) {
  struct Hostile {
    const char* what;
    ir::TensorType self = i8({5, 3}), source = i8({1, 3}), out = i8({3, 3}), next = i8({5, 3});
    ir::TensorType position = {DType::i32, {1}, {}, {}};
    std::int64_t step = 2;
  };
  std::vector<Hostile> table(13);
  table[0] = {.what = "nothing"};
  table[1] = {.what = "a step beyond the last entry", .step = 3};
  table[2] = {.what = "no step", .step = 0};
  table[3] = {.what = "a step back", .step = -2};
  table[4] = {.what = "a product that wraps", .out = i8({5, 3}), .step = 1 << 30};
  table[5] = {.what = "one tap", .self = i8({1, 3}), .out = i8({1, 3}), .next = i8({1, 3})};
  table[6] = {.what = "larger entries", .source = i8({1, 4})};
  table[7] = {.what = "two new entries", .source = i8({2, 3})};
  table[8] = {.what = "smaller results", .out = i8({3, 2})};
  table[9] = {.what = "another ring", .next = i8({4, 3})};
  table[10] = {.what = "two positions", .position = {DType::i32, {2}, {}, {}}};
  table[11] = {.what = "a position of another type", .position = {DType::f32, {1}, {}, {}}};
  table[12] = {.what = "columns first", .next = {DType::i8, {5, 3}, {1, 0}, {}}};
  for (const Hostile& t : table) {
    ir::Graph graph;
    const ir::Node* node = graph.add_node("ring", "cormorant.update_ring.scalar",
                                          {{"self", graph.add_input("x", t.self)},
                                           {"position", graph.add_input("p", t.position)},
                                           {"source", graph.add_input("s", t.source)},
                                           {"step", t.step}},
                                          {t.out, t.next, t.position});
    for (ir::Value* result : node->results) graph.add_output(result);
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what) == "nothing") << t.what;
  }
}

TEST(Update, LoadRefusesWhatDoesNotFit) {
  const auto loads = [](const char* op, ir::TensorType source, std::vector<ir::NamedArgument> args,
                        ir::TensorType out) {
    ir::Graph graph;
    ir::Value* self = graph.add_input("x", i8({2, 4}));
    ir::Value* other = graph.add_input("s", std::move(source));
    args.insert(args.begin(), {"self", self});
    args.push_back({"source", other});
    graph.add_output(graph.add_node("update", op, std::move(args), {std::move(out)})->result());
    return conformance::loads(graph);
  };
  const auto part = [&](std::int64_t dim, std::int64_t start, ir::TensorType source, ir::TensorType out) {
    return loads("cormorant.update_part.scalar", std::move(source), {{"dim", dim}, {"start", start}}, std::move(out));
  };
  EXPECT_TRUE(part(1, 3, i8({2, 1}), i8({2, 4})));
  EXPECT_TRUE(part(-1, 0, i8({2, 4}), i8({2, 4})));
  EXPECT_FALSE(part(1, 4, i8({2, 1}), i8({2, 4})));
  EXPECT_FALSE(part(1, -1, i8({2, 1}), i8({2, 4})));
  EXPECT_FALSE(part(1, 2147483647, i8({2, 2}), i8({2, 4})));
  EXPECT_FALSE(part(2, 0, i8({2, 1}), i8({2, 4})));
  EXPECT_FALSE(part(1, 0, i8({2, 5}), i8({2, 4})));
  EXPECT_FALSE(part(1, 0, i8({1, 1}), i8({2, 4})));
  EXPECT_FALSE(part(1, 0, i8({2}), i8({2, 4})));
  EXPECT_FALSE(part(1, 0, {DType::i16, {2, 1}, {}, {}}, i8({2, 4})));
  EXPECT_FALSE(part(1, 0, i8({2, 1}), i8({2, 5})));
  const auto shift = [&](std::int64_t dim, ir::TensorType source) {
    return loads("cormorant.update_shift.scalar", std::move(source), {{"dim", dim}, {"in_front", false}}, i8({2, 4}));
  };
  EXPECT_TRUE(shift(1, i8({2, 4})));
  EXPECT_FALSE(shift(1, i8({2, 5})));
  EXPECT_FALSE(shift(-3, i8({2, 1})));
  const auto at = [](std::int64_t dim, ir::TensorType index, ir::TensorType source) {
    ir::Graph graph;
    ir::Value* self = graph.add_input("x", i8({2, 4}));
    ir::Value* places = graph.add_input("i", std::move(index));
    ir::Value* other = graph.add_input("s", std::move(source));
    std::vector<ir::NamedArgument> args = {{"self", self}, {"dim", dim}, {"index", places}, {"source", other}};
    graph.add_output(graph.add_node("update", "cormorant.update_at.scalar", std::move(args), {i8({2, 4})})->result());
    return conformance::loads(graph);
  };
  EXPECT_TRUE(at(1, {DType::i64, {2}, {}, {}}, i8({2, 2})));
  EXPECT_FALSE(at(1, {DType::i64, {3}, {}, {}}, i8({2, 2})));
  EXPECT_FALSE(at(1, {DType::i64, {1, 2}, {}, {}}, i8({2, 2})));
  EXPECT_FALSE(at(1, {DType::f32, {2}, {}, {}}, i8({2, 2})));
  EXPECT_FALSE(at(1, {DType::i64, {2}, {}, {}}, i8({1, 2})));
  EXPECT_FALSE(at(2, {DType::i64, {2}, {}, {}}, i8({2, 2})));
}

// Its rows have bytes though there are none: a plan of a part of them would move a length below zero.
TEST(Update, NothingIsMovedOfAnEmptyTensor) {
  const std::int32_t whole[] = {0, 3}, part[] = {0, 1};
  const std::uint8_t order[] = {0, 1};
  std::byte memory[4] = {};
  UpdateShift<TargetWorld> args;
  const auto give = [&](Tensor& tensor, const std::int32_t* sizes) {
    tensor = {.data = memory, .sizes = sizes, .dim_order = order, .size_in_bytes = 0, .rank = 2, .dtype = DType::i8};
  };
  give(args.self, whole);
  give(args.source, part);
  give(args.out, whole);
  args.dim = 1;
  for (const bool in_front : {false, true}) {
    args.in_front = in_front;
    UpdatePlan plan;
    ASSERT_EQ(plan_update_shift(args, plan), Error::ok);
    EXPECT_EQ(plan.rows, 0U);
    EXPECT_EQ(plan.part_bytes, 0U);
  }
}

}  // namespace
}  // namespace cormorant::ops
