// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/layer_norm/arithmetic.h"
#include "ops/op.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator layer_norm_operator();

namespace {

using conformance::Case;

struct Norm {
  ir::Shape shape;
  std::int64_t groups = 1, channels = 1, inner = 1;
  double in_scale = 0.05, out_scale = 0.03;
  std::int32_t in_zero = 7, out_zero = -4;
  double eps = 1e-5;
  bool affine = true;
  bool subtracts_mean = true;
  double gamma = 1.0;  // the parameters' magnitude
  bool words = false;  // 16-bit activations; scales are a 256th
};

Case case_of(const Norm& n) {
  return {"norm of " + std::to_string(n.groups) + " groups of " + std::to_string(n.channels) + " x " +
              std::to_string(n.inner) + " gamma " + std::to_string(n.gamma),
          [n](ir::Graph& g) {
            ir::Value* x = n.words ? conformance::words_input(g, n.shape, n.in_scale / 256)
                                   : conformance::int8_input(g, n.shape, n.in_scale, n.in_zero);
            std::mt19937 random(3);
            std::uniform_real_distribution<double> uniform(-1, 1);
            std::vector<double> weight, bias;
            for (std::int64_t i = 0; i < n.groups * n.channels; ++i) {
              weight.push_back(n.gamma * (uniform(random) + 0.5));
              bias.push_back(n.gamma * uniform(random));
            }
            std::vector<ir::NamedArgument> args = {{"input", x},
                                                   {"groups", n.groups},
                                                   {"channels", n.channels},
                                                   {"inner", n.inner},
                                                   {"weight", n.affine ? ir::Argument{weight} : ir::Argument{}},
                                                   {"bias", n.affine ? ir::Argument{bias} : ir::Argument{}},
                                                   {"eps", n.eps},
                                                   {"subtracts_mean", n.subtracts_mean}};
            if (n.words) {
              return conformance::add_words(g, "aten.layer_norm", std::move(args), n.shape, n.out_scale / 256);
            }
            return conformance::add_quantized(g, "aten.layer_norm", std::move(args), n.shape, n.out_scale, n.out_zero);
          }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 15, 16, 17, 64}) {
    all.push_back(case_of({.shape = {3, size}, .channels = size}));
    all.push_back(case_of({.shape = {1, 2, size}, .channels = size, .affine = false}));
    all.push_back(case_of({.shape = {3, size}, .channels = size, .subtracts_mean = false}));
  }
  all.push_back(case_of({.shape = {2, 4, 3}, .channels = 12}));
  all.push_back(case_of({.shape = {2, 2, 3, 192}, .channels = 192}));
  all.push_back(case_of({.shape = {1, 3000}, .channels = 3000}));
  // Groups and instances, the spatial dimensions of odd sizes.
  all.push_back(case_of({.shape = {2, 6, 3, 5}, .groups = 3, .channels = 2, .inner = 15}));
  all.push_back(case_of({.shape = {1, 5, 7}, .groups = 5, .channels = 1, .inner = 7}));
  all.push_back(case_of({.shape = {1, 4, 2, 2}, .groups = 2, .channels = 2, .inner = 4, .affine = false}));
  // Scales: ε that matters, and ε that rules.
  for (const double scale : {1e-6, 1e-4, 3e-3, 1.0, 1e4}) {
    all.push_back(case_of({.shape = {2, 9}, .channels = 9, .in_scale = scale, .in_zero = -128}));
    all.push_back(
        case_of({.shape = {2, 9}, .channels = 9, .in_scale = scale, .in_zero = 127, .subtracts_mean = false}));
  }
  all.push_back(case_of({.shape = {2, 9}, .channels = 9, .eps = 0}));
  // γ and β from nothing to far beyond the output's range.
  for (const double gamma : {1e-12, 1e-3, 30.0, 1e4}) {
    all.push_back(case_of({.shape = {2, 33}, .channels = 33, .out_zero = 127, .gamma = gamma}));
  }
  return all;
}

