// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/op.h"
#include "passes/passes.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator reduce_operator();

namespace {

using Dims = std::vector<std::int64_t>;
using Args = std::vector<ir::NamedArgument>;
using conformance::Import;
using conformance::import_call;

TEST(ReduceImport, EverySpellingBecomesAReductionThatKeepsItsDimensions) {
  using Names = std::vector<std::string>;
  struct {
    const char* target;
    ir::Shape input, output;
    Args args;
    Names operators;
    Dims dim;
  } table[] = {
      {"aten.mean.dim", {1, 5, 8}, {1, 8}, {{"dim", Dims{1}}}, {"aten.mean", "aten.view"}, {1}},
      {"aten.mean.dim", {1, 5, 8}, {1, 5, 1}, {{"dim", Dims{-1}}, {"keepdim", true}}, {"aten.mean"}, {2}},
      {"aten.mean.dim", {1, 3, 8, 6}, {1, 8, 6}, {{"dim", Dims{1}}}, {"aten.mean", "aten.view"}, {1}},
      {"aten.mean.dim", {2, 3, 8, 6}, {2}, {{"dim", Dims{3, 1, 2}}}, {"aten.mean", "aten.view"}, {1, 2, 3}},
      {"aten.mean.dim", {2, 3}, {}, {{"dim", ir::None{}}}, {"aten.mean", "aten.view"}, {0, 1}},
      {"aten.mean.default", {2, 3}, {}, {}, {"aten.mean", "aten.view"}, {0, 1}},
      {"aten.mean.default", {2, 3}, {}, {{"dtype", DType::f32}}, {"aten.mean", "aten.view"}, {0, 1}},
      {"aten.sum.default", {7}, {}, {}, {"aten.sum", "aten.view"}, {0}},
      {"aten.sum.dim_IntList", {1, 5, 8}, {1, 1, 8}, {{"dim", Dims{-2}}, {"keepdim", true}}, {"aten.sum"}, {1}},
      {"aten.amax.default", {4, 5}, {4}, {{"dim", Dims{1}}}, {"aten.amax", "aten.view"}, {1}},
      {"aten.amin.default", {4, 5}, {}, {}, {"aten.amin", "aten.view"}, {0, 1}},
      {"aten.max.default", {4, 5}, {}, {}, {"aten.amax", "aten.view"}, {0, 1}},
      {"aten.min.default", {4, 5}, {}, {}, {"aten.amin", "aten.view"}, {0, 1}},
      // Height and width of images.
      {"aten.mean.dim",
       {1, 3, 8, 6},
       {1, 3, 1, 1},
       {{"dim", Dims{2, 3}}, {"keepdim", true}},
       {"aten.avg_pool2d"},
       {8, 6}},
      {"aten.mean.dim", {1, 3, 8, 6}, {1, 3}, {{"dim", Dims{-1, -2}}}, {"aten.avg_pool2d", "aten.view"}, {8, 6}},
      {"aten.mean.dim", {1, 3, 8, 6}, {1, 3, 6}, {{"dim", Dims{2}}}, {"aten.avg_pool2d", "aten.view"}, {8, 1}},
  };
  for (const auto& t : table) {
    const Import import = import_call(t.target, t.input, t.output, t.args);
    EXPECT_EQ(import.operators, t.operators) << t.target;
    ASSERT_EQ(import.results.size(), 1U) << t.target;
    EXPECT_EQ(import.results[0]->type.shape, t.output) << t.target;
    const ir::Node& node = import.graph.nodes().front();
    EXPECT_EQ(node.integers(node.op == "aten.avg_pool2d" ? "kernel_size" : "dim"), t.dim) << t.target;
    if (node.op != "aten.avg_pool2d") {
      EXPECT_EQ(reduce_operator().infer(node).front().shape, node.results.front()->type.shape) << t.target;
    }
  }
  EXPECT_THROW(import_call("aten.mean.default", {2, 3}, {}, {{"dtype", DType::i64}}), InputError);
}

TEST(Reduce, EvaluatesAsPyTorchDoes) {
  const evaluate::Tensor input({2, 3, 2}, {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -9});
  const auto reduce = [&](const char* op, const Dims& dim) {
    ir::Graph graph;
    ir::Value* x = graph.add_input("x", ir::float_type({2, 3, 2}));
    ir::Shape shape = {2, 3, 2};
    for (const std::int64_t d : dim) shape[static_cast<std::size_t>(d)] = 1;
    graph.add_output(graph.add_node("r", op, {{"self", x}, {"dim", dim}}, {ir::float_type(shape)})->result());
    const auto result = evaluate::evaluate_graph(graph, {&input, 1});
    return std::vector<float>(result[0].values().begin(), result[0].values().end());
  };
  using Values = std::vector<float>;
  EXPECT_EQ(reduce("aten.mean", {1}), Values({3, 4, -3, -5}));
  EXPECT_EQ(reduce("aten.sum", {0, 2}), Values({0, 0, -3}));
  EXPECT_EQ(reduce("aten.amax", {0}), Values({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(reduce("aten.amin", {0, 1}), Values({-5, -9}));
  EXPECT_EQ(reduce("aten.amax", {0, 1, 2}), Values({6}));
}

conformance::Case reduce_case(const std::string& op, const ir::Shape& input, const Dims& dim, double scale = 0.02,
                              std::int32_t zero_point = 7) {
  std::string name = op + " over";
  for (const std::int64_t d : dim) name += " " + std::to_string(d);
  name += " of";
  for (const std::int64_t size : input) name += " " + std::to_string(size);
  const bool shares = op == "aten.amax" || op == "aten.amin";
  return {name, [=](ir::Graph& g) {
            ir::Shape out = input;
            for (const std::int64_t d : dim) out[static_cast<std::size_t>(d)] = 1;
            ir::Value* x = conformance::int8_input(g, input, 0.1, -5);
            return conformance::add_quantized(g, op, {{"self", x}, {"dim", dim}}, out, shares ? 0.1 : scale,
                                              shares ? -5 : zero_point);
          }};
}

// A ring of parts that hold anything within their bounds, and sums that are theirs.
struct Moving {
  ir::Shape input;
  Dims dim;
  std::int64_t axis, entries, parts, oldest;
  bool words = false;  // 16-bit activations
};
conformance::Case moving_case(const Moving& m) {
  std::string name = m.words ? "moving mean in words of" : "moving mean of";
  for (const std::int64_t size : m.input) name += " " + std::to_string(size);
  return {name, [m](ir::Graph& g) {
            const auto& [input, dim, axis, entries, parts, oldest, words] = m;
            const std::int64_t zero = words ? 0 : -5;
            ir::Shape out = input;
            for (const std::int64_t d : dim) out[static_cast<std::size_t>(d)] = 1;
            ir::Value* x = words ? conformance::words_input(g, input, 0.001)
                                 : conformance::int8_input(g, input, 0.1, static_cast<std::int32_t>(zero));
            const ir::QuantParams of_words{DType::i16, -32768, 32767, std::nullopt, {0.0007}, {0}};
            const ir::TensorType type = ir::quantized_type(out, words ? of_words : ir::per_tensor_i8(0.05, 3));
            const std::int64_t results = type.elements(),
                               taps = x->type.elements() / results / input[static_cast<std::size_t>(axis)] * entries;
            std::vector<std::int32_t> ring, sums(static_cast<std::size_t>(results + 1));
            std::minstd_rand random(7);
            for (std::int64_t k = 0; k < parts; ++k) {  // the same for all results, whose order is that of memory
              const std::int64_t element = words ? static_cast<std::int64_t>(random() % 65536) - 32768
                                                 : static_cast<std::int64_t>(random() % 256) - 128;
              const auto sum = static_cast<std::int32_t>(element * taps);
              ring.insert(ring.end(), static_cast<std::size_t>(results), sum);
              for (std::int32_t& all : sums) all += sum - static_cast<std::int32_t>(taps * zero);
            }
            sums.back() = static_cast<std::int32_t>(oldest);
            const std::vector<std::int8_t> bytes(ring.begin(), ring.end());
            const std::vector<std::int16_t> halves(ring.begin(), ring.end());
            const auto constant = [&](const char* label, DType dtype, ir::Shape shape, ir::Bytes data) {
              return g.add_constant(label, {.dtype = dtype, .shape = std::move(shape), .dim_order = {}, .quant = {}},
                                    std::move(data));
            };
            const DType dtype = part_dtype(static_cast<std::uint32_t>(taps), x->type.dtype);
            ir::Value* past = constant("past", dtype, {parts, results},
                                       dtype == DType::i8    ? ir::Bytes::of(std::span<const std::int8_t>(bytes))
                                       : dtype == DType::i16 ? ir::Bytes::of(std::span<const std::int16_t>(halves))
                                                             : ir::Bytes::of(std::span<const std::int32_t>(ring)));
            ir::Value* totals =
                constant("sums", DType::i32, {results + 1}, ir::Bytes::of(std::span<const std::int32_t>(sums)));
            return g
                .add_node("moving", "aten.moving_mean",
                          {{"self", x},
                           {"past", past},
                           {"sums", totals},
                           {"dim", dim},
                           {"axis", axis},
                           {"entries", entries},
                           {"is_sum", false}},
                          {type, past->type, totals->type})
                ->results[0];
          }};
}

std::vector<conformance::Case> moving_cases() {
  std::vector<conformance::Case> all;
  for (const Moving& m : {Moving{{1, 5, 2, 3}, {2, 3}, 2, 2, 4, 3},
                          {{1, 5, 4, 3}, {2, 3}, 2, 2, 3, 2},
                          {{1, 5, 3, 6}, {2, 3}, 3, 2, 5, 4},
                          {{1, 7, 1, 6}, {2}, 2, 1, 5, 0},
                          {{2, 3, 9}, {2}, 2, 3, 4, 1},
                          {{1, 1, 17}, {1}, 1, 1, 6, 5},
                          {{1, 3, 20, 15}, {2, 3}, 2, 20, 2, 9}}) {
    all.push_back(moving_case(m));
    Moving in_words = m;
    in_words.words = true;
    all.push_back(moving_case(in_words));
  }
  return all;
}

TEST(MovingMean, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(moving_cases()); }

TEST(MovingMean, IsTheNearestToTheFloatSemantics) { conformance::expect_near_float_semantics(moving_cases(), 1.0); }

std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> all;
  for (const char* op : {"aten.mean", "aten.amax"}) {
    all.push_back(reduce_case(op, {2, 5, 7}, {1}));
    all.push_back(reduce_case(op, {3, 9, 16}, {1}));
    all.push_back(reduce_case(op, {1, 21, 33}, {1}));
    all.push_back(reduce_case(op, {3, 4, 5}, {2}));
    all.push_back(reduce_case(op, {3, 2, 37}, {2}));
    all.push_back(reduce_case(op, {2, 300}, {1}));
    all.push_back(reduce_case(op, {3, 1030}, {1}));
    all.push_back(reduce_case(op, {300, 5}, {0}));
    all.push_back(reduce_case(op, {3, 5, 4}, {0, 2}));
    all.push_back(reduce_case(op, {3, 5, 4}, {0, 1, 2}));
    all.push_back(reduce_case(op, {17}, {0}));
    all.push_back(reduce_case(op, {2, 3, 2, 3, 2}, {1, 3}));
    all.push_back(reduce_case(op, {2, 3, 1, 3, 2, 4}, {0, 3, 4}));
    // Images, whose order in memory is not that of their dimensions.
    for (const Dims& dim : {Dims{1}, Dims{2}, Dims{3}, Dims{0}, Dims{1, 2}, Dims{1, 3}, Dims{0, 2}, Dims{0, 1},
                            Dims{1, 2, 3}, Dims{0, 1, 2, 3}}) {
      all.push_back(reduce_case(op, {2, 5, 3, 4}, dim));
    }
    all.push_back(reduce_case(op, {1, 17, 3, 4}, {1}));
    all.push_back(reduce_case(op, {1, 1, 3, 4}, {1}));
  }
  all.push_back(reduce_case("aten.sum", {2, 5, 7}, {1}, 0.5, -3));
  all.push_back(reduce_case("aten.sum", {2, 40}, {1}, 0.9, 3));
  all.push_back(reduce_case("aten.amin", {2, 5, 7}, {1}));
  all.push_back(reduce_case("aten.amin", {2, 5, 3, 4}, {1}));
  // After a pooling, where images are channels-last.
  all.push_back({"of a pooled image", [](ir::Graph& g) {
                   ir::Value* x = conformance::int8_input(g, {1, 6, 8, 8}, 0.1, -5);
                   ir::Value* pooled = conformance::add_quantized(g, "aten.max_pool2d",
                                                                  {{"self", x},
                                                                   {"kernel_size", Dims{2, 2}},
                                                                   {"stride", Dims{2, 2}},
                                                                   {"padding", Dims{0, 0}},
                                                                   {"dilation", Dims{1, 1}},
                                                                   {"ceil_mode", false}},
                                                                  {1, 6, 4, 4}, 0.1, -5);
                   return conformance::add_quantized(g, "aten.mean", {{"self", pooled}, {"dim", Dims{1}}}, {1, 1, 4, 4},
                                                     0.05, 0);
                 }});
  return all;
}

TEST(Reduce, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(Reduce, IsTheNearestToTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1.0); }

TEST(Reduce, TheVariantIsTheTargets) {
  using Count = std::vector<std::pair<std::string, int>>;
  const auto mean = reduce_case("aten.mean", {2, 5, 7}, {1});
  const auto smallest = reduce_case("aten.amin", {2, 5, 7}, {1});
  EXPECT_EQ(conformance::lowered_operators(mean, {&kCpus[0], Isa::scalar}), Count({{"cormorant.mean.scalar", 1}}));
  EXPECT_EQ(conformance::lowered_operators(mean, {&kCpus[3], Isa::dsp}), Count({{"cormorant.mean.dsp", 1}}));
  EXPECT_EQ(conformance::lowered_operators(mean, {&kCpus[9], Isa::mve}), Count({{"cormorant.mean.mve", 1}}));
  EXPECT_EQ(conformance::lowered_operators(smallest, {&kCpus[9], Isa::mve}),
            Count({{"cormorant.amax.mve", 1}, {"cortex_m.quantized_activation", 2}}));
}

TEST(Reduce, WhatHasNoKernelIsRefused) {
  const auto lower = [](const conformance::Case& c, Runtime runtime) {
    ir::Graph graph;
    graph.add_output(c.build(graph));
    passes::lower(graph, {.target = {&kCpus[3], Isa::dsp}, .runtime = runtime});
  };
  EXPECT_NO_THROW(lower(reduce_case("aten.mean", {2, 5, 7}, {1}), Runtime::cormorant));
  EXPECT_THROW(lower(reduce_case("aten.mean", {2, 5, 7}, {1}), Runtime::executorch), InputError);
  EXPECT_THROW(lower(reduce_case("aten.mean", {2, 2, 2, 2, 2}, {0, 2, 4}), Runtime::cormorant), InputError);
  EXPECT_THROW(lower(reduce_case("aten.sum", {2, 1000000}, {1}, 1e-9), Runtime::cormorant), InputError);
}

TEST(Reduce, LoadRejectsWrongDimensionsAndShapes) {
  struct Hostile {
    const char* what;
    ir::Shape input = {2, 3, 4};
    ir::Shape out = {2, 1, 4};
    Dims dim = {1};
    std::int64_t left = 5, right = 5, multiplier = 1 << 30, zero_point = 0, min = -128;
  };
  std::vector<Hostile> table(15);
  table[0] = {.what = "nothing"};
  table[1] = {.what = "a dimension that is not there", .dim = {3}};
  table[2] = {.what = "a negative dimension", .dim = {-2}};
  table[3] = {.what = "more dimensions than a tensor has", .dim = {1, 1, 1, 1, 1, 1, 1}};
  table[4] = {.what = "a result that is not reduced", .out = {2, 3, 4}};
  table[5] = {.what = "a result that is reduced too far", .out = {1, 1, 4}};
  table[6] = {.what = "a result of another rank", .out = {2, 4}};
  table[7] = {.what = "three groups of dimensions", .input = {2, 2, 2, 2, 2}, .out = {1, 2, 1, 2, 1}, .dim = {0, 2, 4}};
  table[8] = {.what = "a shift out of 32 bits", .left = 32};
  table[9] = {.what = "no shift", .right = 0};
  table[10] = {.what = "a negative multiplier", .multiplier = -1};
  table[11] = {.what = "a zero point beyond int8", .zero_point = -129};
  table[12] = {.what = "a bound beyond int8", .min = -129};
  table[13] = {.what = "crossed bounds", .min = 127 + 1};
  table[14] = {.what = "a sum that is shifted out of 30 bits", .left = 21};
  for (const Hostile& t : table) {
    ir::Graph graph;
    ir::Value* x = graph.add_input("x", ir::quantized_type(t.input, ir::per_tensor_i8(1.0, 0)));
    graph.add_output(graph
                         .add_node("mean", "cormorant.mean.mve",
                                   {{"input", x},
                                    {"dim", t.dim},
                                    {"input_zero_point", t.zero_point},
                                    {"left_shift", t.left},
                                    {"multiplier", t.multiplier},
                                    {"right_shift", t.right},
                                    {"output_zero_point", std::int64_t{0}},
                                    {"output_min", t.min},
                                    {"output_max", std::int64_t{127}}},
                                   {ir::quantized_type(t.out, ir::per_tensor_i8(1.0, 0))})
                         ->result());
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what) == "nothing") << t.what;
  }
}

TEST(MovingMean, LoadRejectsWhatDoesNotFit) {
  struct Hostile {
    const char* what;
    DType dtype = DType::i16;
    ir::Shape past = {4, 3}, sums = {4};
    std::int64_t left = 10, axis = 2, entries = 2;
    bool words = false;
  };
  std::vector<Hostile> table(19);
  table[0] = {.what = "nothing"};
  table[1] = {.what = "sums too narrow for their parts", .dtype = DType::i8};
  table[2] = {.what = "a ring of other results", .past = {4, 2}};
  table[3] = {.what = "a ring without parts", .past = {0, 3}};
  table[4] = {.what = "a flat ring", .past = {12}};
  table[5] = {.what = "no place of the oldest part", .sums = {3}};
  table[6] = {.what = "sums that are shifted out of 30 bits", .left = 18};
  table[7] = {.what = "more elements than a sum can have", .past = {1 << 20, 3}};
  table[8] = {.what = "no such axis", .axis = 4};
  table[9] = {.what = "an axis that is kept", .axis = 1};
  table[10] = {.what = "no entries", .entries = 0};
  table[11] = {.what = "more entries than are new", .entries = 4};
  table[12] = {.what = "nothing", .dtype = DType::i32, .left = 0, .words = true};
  table[13] = {.what = "words' sums too narrow for their parts", .left = 0, .words = true};
  table[14] = {.what = "words' sums that are shifted", .dtype = DType::i32, .left = 1, .words = true};
  table[15] = {.what = "more words than 32 bits can sum up",
               .dtype = DType::i32,
               .past = {1 << 13, 3},
               .left = 0,
               .words = true};
  table[16] = {.what = "a ring of words' other results", .dtype = DType::i32, .past = {4, 2}, .left = 0, .words = true};
  table[17] = {.what = "no words", .dtype = DType::i32, .left = 0, .entries = 0, .words = true};
  table[18] = {.what = "words along an axis that is kept", .dtype = DType::i32, .left = 0, .axis = 1, .words = true};
  for (const Hostile& t : table) {
    ir::Graph graph;
    const ir::QuantParams of_words{DType::i16, -32768, 32767, std::nullopt, {1.0}, {0}};
    const ir::QuantParams quant = t.words ? of_words : ir::per_tensor_i8(1.0, 0);
    ir::Value* x = graph.add_input("x", ir::quantized_type({1, 3, 2, 4}, quant));
    const ir::TensorType past{.dtype = t.dtype, .shape = t.past, .dim_order = {}, .quant = {}};
    const ir::TensorType sums{.dtype = DType::i32, .shape = t.sums, .dim_order = {}, .quant = {}};
    ir::Node* node = graph.add_node("mean", t.words ? "cormorant.moving_mean.words" : "cormorant.moving_mean.dsp",
                                    {{"input", x},
                                     {"past", graph.add_input("past", past)},
                                     {"sums", graph.add_input("sums", sums)},
                                     {"dim", Dims{2, 3}},
                                     {"axis", t.axis},
                                     {"entries", t.entries},
                                     {"input_zero_point", std::int64_t{0}},
                                     {"left_shift", t.left},
                                     {"multiplier", std::int64_t{1 << 30}},
                                     {"right_shift", std::int64_t{5}},
                                     {"output_zero_point", std::int64_t{0}},
                                     {"output_min", std::int64_t{-128}},
                                     {"output_max", std::int64_t{127}}},
                                    {ir::quantized_type({1, 3, 1, 1}, quant), past, sums});
    for (ir::Value* result : node->results) graph.add_output(result);
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what) == "nothing") << t.what;
  }
}

}  // namespace
}  // namespace cormorant::ops
