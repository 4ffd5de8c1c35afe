// SPDX-License-Identifier: Apache-2.0
//
// Memory that is used again is used rightly: programs compute the same bits as with every tensor in a place of its own.
// Layers alone are planned as tightly as their kernels allow, on the host and on boards; random networks with branches,
// views and concatenations on the host.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/program_io.h"
#include "compiler/compile.h"
#include "target/parse.h"
#include "tests/conformance/conformance.h"

namespace cormorant::conformance {
namespace {

using Ints = std::vector<std::int64_t>;
constexpr double kScale = 0.05;
constexpr std::int32_t kZeroPoint = -5;

struct Layer {
  Ints in;  // C H W
  std::int64_t outputs;
  Ints kernel = {1, 1}, stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  std::int64_t groups = 1;
};

ir::Value* convolve(ir::Graph& graph, ir::Value* x, const Layer& l, std::mt19937& random) {
  const ir::Shape& in = x->type.shape;
  ir::Value* w = int8_weights(graph, {l.outputs, in[1] / l.groups, l.kernel[0], l.kernel[1]}, 0, random);
  ir::Value* bias = int32_bias(graph, x, w, random, 3000);
  ir::Shape out = {in[0], l.outputs, 0, 0};
  for (std::size_t i = 0; i < 2; ++i) {
    out[2 + i] = (in[2 + i] + 2 * l.padding[i] - l.dilation[i] * (l.kernel[i] - 1) - 1) / l.stride[i] + 1;
  }
  return add_quantized(graph, "aten.conv2d",
                       {{"input", x},
                        {"weight", w},
                        {"bias", bias},
                        {"stride", l.stride},
                        {"padding", l.padding},
                        {"dilation", l.dilation},
                        {"groups", l.groups}},
                       out, kScale, kZeroPoint);
}

struct Program {
  ProgramFile file;
  std::int64_t arena;
};
Program compile(const std::function<void(ir::Graph&)>& build, const Target& target, emit::Reuse reuse) {
  ir::Graph graph;
  build(graph);
  compiler::Options options;
  options.config.target = target;
  options.reuse = reuse;
  compiler::Compiled compiled = compiler::compile(graph, options);
  const std::int64_t arena = compiler::arena_bytes(compiled.facts);
  return {program_from(std::move(compiled.program), target.name().data()), arena};
}

std::vector<Arrays> random_inputs(const ProgramFile& program, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Arrays> samples(2);
  for (Arrays& arrays : samples) {
    for (const BorderTensor& tensor : program.inputs) {
      std::vector<std::byte> bytes(tensor.element_count());
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      arrays.push_back({tensor.dtype, tensor.shape, std::move(bytes)});
    }
  }
  return samples;
}

void expect_equal(const std::vector<Arrays>& wanted, const std::vector<Arrays>& got, const std::string& where) {
  ASSERT_EQ(wanted.size(), got.size());
  for (std::size_t s = 0; s < wanted.size(); ++s) {
    for (std::size_t i = 0; i < wanted[s].size(); ++i) EXPECT_EQ(wanted[s][i].data, got[s][i].data) << where;
  }
}

// Layers whose output covers their input, planned alone and so as tightly as it can be.
TEST(Memory, LayersCoverTheirInput) {
  const struct {
    const char* what;
    Layer layer;
  } table[] = {
      {"same", {.in = {32, 9, 7}, .outputs = 32}},
      {"expand", {.in = {16, 9, 7}, .outputs = 96}},
      {"expand from an odd number", {.in = {5, 6, 7}, .outputs = 24}},
      {"shrink", {.in = {48, 7, 9}, .outputs = 8}},
      {"shrink with a stride", {.in = {24, 9, 9}, .outputs = 12, .stride = {2, 2}}},
      {"a line", {.in = {16, 1, 40}, .outputs = 24, .kernel = {1, 5}, .stride = {1, 2}, .padding = {0, 2}}},
      {"neighbours in a row", {.in = {3, 5, 11}, .outputs = 8, .kernel = {1, 3}, .padding = {0, 1}}},
      {"one row of three", {.in = {8, 3, 21}, .outputs = 6, .kernel = {3, 3}, .padding = {0, 1}}},
      {"depthwise", {.in = {32, 9, 11}, .outputs = 32, .kernel = {3, 3}, .padding = {1, 1}, .groups = 32}},
      {"depthwise of no whole vector",
       {.in = {20, 7, 9}, .outputs = 20, .kernel = {3, 3}, .padding = {1, 1}, .groups = 20}},
      {"depthwise of a few channels",
       {.in = {4, 7, 13}, .outputs = 4, .kernel = {3, 3}, .padding = {1, 1}, .groups = 4}},
      {"depthwise with a stride",
       {.in = {24, 9, 12}, .outputs = 24, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .groups = 24}},
      {"depthwise 5x5", {.in = {17, 9, 9}, .outputs = 17, .kernel = {5, 5}, .padding = {2, 2}, .groups = 17}},
      {"depthwise, dilated",
       {.in = {16, 9, 9}, .outputs = 16, .kernel = {3, 3}, .padding = {2, 2}, .dilation = {2, 2}, .groups = 16}},
  };
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m0"}) {
    const Target target = parse_target(cpu);
    for (const auto& [what, layer] : table) {
      const std::string where = std::string(cpu) + ", " + what;
      const auto build = [&layer](ir::Graph& graph) {
        std::mt19937 random(7);
        ir::Value* x = int8_input(graph, {1, layer.in[0], layer.in[1], layer.in[2]}, kScale, kZeroPoint);
        graph.add_output(convolve(graph, x, layer, random));
      };
      const Program apart = compile(build, target, emit::Reuse::none);
      const Program tight = compile(build, target, emit::Reuse::all);
      EXPECT_LT(tight.arena, apart.arena) << where;
      const std::vector<Arrays> inputs = random_inputs(apart.file, 3);
      const std::vector<Arrays> wanted = execute(apart.file, inputs, {}).outputs;
      expect_equal(wanted, execute(tight.file, inputs, {}).outputs, where + ", host");
      ExecuteOn board;
      board.target = target;
      expect_equal(wanted, execute(tight.file, inputs, board).outputs, where + ", board");
    }
  }
}

// A network that grows from values it has: branches, residuals, concatenations, views.
void grow(ir::Graph& graph, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  std::vector<ir::Value*> values = {
      int8_input(graph, {1, static_cast<std::int64_t>(4 + below(13)), 8, 8}, kScale, kZeroPoint)};
  const std::size_t steps = 4 + below(14);
  for (std::size_t step = 0; step < steps; ++step) {
    // Mostly what was made last, so that chains form; sometimes something older.
    ir::Value* x = values[below(3) == 0 ? below(values.size()) : values.size() - 1];
    const ir::Shape shape = x->type.shape;
    if (shape.size() != 4) {
      values.push_back(
          add_quantized(graph, "aten.clamp", {{"self", x}, {"min", 0.0}, {"max", 3.0}}, shape, kScale, kZeroPoint));
      continue;
    }
    switch (below(8)) {
      case 0:
      case 1:
        values.push_back(
            convolve(graph, x, {.in = {}, .outputs = static_cast<std::int64_t>(4 * (1 + below(8)))}, random));
        break;
      case 2:
      case 3: {
        const std::int64_t stride = shape[2] > 3 && below(3) == 0 ? 2 : 1;
        values.push_back(convolve(graph, x,
                                  {.in = {},
                                   .outputs = shape[1],
                                   .kernel = {3, 3},
                                   .stride = {stride, stride},
                                   .padding = {1, 1},
                                   .groups = shape[1]},
                                  random));
        break;
      }
      case 4: {
        std::vector<ir::Value*> same;
        for (ir::Value* value : values) {
          if (value->type.shape == shape) same.push_back(value);
        }
        ir::Value* other = same[below(same.size())];
        values.push_back(add_quantized(graph, "aten.add", {{"self", x}, {"other", other}, {"alpha", 1.0}}, shape,
                                       kScale, kZeroPoint));
        break;
      }
      case 5: {
        ir::Shape out = shape;
        const std::size_t dim = 1 + below(2);
        out[dim] *= 2;
        if (out[1] * out[2] > 2000) break;
        const std::vector<ir::Value*> parts = {x, x};
        values.push_back(add_quantized(graph, "aten.cat", {{"tensors", parts}, {"dim", static_cast<std::int64_t>(dim)}},
                                       out, kScale, kZeroPoint));
        break;
      }
      case 6:
        values.push_back(
            add_quantized(graph, "aten.clamp", {{"self", x}, {"min", -2.0}, {"max", 2.0}}, shape, kScale, kZeroPoint));
        break;
      default: {
        const ir::Shape flat = {1, shape[1] * shape[2] * shape[3]};
        values.push_back(add_quantized(graph, "aten.view", {{"self", x}, {"size", flat}}, flat, kScale, kZeroPoint));
        break;
      }
    }
  }
  std::size_t outputs = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const bool is_used = std::ranges::any_of(graph.nodes(), [&](const ir::Node& n) { return n.uses(values[i]); });
    if (is_used && below(8) != 0) continue;
    graph.add_output(values[i]);
    ++outputs;
  }
  if (outputs == 0) graph.add_output(values.back());
}

