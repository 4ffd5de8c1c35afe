// SPDX-License-Identifier: Apache-2.0
#include "ops/avg_pool2d/avg_pool2d.h"

#include <gtest/gtest.h>

#include <random>

#include "base/diagnostic.h"
#include "emit/emit.h"
#include "evaluate/graph.h"
#include "ops/op.h"
#include "ops/schema.h"
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

struct Import {
  ir::Graph graph;
  std::vector<std::string> operators;
  const ir::Value* result = nullptr;
};

Import import_call(std::string_view target, const ir::Shape& input, const ir::Shape& output,
                   std::vector<ir::NamedArgument> args) {
  Import import;
  ir::Node call;
  call.name = "call";
  call.args = {{"self", import.graph.add_input("x", ir::float_type(input))}};
  call.args.insert(call.args.end(), args.begin(), args.end());
  for (const AtenForm& form : avg_pool2d_operator().forms) {
    const Schema schema = parse_schema(form.schema);
    if (schema.target() != target) continue;
    for (const SchemaArgument& argument : schema.arguments) {
      const auto known = [&](const ir::NamedArgument& arg) { return arg.name == argument.name; };
      if (std::none_of(call.args.begin(), call.args.end(), known)) {
        call.args.push_back({argument.name, argument.fallback.value()});
      }
    }
    Importer importer{&import.graph, &call, {ir::float_type(output)}};
    import.result = form.import(importer).front();
  }
  for (const ir::Node& node : import.graph.nodes()) import.operators.push_back(node.op);
  return import;
}

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
       {"aten.pad", "aten.avg_pool2d"},
       {3, 3},
       {2, 2},
       {0, 0}},
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
      {"aten.mean.dim",
       {1, 3, 8, 6},
       {1, 3, 1, 1},
       {{"dim", Dims{2, 3}}, {"keepdim", true}},
       {"aten.avg_pool2d"},
       {8, 6},
       {8, 6},
       {0, 0}},
      {"aten.mean.dim",
       {1, 3, 8, 6},
       {1, 3},
       {{"dim", Dims{-1, -2}}},
       {"aten.avg_pool2d", "aten.view"},
       {8, 6},
       {8, 6},
       {0, 0}},
      {"aten.mean.dim",
       {1, 3, 8, 6},
       {1, 3, 6},
       {{"dim", Dims{2}}},
       {"aten.avg_pool2d", "aten.view"},
       {8, 1},
       {8, 1},
       {0, 0}},
  };
  for (const auto& t : table) {
    const Import import = import_call(t.target, t.input, t.output, t.args);
    EXPECT_EQ(import.operators, t.operators) << t.target;
    ASSERT_NE(import.result, nullptr) << t.target;
    EXPECT_EQ(import.result->type.shape, t.output) << t.target;
    for (const ir::Node& node : import.graph.nodes()) {
      if (node.op != "aten.avg_pool2d") continue;
      EXPECT_EQ(node.integers("kernel_size"), t.kernel) << t.target;
      EXPECT_EQ(node.integers("stride"), t.stride) << t.target;
      EXPECT_EQ(node.integers("padding"), t.padding) << t.target;
      EXPECT_EQ(avg_pool2d_operator().infer(node).front().shape, node.results.front()->type.shape) << t.target;
    }
  }
}

TEST(AvgPoolImport, UnequalWindowsAndOtherMeansAreRejected) {
  EXPECT_THROW(
      import_call("aten.adaptive_avg_pool2d.default", {1, 3, 7, 7}, {1, 3, 2, 2}, {{"output_size", Dims{2, 2}}}),
      InputError);
  EXPECT_THROW(import_call("aten.mean.dim", {1, 3, 7, 7}, {1, 7, 7}, {{"dim", Dims{1}}}), InputError);
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
  for (const std::int64_t channels : {1, 3, 4, 5, 7, 8, 16, 17, 24, 33, 64}) {
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

TEST(AvgPool, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(AvgPool, IsWithinHalfAStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1.0); }

TEST(AvgPoolQuantize, WhatHasNoKernelStaysInFloatWithAReason) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({1, 1, 300, 300}));
  const auto is_rejected = [&](const Dims& kernel, bool include_pad, const ir::Argument& divisor) {
    ir::Node* node = graph.add_node("pool", "aten.avg_pool2d",
                                    {{"self", x},
                                     {"kernel_size", kernel},
                                     {"stride", kernel},
                                     {"padding", Dims{0, 0}},
                                     {"ceil_mode", false},
                                     {"count_include_pad", include_pad},
                                     {"divisor_override", divisor}},
                                    {ir::float_type({1, 1, 1, 1})});
    return std::holds_alternative<QuantRule::Reject>(avg_pool2d_operator().quantize(*node).output);
  };
  EXPECT_FALSE(is_rejected({2, 2}, false, {}));
  EXPECT_TRUE(is_rejected({2, 2}, true, {}));
  EXPECT_TRUE(is_rejected({2, 2}, false, std::int64_t{3}));
  EXPECT_TRUE(is_rejected({300, 300}, false, {}));
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
    const std::vector<std::byte> program = emit::emit(graph, {}, {}).program;
    if (std::string_view(t.what) == "nothing") {
      EXPECT_NO_THROW(HostProgram(program, host_kernels()));
    } else {
      EXPECT_THROW(HostProgram(program, host_kernels()), InputError) << t.what;
    }
  }
}

}  // namespace
}  // namespace cormorant::ops
