// SPDX-License-Identifier: Apache-2.0
#include "ops/avg_pool2d/avg_pool2d.h"

#include <gtest/gtest.h>

#include <random>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/host/multiplier.h"
#include "ops/op.h"
#include "passes/passes.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator avg_pool2d_operator();

namespace {

using Dims = std::vector<std::int64_t>;

TEST(Average, RoundsToNearestHalvesAwayFromZero) {
  struct {
    std::int32_t sum;
    std::uint32_t count;
    std::int32_t expected;
  } table[] = {{0, 1, 0},   {-128, 1, -128}, {127, 1, 127},       {1, 2, 1},
               {-1, 2, -1}, {3, 4, 1},       {5, 4, 1},           {6, 4, 2},
               {-6, 4, -2}, {-5, 4, -1},     {127 * 49, 49, 127}, {-128 * 49, 49, -128},
               {4, 9, 0},   {5, 9, 1},       {-5, 9, -1},         {-128 * 65536, 65536, -128}};
  for (const auto& t : table) EXPECT_EQ(average(t.sum, divisor_of(t.count)), t.expected) << t.sum << " / " << t.count;
}

TEST(Average, EqualsADivisionForEveryWindowAndTheSumsWhereItTurns) {
  for (std::int32_t count = 1; count <= kLargestWindow; count += count < 2000 ? 1 : 997) {
    const WindowDivisor divisor = divisor_of(static_cast<std::uint32_t>(count));
    EXPECT_EQ(divisor.multiplier, ((1U << 24) + divisor.count - 1) / divisor.count);
    for (std::int32_t level = -128; level <= 127; ++level) {
      for (const std::int32_t turn : {level * count - count / 2, level * count + count / 2}) {
        for (std::int32_t sum = turn - 1; sum <= turn + 1; ++sum) {
          if (sum < -128 * count || sum > 127 * count) continue;
          const std::int32_t expected = sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
          ASSERT_EQ(average(sum, divisor), expected) << sum << " / " << count;
        }
      }
    }
  }
}

TEST(PooledSize, FollowsPyTorch) {
  EXPECT_EQ(pooled_size(7, 3, 2, 0, false), 3);
  EXPECT_EQ(pooled_size(8, 3, 2, 0, false), 3);
  EXPECT_EQ(pooled_size(8, 3, 2, 0, true), 4);
  EXPECT_EQ(pooled_size(8, 3, 2, 1, false), 4);
  EXPECT_EQ(pooled_size(4, 2, 3, 1, true), 2);  // a third window would start in the right padding
}

using conformance::Import;
using conformance::import_call;

TEST(AvgPoolImport, EverySpellingBecomesOnePooling) {
  using Names = std::vector<std::string>;
  struct {
    const char* target;
    ir::Shape input, output;
    std::vector<ir::NamedArgument> args;
    Names operators;
    Dims kernel, stride, padding;
  } table[] = {
      {"aten.avg_pool2d.default",
       {1, 3, 8, 8},
       {1, 3, 4, 4},
       {{"kernel_size", Dims{2, 2}}},
       {"aten.avg_pool2d"},
       {2, 2},
       {2, 2},
       {0, 0}},
      {"aten.avg_pool2d.default",
       {1, 3, 8, 8},
       {1, 3, 6, 6},
       {{"kernel_size", Dims{3}}, {"stride", Dims{1}}},
       {"aten.avg_pool2d"},
       {3, 3},
       {1, 1},
       {0, 0}},
      {"aten.avg_pool2d.default",
       {3, 8, 8},
       {3, 4, 4},
       {{"kernel_size", Dims{2, 2}}},
       {"aten.view", "aten.avg_pool2d", "aten.view"},
       {2, 2},
       {2, 2},
       {0, 0}},
      {"aten.avg_pool2d.default",
       {1, 3, 8, 8},
       {1, 3, 4, 4},
       {{"kernel_size", Dims{3, 3}}, {"stride", Dims{2, 2}}, {"padding", Dims{1, 1}}},
       {"aten.avg_pool2d"},
       {3, 3},
       {2, 2},
       {1, 1}},
      {"aten.avg_pool2d.default",
       {1, 3, 8, 8},
       {1, 3, 4, 4},
       {{"kernel_size", Dims{3, 3}}, {"stride", Dims{2, 2}}, {"padding", Dims{1, 1}}, {"count_include_pad", false}},
       {"aten.avg_pool2d"},
       {3, 3},
       {2, 2},
       {1, 1}},
      {"aten.adaptive_avg_pool2d.default",
       {1, 3, 8, 6},
       {1, 3, 1, 1},
       {{"output_size", Dims{1, 1}}},
       {"aten.avg_pool2d"},
       {8, 6},
       {8, 6},
       {0, 0}},
      {"aten.adaptive_avg_pool2d.default",
       {1, 3, 8, 6},
       {1, 3, 4, 2},
       {{"output_size", Dims{4, 2}}},
       {"aten.avg_pool2d"},
       {2, 3},
       {2, 3},
       {0, 0}},
      {"aten.avg_pool1d.default",
       {2, 3, 8},
       {2, 3, 4},
       {{"kernel_size", Dims{3}}, {"stride", Dims{2}}, {"padding", Dims{1}}},
       {"aten.view", "aten.avg_pool2d", "aten.view"},
       {1, 3},
       {1, 2},
       {0, 1}},
      {"aten.adaptive_avg_pool1d.default",
       {3, 8},
       {3, 2},
       {{"output_size", Dims{2}}},
       {"aten.view", "aten.avg_pool2d", "aten.view"},
       {1, 4},
       {1, 4},
       {0, 0}},
  };
  for (const auto& t : table) {
    const Import import = import_call(t.target, t.input, t.output, t.args);
    EXPECT_EQ(import.operators, t.operators) << t.target;
    ASSERT_NE(import.results.front(), nullptr) << t.target;
    EXPECT_EQ(import.results.front()->type.shape, t.output) << t.target;
    for (const ir::Node& node : import.graph.nodes()) {
      if (node.op != "aten.avg_pool2d") continue;
      EXPECT_EQ(node.integers("kernel_size"), t.kernel) << t.target;
      EXPECT_EQ(node.integers("stride"), t.stride) << t.target;
      EXPECT_EQ(node.integers("padding"), t.padding) << t.target;
      EXPECT_EQ(avg_pool2d_operator().infer(node).front().shape, node.results.front()->type.shape) << t.target;
    }
  }
}

TEST(AvgPoolImport, UnequalWindowsStayAdaptive) {
  const Import import =
      import_call("aten.adaptive_avg_pool2d.default", {1, 3, 7, 7}, {1, 3, 2, 2}, {{"output_size", Dims{2, 2}}});
  ASSERT_EQ(import.operators, std::vector<std::string>({"aten.adaptive_avg_pool2d"}));
  EXPECT_EQ(import.results.front()->producer->integers("output_size"), Dims({2, 2}));
  EXPECT_EQ(avg_pool2d_operator().infer(*import.results.front()->producer).front().shape, ir::Shape({1, 3, 2, 2}));
}

// The distance to the zero point divided by the number of elements, in the same parameters: what an exact division
// rounds, for all sums where the result turns.
TEST(MeanOf, EqualsADivisionAtEveryTurn) {
  for (std::int64_t count = 1; count <= 100000; count += count < 300 ? 1 : 9973) {
    const std::int32_t left = mean_left_shift(count);
    const MeanMultiplier factor = mean_multiplier(1.0 / static_cast<double>(count), left).value();
    const MeanScale scale = {0, factor.multiplier, left, factor.right, -255, 255, 0};
    for (std::int64_t level = -255; level <= 254; ++level) {
      const std::int64_t turn = (2 * level + 1) * count / 2;
      for (std::int64_t sum = turn - 1; sum <= turn + 1; ++sum) {
        if (sum < -255 * count || sum > 255 * count) continue;
        const std::int64_t magnitude = (2 * std::abs(sum) + count) / (2 * count);  // ties up
        ASSERT_EQ(mean_of(static_cast<std::int32_t>(sum), scale), sum < 0 ? -magnitude : magnitude)
            << sum << " / " << count;
      }
    }
  }
}

TEST(MeanOf, FactorsBeyondItsReachAreZeroOrNone) {
  EXPECT_EQ(mean_multiplier(1e-12, mean_left_shift(4))->multiplier, 0);
  EXPECT_FALSE(mean_multiplier(1e9, mean_left_shift(4)).has_value());
}

struct Pool {
  ir::Shape input;
  Dims kernel, stride, padding;
  bool ceil_mode = false;
};

conformance::Case pool_case(const Pool& pool) {
  std::string name = "pool";
  for (const std::int64_t size : pool.input) name += " " + std::to_string(size);
  name += " by " + std::to_string(pool.kernel[0]) + "x" + std::to_string(pool.kernel[1]);
  return {name, [=](ir::Graph& g) {
            ir::Shape out = pool.input;
            for (std::size_t i = 0; i < 2; ++i) {
              out[2 + i] = pooled_size(out[2 + i], pool.kernel[i], pool.stride[i], pool.padding[i], pool.ceil_mode);
            }
            ir::Value* x = conformance::int8_input(g, pool.input, 0.1, -5);
            return conformance::add_quantized(g, "aten.avg_pool2d",
                                              {{"self", x},
                                               {"kernel_size", pool.kernel},
                                               {"stride", pool.stride},
                                               {"padding", pool.padding},
                                               {"ceil_mode", pool.ceil_mode},
                                               {"count_include_pad", false},
                                               {"divisor_override", ir::None{}}},
                                              out, 0.1, -5);
          }};
}

std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> all;
  for (const std::int64_t channels : {1, 3, 4, 8, 17, 24, 33}) {
    all.push_back(pool_case({{1, channels, 5, 7}, {5, 7}, {5, 7}, {0, 0}}));
    all.push_back(pool_case({{2, channels, 6, 5}, {3, 3}, {2, 2}, {1, 1}}));
    all.push_back(pool_case({{1, channels, 7, 8}, {3, 2}, {2, 3}, {0, 1}, true}));
  }
  all.push_back(pool_case({{1, 8, 3, 3}, {1, 1}, {1, 1}, {0, 0}}));
  all.push_back(pool_case({{1, 4, 16, 16}, {16, 16}, {16, 16}, {0, 0}}));
  all.push_back(pool_case({{1, 5, 16, 17}, {16, 17}, {16, 17}, {0, 0}}));
  all.push_back(pool_case({{1, 12, 24, 23}, {24, 23}, {1, 1}, {0, 0}}));
  all.push_back(pool_case({{1, 4, 2, 300}, {2, 300}, {1, 1}, {0, 0}}));
  all.push_back(pool_case({{1, 64, 25, 5}, {25, 5}, {25, 5}, {0, 0}}));
  return all;
}