TEST(LayerNorm, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(LayerNorm, IsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1.0); }

// Except for numbers that are between two steps, all results are the nearest ones.
TEST(LayerNorm, IsNearlyAlwaysTheNearestInteger) {
  std::vector<Case> usual;
  for (const std::int64_t size : {2, 16, 64, 192, 3000}) {
    usual.push_back(case_of({.shape = {4, size}, .channels = size}));
  }
  conformance::expect_near_float_semantics(usual, 0.505, 6);
}

std::vector<Case> words_cases() {
  std::vector<Case> all;
  for (const std::int64_t size : {1, 2, 3, 4, 7, 16, 17, 192}) {
    all.push_back(case_of({.shape = {3, size}, .channels = size, .words = true}));
    all.push_back(case_of({.shape = {2, size}, .channels = size, .subtracts_mean = false, .words = true}));
  }
  all.push_back(case_of({.shape = {1, 3000}, .channels = 3000, .words = true}));
  all.push_back(case_of({.shape = {2, 6, 3, 5}, .groups = 3, .channels = 2, .inner = 15, .words = true}));
  all.push_back(case_of({.shape = {1, 5, 7}, .groups = 5, .channels = 1, .inner = 7, .affine = false, .words = true}));
  for (const double scale : {1e-6, 1e-2, 1.0}) {
    all.push_back(case_of({.shape = {2, 9}, .channels = 9, .in_scale = scale, .words = true}));
  }
  for (const double gamma : {1e-12, 1e-3, 30.0, 1e3}) {
    all.push_back(case_of({.shape = {2, 33}, .channels = 33, .gamma = gamma, .words = true}));
  }
  return all;
}

TEST(LayerNormWords, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(words_cases()); }

TEST(LayerNormWords, IsWithinOneStepOfTheFloatSemantics) {
  conformance::expect_near_float_semantics(words_cases(), 1.0);
}

TEST(LayerNormArithmetic, TheReciprocalRootIsRightTo26Bits) {
  for (std::int64_t x = std::int64_t{1} << 29; x < std::int64_t{1} << 31; x += 104729) {
    const double exact = 1 / std::sqrt(std::ldexp(static_cast<double>(x), -31));
    const double got =
        std::ldexp(layer_norm::reciprocal_root<doubling_high_multiply>(static_cast<std::int32_t>(x)), -30);
    ASSERT_NEAR(got, exact, std::ldexp(1.0, -26)) << x;
  }
}

TEST(LayerNorm, EqualValuesBecomeTheBias) {
  ir::Graph g;
  ir::Value* x = conformance::int8_input(g, {1, 5}, 0.1, 3);
  g.add_output(conformance::add_quantized(g, "aten.layer_norm",
                                          {{"input", x},
                                           {"groups", std::int64_t{1}},
                                           {"channels", std::int64_t{5}},
                                           {"inner", std::int64_t{1}},
                                           {"weight", std::vector<double>{1, 2, 3, 4, 5}},
                                           {"bias", std::vector<double>{0, 1, -1, 0.5, 100}},
                                           {"eps", 0.0},
                                           {"subtracts_mean", true}},
                                          {1, 5}, 0.5, 10));
  const Config config;
  ir::Node& node = g.nodes().back();
  g.replace_uses(node.result(), layer_norm_operator().lower({g, node, config}));
  g.erase(&node);
  HostProgram program(conformance::program_of(g), host_kernels());
  const std::vector<std::byte> input(5, std::byte{42});
  const std::vector<std::byte> out = program.run({&input, 1}).front();
  const std::vector<std::byte> expected = {std::byte{10}, std::byte{12}, std::byte{8}, std::byte{11}, std::byte{127}};
  EXPECT_EQ(out, expected);
}

// ---- import ---------------------------------------------------------------------------------------------------------