TEST(Memory, RandomNetworksComputeTheSameBitsAsWithoutReuse) {
  int smaller = 0;
  for (unsigned seed = 0; seed < 36; ++seed) {
    SCOPED_TRACE(seed);
    const Target target = parse_target(seed % 3 == 0 ? "cortex-m0" : seed % 3 == 1 ? "cortex-m4" : "cortex-m55");
    const auto build = [seed](ir::Graph& graph) { grow(graph, seed); };
    const Program apart = compile(build, target, emit::Reuse::none);
    const Program tight = compile(build, target, emit::Reuse::all);
    EXPECT_LE(tight.arena, apart.arena);
    smaller += tight.arena < apart.arena ? 1 : 0;
    const std::vector<Arrays> inputs = random_inputs(apart.file, seed);
    const std::vector<Arrays> wanted = execute(apart.file, inputs, {}).outputs;
    expect_equal(wanted, execute(tight.file, inputs, {}).outputs, "host");
    if (seed % 12 != 0) continue;
    ExecuteOn board;
    board.target = target;
    const Execution run = execute(tight.file, inputs, board);
    expect_equal(wanted, run.outputs, "board");
    EXPECT_LE(run.board->stack_bytes, 1024U);
  }
  EXPECT_GT(smaller, 30);
}

}  // namespace
}  // namespace cormorant::conformance