// With parameters of the result's own.
struct Mean {
  ir::Shape input;
  Dims kernel, stride, padding = {0, 0};
  bool ceil_mode = false;
  bool count_include_pad = false;
  ir::Argument divisor = {};
  double scale = 0.02;
  std::int32_t zero_point = 7;
  bool is_dark = false;  // all of the input is -128: no sum is larger
};

conformance::Case mean_case(const Mean& mean) {
  std::string name = "mean";
  for (const std::int64_t size : mean.input) name += " " + std::to_string(size);
  name += " by " + std::to_string(mean.kernel[0]) + "x" + std::to_string(mean.kernel[1]);
  return {name, [=](ir::Graph& g) {
            ir::Shape out = mean.input;
            for (std::size_t i = 0; i < 2; ++i) {
              out[2 + i] = pooled_size(out[2 + i], mean.kernel[i], mean.stride[i], mean.padding[i], mean.ceil_mode);
            }
            ir::Value* x = conformance::int8_input(g, mean.input, 0.1, -5);
            if (mean.is_dark) {
              x = conformance::add_quantized(g, "aten.clamp", {{"self", x}, {"min", -100.0}, {"max", -12.3}},
                                             mean.input, 0.1, -5);
            }
            return conformance::add_quantized(g, "aten.avg_pool2d",
                                              {{"self", x},
                                               {"kernel_size", mean.kernel},
                                               {"stride", mean.stride},
                                               {"padding", mean.padding},
                                               {"ceil_mode", mean.ceil_mode},
                                               {"count_include_pad", mean.count_include_pad},
                                               {"divisor_override", mean.divisor}},
                                              out, mean.scale, mean.zero_point);
          }};
}