ir::Value* constant(ir::Graph& graph, std::vector<float> data) {
  return graph.add_constant("c", ir::float_type({static_cast<std::int64_t>(data.size())}),
                            ir::Bytes::of(std::span<const float>(data)));
}

using Dims = std::vector<std::int64_t>;
using conformance::import_call;

// [1, 2, 1, 2] with the values 1, 3, 10, 14, by hand: over all, over each channel, and by the root of the mean square.
TEST(LayerNormImport, EverySpellingNormalizesWhatItShould) {
  const double all[] = {-6 / std::sqrt(27.5), -4 / std::sqrt(27.5), 3 / std::sqrt(27.5), 7 / std::sqrt(27.5)};
  const double each[] = {-1, 1, -1, 1};
  const double rms[] = {1 / std::sqrt(5.0), 3 / std::sqrt(5.0), 10 / std::sqrt(148.0), 14 / std::sqrt(148.0)};
  struct {
    const char* target;
    std::vector<ir::NamedArgument> args;
    std::size_t results;
    const double* expected;
    bool affine;  // by channel: · 2 + 1, · 3 − 1
  } table[] = {{"aten.layer_norm.default", {{"normalized_shape", Dims{2, 1, 2}}, {"eps", 0.0}}, 1, all, false},
               {"aten.native_layer_norm.default",
                {{"normalized_shape", Dims{2}}, {"eps", 0.0}, {"weight", ir::None{}}, {"bias", ir::None{}}},
                3,
                each,
                false},
               {"aten.rms_norm.default", {{"normalized_shape", Dims{2}}, {"eps", 0.0}}, 1, rms, false},
               {"aten._fused_rms_norm.default",
                {{"normalized_shape", Dims{2}}, {"eps", 0.0}, {"weight", ir::None{}}},
                2,
                rms,
                false},
               {"aten.group_norm.default", {{"num_groups", std::int64_t{1}}, {"eps", 0.0}}, 1, all, true},
               {"aten.group_norm.default", {{"num_groups", std::int64_t{2}}, {"eps", 0.0}}, 1, each, true},
               {"aten.native_group_norm.default",
                {{"group", std::int64_t{2}},
                 {"N", std::int64_t{1}},
                 {"C", std::int64_t{2}},
                 {"HxW", std::int64_t{2}},
                 {"eps", 0.0}},
                3,
                each,
                true},
               {"aten.instance_norm.default",
                {{"running_mean", ir::None{}},
                 {"running_var", ir::None{}},
                 {"use_input_stats", true},
                 {"momentum", 0.1},
                 {"cudnn_enabled", false},
                 {"eps", 0.0}},
                1,
                each,
                true}};
  for (const auto& t : table) {
    ir::Graph graph;
    std::vector<ir::NamedArgument> args = t.args;
    args.push_back({"input", graph.add_input("x", ir::float_type({1, 2, 1, 2}))});
    if (t.affine) {
      args.push_back({"weight", constant(graph, {2, 3})});
      args.push_back({"bias", constant(graph, {1, -1})});
    }
    const auto results = import_call(graph, t.target, args, {1, 2, 1, 2});
    EXPECT_EQ(results.size(), t.results) << t.target;
    graph.add_output(results.front());
    const evaluate::Tensor input({1, 2, 1, 2}, {1, 3, 10, 14});
    const auto got = evaluate::evaluate_graph(graph, {&input, 1});
    for (std::size_t i = 0; i < 4; ++i) {
      const double expected = !t.affine ? t.expected[i] : i < 2 ? t.expected[i] * 2 + 1 : t.expected[i] * 3 - 1;
      EXPECT_NEAR(got[0].values()[i], expected, 1e-5) << t.target;
    }
  }
}

