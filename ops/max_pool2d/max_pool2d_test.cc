// SPDX-License-Identifier: Apache-2.0
#include "ops/max_pool2d/max_pool2d.h"

#include <gtest/gtest.h>

#include <random>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "kernels/pool_geometry.h"
#include "ops/op.h"
#include "passes/passes.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator max_pool2d_operator();

namespace {

using Dims = std::vector<std::int64_t>;
using Args = std::vector<ir::NamedArgument>;
using conformance::Import;
using conformance::import_call;

TEST(MaxPoolImport, EverySpellingBecomesOnePooling) {
  using Names = std::vector<std::string>;
  const Names alone = {"aten.max_pool2d"};
  const Names viewed = {"aten.view", "aten.max_pool2d", "aten.view"};
  struct {
    const char* target;
    ir::Shape input, output;
    Args args;
    Names operators;
    Dims kernel, stride, padding, dilation;
    std::size_t results;
  } table[] = {
      {"aten.max_pool2d.default",
       {1, 3, 8, 8},
       {1, 3, 4, 4},
       {{"kernel_size", Dims{2, 2}}},
       alone,
       {2, 2},
       {2, 2},
       {0, 0},
       {1, 1},
       1},
      {"aten.max_pool2d.default",
       {3, 8, 8},
       {3, 4, 4},
       {{"kernel_size", Dims{3}}, {"stride", Dims{2}}, {"padding", Dims{1}}},
       viewed,
       {3, 3},
       {2, 2},
       {1, 1},
       {1, 1},
       1},
      {"aten.max_pool2d_with_indices.default",
       {1, 3, 9, 9},
       {1, 3, 5, 5},
       {{"kernel_size", Dims{3, 3}}, {"stride", Dims{1, 1}}, {"dilation", Dims{2}}},
       alone,
       {3, 3},
       {1, 1},
       {0, 0},
       {2, 2},
       2},
      {"aten.max_pool1d.default",
       {2, 3, 8},
       {2, 3, 4},
       {{"kernel_size", Dims{2}}},
       viewed,
       {1, 2},
       {1, 2},
       {0, 0},
       {1, 1},
       1},
      {"aten.max_pool1d_with_indices.default",
       {3, 8},
       {3, 4},
       {{"kernel_size", Dims{3}}, {"stride", Dims{2}}, {"padding", Dims{1}}},
       viewed,
       {1, 3},
       {1, 2},
       {0, 1},
       {1, 1},
       2},
      {"aten.adaptive_max_pool2d.default",
       {1, 3, 8, 6},
       {1, 3, 4, 2},
       {{"output_size", Dims{4, 2}}},
       alone,
       {2, 3},
       {2, 3},
       {0, 0},
       {1, 1},
       2},
      {"aten.adaptive_max_pool1d.default",
       {1, 3, 8},
       {1, 3, 1},
       {{"output_size", Dims{1}}},
       viewed,
       {1, 8},
       {1, 8},
       {0, 0},
       {1, 1},
       2},
  };
  for (const auto& t : table) {
    const Import import = import_call(t.target, t.input, t.output, t.args);
    ASSERT_EQ(import.results.size(), t.results) << t.target;
    if (t.results == 1) {
      EXPECT_EQ(import.operators, t.operators) << t.target;
    }
    EXPECT_EQ(import.results[0]->type.shape, t.output) << t.target;
    if (t.results == 2) {
      EXPECT_EQ(import.results[1]->type.shape, t.output) << t.target;
    }
    for (const ir::Node& node : import.graph.nodes()) {
      if (node.op != "aten.max_pool2d") continue;
      EXPECT_EQ(node.integers("kernel_size"), t.kernel) << t.target;
      EXPECT_EQ(node.integers("stride"), t.stride) << t.target;
      EXPECT_EQ(node.integers("padding"), t.padding) << t.target;
      EXPECT_EQ(node.integers("dilation"), t.dilation) << t.target;
      EXPECT_EQ(max_pool2d_operator().infer(node).front().shape, node.results.front()->type.shape) << t.target;
    }
  }
}

struct Pool {
  ir::Shape input;
  Dims kernel, stride, padding = {0, 0}, dilation = {1, 1};
  bool ceil_mode = false;
  Args activation = {};
};

conformance::Case pool_case(const Pool& pool) {
  std::string name = "pool";
  for (const std::int64_t size : pool.input) name += " " + std::to_string(size);
  name += " by " + std::to_string(pool.kernel[0]) + "x" + std::to_string(pool.kernel[1]);
  return {name, [=](ir::Graph& g) {
            ir::Shape out = pool.input;
            for (std::size_t i = 0; i < 2; ++i) {
              out[2 + i] = pooled_size(out[2 + i], pool.dilation[i] * (pool.kernel[i] - 1) + 1, pool.stride[i],
                                       pool.padding[i], pool.ceil_mode);
            }
            ir::Value* x = conformance::int8_input(g, pool.input, 0.1, -5);
            Args args = {{"self", x},
                         {"kernel_size", pool.kernel},
                         {"stride", pool.stride},
                         {"padding", pool.padding},
                         {"dilation", pool.dilation},
                         {"ceil_mode", pool.ceil_mode}};
            args.insert(args.end(), pool.activation.begin(), pool.activation.end());
            return conformance::add_quantized(g, "aten.max_pool2d", args, out, 0.1, -5);
          }};
}

std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> all;
  for (const std::int64_t channels : {1, 3, 7, 16, 21, 33}) {
    all.push_back(pool_case({{1, channels, 6, 8}, {2, 2}, {2, 2}}));
    all.push_back(pool_case({{2, channels, 6, 5}, {3, 3}, {2, 2}, {1, 1}}));
    all.push_back(pool_case({{1, channels, 7, 8}, {3, 2}, {2, 3}, {0, 1}, {1, 1}, true}));
    all.push_back(pool_case({{1, channels, 9, 8}, {3, 2}, {1, 1}, {2, 0}, {2, 3}}));
  }
  all.push_back(pool_case({{1, 5, 3, 3}, {1, 1}, {1, 1}}));
  all.push_back(pool_case({{1, 1, 5, 40}, {5, 40}, {1, 1}}));
  all.push_back(pool_case({{1, 1, 5, 41}, {2, 33}, {1, 2}}));
  all.push_back(pool_case({{1, 3, 1, 300}, {1, 300}, {1, 1}}));
  all.push_back(pool_case({{1, 6, 8, 8}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false, {{"activation_min", 0.0}}}));
  all.push_back(pool_case(
      {{1, 6, 8, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false, {{"activation_min", 0.0}, {"activation_max", 6.0}}}));
  std::mt19937 random(5);
  const auto any = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
  };
  for (int i = 0; i < 8; ++i) {
    Pool pool{{any(1, 2), any(1, 40), 0, 0}, {any(1, 4), any(1, 4)}, {any(1, 3), any(1, 3)}};
    for (std::size_t d = 0; d < 2; ++d) {
      pool.dilation[d] = any(1, 3);
      const std::int64_t reach = pool.dilation[d] * (pool.kernel[d] - 1) + 1;
      pool.input[2 + d] = reach + any(0, 6);
      pool.padding[d] = any(0, reach / 2);
    }
    pool.ceil_mode = any(0, 1) == 1;
    all.push_back(pool_case(pool));
  }
  return all;
}