conformance::Case adaptive_case(const ir::Shape& input, const Dims& size) {
  return {"adaptive", [=](ir::Graph& g) {
            ir::Value* x = conformance::int8_input(g, input, 0.1, -5);
            return conformance::add_quantized(g, "aten.adaptive_avg_pool2d", {{"self", x}, {"output_size", size}},
                                              {input[0], input[1], size[0], size[1]}, 0.03, 9);
          }};
}

std::vector<conformance::Case> mean_cases() {
  std::vector<conformance::Case> all;
  for (const std::int64_t channels : {1, 3, 8, 12, 16, 17, 33}) {
    all.push_back(mean_case({{1, channels, 5, 7}, {5, 7}, {5, 7}}));
    all.push_back(mean_case({{2, channels, 6, 5}, {3, 3}, {2, 2}, {1, 1}}));
    all.push_back(mean_case({{1, channels, 7, 8}, {3, 2}, {2, 3}, {1, 1}, true, true}));
    all.push_back(adaptive_case({1, channels, 7, 5}, {3, 2}));
  }
  all.push_back(mean_case({{1, 8, 3, 3}, {1, 1}, {1, 1}}));
  all.push_back(mean_case({{1, 5, 6, 6}, {2, 2}, {2, 2}, {0, 0}, false, false, std::int64_t{3}}));
  all.push_back(mean_case({{1, 5, 6, 6}, {3, 3}, {2, 2}, {1, 1}, false, true, std::int64_t{1}, 2.0, -128}));
  all.push_back(mean_case({{1, 20, 16, 17}, {16, 17}, {16, 17}}));  // more than a 16-bit lane holds
  for (const std::int64_t taps : {256, 257}) {                      // as many as it does, and one more
    all.push_back(mean_case({{1, 25, 1, taps}, {1, taps}, {1, 1}, {0, 0}, false, false, {}, 0.2, 7, true}));
  }
  all.push_back(mean_case({{1, 17, 2, 300}, {2, 300}, {1, 1}}));
  all.push_back(mean_case({{1, 1, 3, 300}, {2, 290}, {1, 1}}));
  all.push_back(mean_case({{1, 64, 25, 5}, {25, 5}, {25, 5}}));
  all.push_back(mean_case({{1, 4, 4, 4}, {2, 2}, {2, 2}, {0, 0}, false, false, {}, 0.0001, 100}));  // all saturate
  all.push_back(mean_case({{1, 4, 4, 4}, {2, 2}, {2, 2}, {0, 0}, false, false, {}, 100.0, 100}));   // all vanish
  all.push_back(adaptive_case({1, 3, 3, 2}, {5, 4}));                                               // windows overlap
  return all;
}