TEST(LayerNormImport, AnInstanceNormWithStatisticsOfItsOwnIsABatchNorm) {
  ir::Graph graph;
  const auto results = import_call(graph, "aten.instance_norm.default",
                                   {{"input", graph.add_input("x", ir::float_type({1, 2, 2, 2}))},
                                    {"weight", constant(graph, {2, 3})},
                                    {"bias", constant(graph, {1, -1})},
                                    {"running_mean", constant(graph, {0, 0})},
                                    {"running_var", constant(graph, {1, 1})},
                                    {"use_input_stats", false},
                                    {"momentum", 0.1},
                                    {"eps", 1e-5},
                                    {"cudnn_enabled", false}},
                                   {1, 2, 2, 2});
  EXPECT_EQ(results.front()->producer->op, "aten.batch_norm");
}

TEST(LayerNormImport, ParametersMustFitAndThoseThatAreComputedFollowIt) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({1, 4}));
  const auto with = [&](ir::Value* weight) {
    return import_call(graph, "aten.layer_norm.default",
                       {{"input", x}, {"normalized_shape", Dims{4}}, {"weight", weight}}, {1, 4});
  };
  EXPECT_NO_THROW(with(constant(graph, {1, 2, 3, 4})));
  EXPECT_THROW(with(constant(graph, {1, 2, 3})), InputError);
  EXPECT_THROW(with(graph.add_input("v", ir::float_type({3}))), InputError);
  const ir::Value* scaled = with(graph.add_input("w", ir::float_type({4}))).front();
  EXPECT_EQ(scaled->producer->op, "aten.view");
  EXPECT_EQ(scaled->producer->tensor("self")->producer->op, "aten.mul");
  EXPECT_THROW(import_call(graph, "aten.group_norm.default", {{"input", x}, {"num_groups", std::int64_t{3}}}, {1, 4}),
               InputError);
}

TEST(LayerNormLoad, RejectsPackedConstantsThatDoNotFit) {
  using layer_norm::Header;
  const auto load = [](auto damage, std::size_t bytes = layer_norm::packed_bytes(6), ir::Shape out = {2, 12}) {
    ir::Graph graph;
    std::vector<std::byte> packed(bytes);
    Header header{.groups = 2,
                  .channels = 3,
                  .inner = 2,
                  .zero_point = 0,
                  .subtracts_mean = 1,
                  .fraction = 20,
                  .epsilon = 5,
                  .shift = 10,
                  .zero = 0};
    damage(header);
    std::memcpy(packed.data(), &header, std::min(bytes, sizeof(header)));
    const auto i8 = [](ir::Shape shape) { return ir::quantized_type(std::move(shape), ir::per_tensor_i8(1.0, 0)); };
    ir::Value* x = graph.add_input("x", i8({2, 12}));
    ir::Value* constant = graph.add_constant(
        "packed",
        {.dtype = DType::i8, .shape = {static_cast<std::int64_t>(bytes)}, .dim_order = {}, .quant = std::nullopt},
        ir::Bytes::of(std::span<const std::byte>(packed)));
    graph.add_output(
        graph
            .add_node("norm", "cormorant.layer_norm.scalar", {{"input", x}, {"packed", constant}}, {i8(std::move(out))})
            ->result());
    HostProgram program(conformance::program_of(graph), host_kernels());
  };
  const auto sound = [](Header&) {};
  EXPECT_NO_THROW(load(sound));
  EXPECT_THROW(load(sound, 16), InputError);
  EXPECT_THROW(load(sound, layer_norm::packed_bytes(6) - 4), InputError);
  EXPECT_THROW(load(sound, layer_norm::packed_bytes(6) + 4), InputError);
  EXPECT_THROW(load(sound, layer_norm::packed_bytes(6), {2, 13}), InputError);
  EXPECT_THROW(load([](Header& h) { h.groups = 0; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.inner = 0; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.inner = 5; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.inner = 0xffffffff; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.channels = 0x10000; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.shift = 32; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.fraction = 30; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.zero_point = 300; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.subtracts_mean = 2; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.epsilon = ~std::uint64_t{0}; }), InputError);
}

}  // namespace
}  // namespace cormorant::ops