TEST(MaxPool, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(MaxPool, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0.0); }

TEST(MaxPool, BecomesExecuTorchsOperator) {
  using Count = std::vector<std::pair<std::string, int>>;
  EXPECT_EQ(conformance::lowered_operators(cases().front()), Count({{"cortex_m.quantized_max_pool2d", 1}}));
}

TEST(MaxPool, WhatExecuTorchCannotIsRefusedForIt) {
  const auto lower = [](const Pool& pool) {
    ir::Graph graph;
    graph.add_output(pool_case(pool).build(graph));
    passes::lower(graph, {.target = {}, .runtime = Runtime::executorch});
  };
  EXPECT_NO_THROW(lower({{1, 4, 8, 8}, {2, 2}, {2, 2}}));
  EXPECT_NO_THROW(lower({{1, 4, 8, 8}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, true}));  // no rest: the mode means nothing
  EXPECT_THROW(lower({{1, 4, 9, 9}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, true}), InputError);
  EXPECT_THROW(lower({{1, 4, 9, 9}, {2, 2}, {2, 2}, {0, 0}, {2, 2}}), InputError);
}

TEST(MaxPool, LoadRejectsWindowsThatDoNotFit) {
  struct {
    const char* what;
    ir::Shape out;
    Dims kernel, stride, padding, dilation;
    std::int64_t min = -128, max = 127, zero_point = 0;
  } table[] = {
      {"nothing", {1, 4, 3, 3}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
      {"too many windows", {1, 4, 4, 3}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
      {"too few windows", {1, 4, 2, 3}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
      {"a stride of zero", {1, 4, 3, 3}, {2, 2}, {0, 2}, {0, 0}, {1, 1}},
      {"a negative stride", {1, 4, 3, 3}, {2, 2}, {-2, 2}, {0, 0}, {1, 1}},
      {"a kernel of zero", {1, 4, 3, 3}, {0, 2}, {2, 2}, {0, 0}, {1, 1}},
      {"a kernel larger than the input", {1, 4, 1, 3}, {7, 2}, {2, 2}, {0, 0}, {1, 1}},
      {"a dilation that reaches beyond it", {1, 4, 1, 3}, {2, 2}, {2, 2}, {0, 0}, {6, 1}},
      {"a reach that overflows", {1, 4, 1, 3}, {65535, 2}, {2, 2}, {0, 0}, {65535, 1}},
      {"a dilation of zero", {1, 4, 3, 3}, {2, 2}, {2, 2}, {0, 0}, {0, 1}},
      {"negative padding", {1, 4, 2, 3}, {2, 2}, {2, 2}, {-1, 0}, {1, 1}},
      {"other channels", {1, 5, 3, 3}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
      {"lists of one", {1, 4, 3, 3}, {2}, {2}, {0}, {1}},
      {"crossed bounds", {1, 4, 3, 3}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, 1, 0},
      {"a bound beyond int8", {1, 4, 3, 3}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, -129},
      {"other parameters", {1, 4, 3, 3}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, -128, 127, 1},
  };
  for (const auto& t : table) {
    ir::Graph graph;
    ir::Value* x = graph.add_input("x", ir::quantized_type({1, 4, 6, 6}, ir::per_tensor_i8(1.0, 0), ir::kChannelsLast));
    graph.add_output(graph
                         .add_node("pool", "cortex_m.quantized_max_pool2d",
                                   {{"input", x},
                                    {"kernel_size", t.kernel},
                                    {"stride", t.stride},
                                    {"padding", t.padding},
                                    {"dilation", t.dilation},
                                    {"ceil_mode", false},
                                    {"input_zero_point", std::int64_t{0}},
                                    {"output_zero_point", t.zero_point},
                                    {"activation_min", t.min},
                                    {"activation_max", t.max}},
                                   {ir::quantized_type(t.out, ir::per_tensor_i8(1.0, 0), ir::kChannelsLast)})
                         ->result());
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what) == "nothing") << t.what;
  }
}

// Windows that padding takes 2^31 bytes away from the image: they have no taps.
TEST(MaxPool, WindowsFarFromTheImageAreEmpty) {
  constexpr std::int64_t kChannels = 32767;
  for (const bool is_words : {false, true}) {
    const auto quantized = [&](std::int64_t size) {
      return ir::quantized_type(
          {1, kChannels, size, size},
          is_words ? ir::QuantParams{DType::i16, -32768, 32767, std::nullopt, {1.0}, {0}} : ir::per_tensor_i8(1.0, 0),
          ir::kChannelsLast);
    };
    ir::Graph graph;
    ir::Value* x = graph.add_input("x", quantized(1));
    graph.add_output(graph
                         .add_node("pool", is_words ? "cormorant.max_pool2d.words" : "cortex_m.quantized_max_pool2d",
                                   {{"input", x},
                                    {"kernel_size", Dims{1, 1}},
                                    {"stride", Dims{65535, 65535}},
                                    {"padding", Dims{65535, 65535}},
                                    {"dilation", Dims{65535, 65535}},
                                    {"ceil_mode", false},
                                    {"input_zero_point", std::int64_t{0}},
                                    {"output_zero_point", std::int64_t{0}},
                                    {"activation_min", std::int64_t{0}},
                                    {"activation_max", std::int64_t{127}}},
                                   {quantized(3)})
                         ->result());
    HostProgram program(conformance::program_of(graph), host_kernels());
    const std::size_t image = (is_words ? 2 : 1) * std::size_t{kChannels};
    const std::vector<std::byte> out = program.run({{std::vector(image, std::byte{5})}}).at(0);
    const int inside = is_words ? 127 : 5;  // 5 · 257 as a word
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool is_low = !is_words || i % 2 == 0;
      ASSERT_EQ(std::to_integer<int>(out[i]), i / image == 4 && is_low ? inside : 0) << i;
    }
  }
}

}  // namespace
}  // namespace cormorant::ops