// Results that have bounds of their own.
conformance::Case bounded_case(std::int64_t channels) {
  return {"bounded", [=](ir::Graph& g) {
            ir::Value* mean = mean_case({{1, channels, 4, 6}, {2, 2}, {2, 2}}).build(g);
            mean->type.quant->qmin = -60;
            mean->type.quant->qmax = 40;
            return mean;
          }};
}

TEST(AvgPool, EveryVariantEqualsTheReference) {
  std::vector<conformance::Case> all = cases();
  for (const std::int64_t channels : {1, 3, 12, 25}) all.push_back(bounded_case(channels));
  for (const conformance::Case& c : mean_cases()) all.push_back(c);
  conformance::expect_same_bits_everywhere(all);
}

// The harness rounds the float result itself, so a tie that float arithmetic misses makes a whole step.
TEST(AvgPool, IsTheNearestToTheFloatSemantics) {
  conformance::expect_near_float_semantics(cases(), 1.0);
  conformance::expect_near_float_semantics(mean_cases(), 1.0);
}

TEST(AvgPool, IsExecuTorchsOperatorWhereParametersAreShared) {
  using Count = std::vector<std::pair<std::string, int>>;
  const Target mve = {&kCpus[9], Isa::mve};
  EXPECT_EQ(conformance::lowered_operators(cases().front(), mve), Count({{"cortex_m.quantized_avg_pool2d", 1}}));
  EXPECT_EQ(conformance::lowered_operators(mean_cases().front(), mve), Count({{"cormorant.avg_pool2d.mve", 1}}));
  EXPECT_EQ(conformance::lowered_operators(mean_cases().front(), {&kCpus[3], Isa::dsp}),
            Count({{"cormorant.avg_pool2d.dsp", 1}}));
  EXPECT_EQ(conformance::lowered_operators(mean_cases().front(), {nullptr, Isa::mve}),
            Count({{"cormorant.avg_pool2d.scalar", 1}}));
  const Mean counts_padding = {{1, 4, 6, 6}, {3, 3}, {2, 2}, {1, 1}, false, true, {}, 0.1, -5};
  EXPECT_EQ(conformance::lowered_operators(mean_case(counts_padding), mve),
            Count({{"cortex_m.pad", 1}, {"cortex_m.quantized_avg_pool2d", 1}}));
}

TEST(AvgPool, WhatExecuTorchCannotIsRefusedForIt) {
  const auto lower = [](const conformance::Case& c) {
    ir::Graph graph;
    graph.add_output(c.build(graph));
    passes::lower(graph, {.target = {&kCpus[3], Isa::dsp}, .runtime = Runtime::executorch});
  };
  EXPECT_NO_THROW(lower(cases().front()));
  EXPECT_NO_THROW(lower(mean_case({{1, 4, 6, 6}, {3, 3}, {2, 2}, {1, 1}, false, true, {}, 0.1, -5})));
  EXPECT_THROW(lower(mean_cases().front()), InputError);  // other parameters
  EXPECT_THROW(lower(mean_case({{1, 4, 5, 5}, {3, 3}, {3, 3}, {1, 1}, true, true, {}, 0.1, -5})), InputError);
  EXPECT_THROW(lower(mean_case({{1, 4, 6, 6}, {2, 2}, {2, 2}, {0, 0}, false, false, std::int64_t{3}, 0.1, -5})),
               InputError);
  EXPECT_THROW(lower(adaptive_case({1, 3, 7, 7}, {2, 2})), InputError);
}

// Computed by PyTorch 2.15: avg_pool2d of 0, 1, …, 15 as 4×4, and adaptive_avg_pool2d of it to 3×3.
TEST(AvgPool, EvaluatesAsPyTorchDoes) {
  std::vector<float> ramp(16);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i);
  const evaluate::Tensor input({1, 1, 4, 4}, ramp);
  const auto pool = [&](const char* op, std::vector<ir::NamedArgument> args, const ir::Shape& shape) {
    ir::Graph graph;
    args.insert(args.begin(), {"self", graph.add_input("x", ir::float_type({1, 1, 4, 4}))});
    graph.add_output(graph.add_node("pool", op, std::move(args), {ir::float_type(shape)})->result());
    const auto result = evaluate::evaluate_graph(graph, {&input, 1});
    return std::vector<float>(result[0].values().begin(), result[0].values().end());
  };
  const auto by_3 = [&](bool ceil_mode, bool include, const ir::Argument& divisor, const ir::Shape& shape) {
    return pool("aten.avg_pool2d",
                {{"kernel_size", Dims{3, 3}},
                 {"stride", Dims{2, 2}},
                 {"padding", Dims{1, 1}},
                 {"ceil_mode", ceil_mode},
                 {"count_include_pad", include},
                 {"divisor_override", divisor}},
                shape);
  };
  EXPECT_EQ(by_3(false, false, {}, {1, 1, 2, 2}), std::vector<float>({2.5F, 4, 8.5F, 10}));
  EXPECT_EQ(by_3(false, true, {}, {1, 1, 2, 2}), std::vector<float>({1.1111112F, 2.6666667F, 5.6666665F, 10}));
  EXPECT_EQ(by_3(true, false, {}, {1, 1, 3, 3}), std::vector<float>({2.5F, 4, 5, 8.5F, 10, 11, 12.5F, 14, 15}));
  EXPECT_EQ(by_3(true, true, {}, {1, 1, 3, 3}),
            std::vector<float>({1.1111112F, 2.6666667F, 1.6666666F, 5.6666665F, 10, 5.5F, 4.1666665F, 7, 3.75F}));
  EXPECT_EQ(by_3(false, true, std::int64_t{2}, {1, 1, 2, 2}), std::vector<float>({5, 12, 25.5F, 45}));
  EXPECT_EQ(pool("aten.adaptive_avg_pool2d", {{"output_size", Dims{3, 3}}}, {1, 1, 3, 3}),
            std::vector<float>({2.5F, 3.5F, 4.5F, 6.5F, 7.5F, 8.5F, 10.5F, 11.5F, 12.5F}));
}

TEST(AvgPool, LoadRejectsWindowsThatDoNotFit) {
  struct {
    const char* what;
    ir::Shape out;
    Dims kernel, stride, padding;
    bool ceil_mode;
  } table[] = {
      {"nothing", {1, 4, 3, 3}, {2, 2}, {2, 2}, {0, 0}, false},
      {"too many windows", {1, 4, 4, 3}, {2, 2}, {2, 2}, {0, 0}, false},
      {"too few windows", {1, 4, 2, 3}, {2, 2}, {2, 2}, {0, 0}, false},
      {"a stride of zero", {1, 4, 3, 3}, {2, 2}, {0, 2}, {0, 0}, false},
      {"a negative stride", {1, 4, 3, 3}, {2, 2}, {-2, 2}, {0, 0}, false},
      {"a kernel of zero", {1, 4, 3, 3}, {0, 2}, {2, 2}, {0, 0}, false},
      {"a kernel larger than the input", {1, 4, 1, 3}, {7, 2}, {2, 2}, {0, 0}, false},
      {"padding that leaves windows empty", {1, 4, 7, 3}, {2, 2}, {2, 2}, {4, 0}, false},
      {"negative padding", {1, 4, 2, 3}, {2, 2}, {2, 2}, {-1, 0}, false},
      {"other channels", {1, 5, 3, 3}, {2, 2}, {2, 2}, {0, 0}, false},
      {"lists of one", {1, 4, 3, 3}, {2}, {2}, {0}, false},
  };
  for (const auto& t : table) {
    ir::Graph graph;
    ir::Value* x = graph.add_input("x", ir::quantized_type({1, 4, 6, 6}, ir::per_tensor_i8(1.0, 0), ir::kChannelsLast));
    graph.add_output(graph
                         .add_node("pool", "cortex_m.quantized_avg_pool2d",
                                   {{"input", x},
                                    {"kernel_size", t.kernel},
                                    {"stride", t.stride},
                                    {"padding", t.padding},
                                    {"ceil_mode", t.ceil_mode},
                                    {"zero_point", std::int64_t{0}},
                                    {"multiplier", std::int64_t{0}},
                                    {"shift", std::int64_t{0}},
                                    {"scratch", graph.add_scratch("scratch", 0)}},
                                   {ir::quantized_type(t.out, ir::per_tensor_i8(1.0, 0), ir::kChannelsLast)})
                         ->result());
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what) == "nothing") << t.what;
  }
}

TEST(AvgPool, OursRejectsWhatItCannotReadSafely) {
  struct Hostile {
    const char* what;
    ir::Shape out = {1, 4, 3, 3};
    Dims kernel = {2, 2}, stride = {2, 2}, padding = {0, 0};
    ir::Shape divisors = {1, 3};
    DType dtype = DType::i32;
    std::int64_t left = 5, zero_point = 0, min = -128;
  };
  std::vector<Hostile> table(12);
  table[0] = {.what = "nothing"};
  table[1] = {.what = "windows that start past the input", .out = {1, 4, 4, 3}};
  table[2] = {.what = "starts that overflow", .out = {1, 4, 3, 3}, .stride = {65535, 2}};
  table[3] = {.what = "a negative stride", .stride = {-2, 2}};
  table[4] = {.what = "an adaptive window with padding", .stride = {0, 0}, .padding = {1, 1}};
  table[5] = {.what = "no divisor", .divisors = {0, 3}};
  table[6] = {.what = "divisors of two numbers", .divisors = {1, 2}};
  table[7] = {.what = "divisors that are bytes", .dtype = DType::i8};
  table[8] = {.what = "a shift out of 32 bits", .left = 32};
  table[9] = {.what = "a zero point beyond int8", .zero_point = 128};
  table[10] = {.what = "a bound beyond int8", .min = -129};
  table[11] = {.what = "other channels", .out = {1, 5, 3, 3}};
  for (const Hostile& t : table) {
    ir::Graph graph;
    ir::Value* x = graph.add_input("x", ir::quantized_type({1, 4, 6, 6}, ir::per_tensor_i8(1.0, 0), ir::kChannelsLast));
    const ir::TensorType type{.dtype = t.dtype, .shape = t.divisors, .dim_order = {}, .quant = {}};
    ir::Value* divisors = graph.add_constant(
        "divisors", type, ir::Bytes::own(std::vector<std::byte>(static_cast<std::size_t>(type.bytes()))));
    graph.add_output(graph
                         .add_node("pool", "cormorant.avg_pool2d.mve",
                                   {{"input", x},
                                    {"kernel_size", t.kernel},
                                    {"stride", t.stride},
                                    {"padding", t.padding},
                                    {"count_include_pad", false},
                                    {"divisors", divisors},
                                    {"left_shift", t.left},
                                    {"input_zero_point", t.zero_point},
                                    {"output_zero_point", std::int64_t{0}},
                                    {"output_min", t.min},
                                    {"output_max", std::int64_t{127}}},
                                   {ir::quantized_type(t.out, ir::per_tensor_i8(1.0, 0), ir::kChannelsLast)})
                         ->result());
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what) == "nothing") << t.what;
  }
}

// With the padding, a window has more taps than 32 bits can count: no divisor is for it, so the first is taken.
TEST(AvgPool, WindowsOfMostlyPaddingAreDividedByTheFirst) {
  const auto quantized = [](ir::Shape shape, bool is_words) {
    return ir::quantized_type(
        std::move(shape),
        is_words ? ir::QuantParams{DType::i16, -32768, 32767, std::nullopt, {1.0}, {0}} : ir::per_tensor_i8(1.0, 0),
        ir::kChannelsLast);
  };
  for (const bool is_words : {false, true}) {
    ir::Graph graph;
    ir::Value* x = graph.add_input("x", quantized({1, 1, 1, 1}, is_words));
    const std::vector<std::int32_t> half = {1, 1 << 30, is_words ? 31 : 1};
    ir::Value* divisors =
        graph.add_constant("divisors", {.dtype = DType::i32, .shape = {1, 3}, .dim_order = {}, .quant = {}},
                           ir::Bytes::of(std::span<const std::int32_t>(half)));
    graph.add_output(graph
                         .add_node("pool", is_words ? "cormorant.avg_pool2d.words" : "cormorant.avg_pool2d.scalar",
                                   {{"input", x},
                                    {"kernel_size", Dims{65535, 65535}},
                                    {"stride", Dims{65535, 65535}},
                                    {"padding", Dims{65535, 65535}},
                                    {"count_include_pad", true},
                                    {"divisors", divisors},
                                    {"left_shift", std::int64_t{is_words ? 0 : 1}},
                                    {"input_zero_point", std::int64_t{0}},
                                    {"output_zero_point", std::int64_t{0}},
                                    {"output_min", std::int64_t{-100}},
                                    {"output_max", std::int64_t{100}}},
                                   {quantized({1, 1, 2, 2}, is_words)})
                         ->result());
    HostProgram program(conformance::program_of(graph), host_kernels());
    const std::vector<std::byte> out = program.run({{std::vector(is_words ? 2 : 1, std::byte{0x20})}}).at(0);
    const std::vector<std::int32_t> expected = {0, 0, 0, is_words ? 100 : 16};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(is_words ? std::to_integer<int>(out.at(2 * i)) : static_cast<std::int8_t>(out.at(i)), expected[i]) << i;
    }
  }
}

}  // namespace
}  // namespace cormorant::ops
