// SPDX-License-Identifier: Apache-2.0
//
// Reuse of memory is correct: programs compute the same bits as with every tensor in its own place. Layers alone are
// planned as tightly as their kernels allow, on the host and on boards; random networks with branches, views, slices
// and concatenations on the host, some of them on boards.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "compiler/compile.h"
#include "formats/pte/reader.h"
#include "program/program_io.h"
#include "runtime/host.h"
#include "target/parse.h"
#include "tests/check.h"
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
  std::map<std::string, int> operators;
};
Program compile(const std::function<void(ir::Graph&)>& build, const Target& target, memory::Reuse reuse) {
  ir::Graph graph;
  build(graph);
  compiler::Options options;
  options.config.target = target;
  options.reuse = reuse;
  compiler::Compiled compiled = compiler::compile(graph, options);
  const std::int64_t arena = compiler::arena_bytes(compiled.facts);
  return {program_from(std::move(compiled.program), target.name().data()), arena, std::move(compiled.facts.operators)};
}

std::vector<Arrays> random_inputs(const ProgramFile& program, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Arrays> samples(2);
  for (Arrays& arrays : samples) {
    for (const ProgramTensor& tensor : program.inputs) {
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
      // Of which MVE computes a band of some columns' stretches after the other.
      {"columns", {.in = {16, 40, 5}, .outputs = 16, .kernel = {3, 3}, .padding = {1, 1}}},
      {"columns with a stride",
       {.in = {24, 67, 7}, .outputs = 30, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}},
      {"columns of groups", {.in = {32, 33, 4}, .outputs = 16, .kernel = {5, 3}, .padding = {2, 1}, .groups = 2}},
      {"columns, dilated", {.in = {20, 64, 5}, .outputs = 20, .kernel = {3, 3}, .padding = {2, 2}, .dilation = {2, 2}}},
      {"depthwise", {.in = {32, 9, 11}, .outputs = 32, .kernel = {3, 3}, .padding = {1, 1}, .groups = 32}},
      {"depthwise of no whole vector",
       {.in = {20, 7, 9}, .outputs = 20, .kernel = {3, 3}, .padding = {1, 1}, .groups = 20}},
      {"depthwise of a few channels",
       {.in = {4, 7, 13}, .outputs = 4, .kernel = {3, 3}, .padding = {1, 1}, .groups = 4}},
      // Taller than wide: MVE walks down columns of whole vectors only.
      {"tall depthwise of no whole vector",
       {.in = {20, 40, 8}, .outputs = 20, .kernel = {3, 3}, .padding = {1, 1}, .groups = 20}},
      {"tall depthwise of a few channels",
       {.in = {4, 40, 8}, .outputs = 4, .kernel = {3, 3}, .padding = {1, 1}, .groups = 4}},
      {"tall depthwise with a stride",
       {.in = {20, 41, 9}, .outputs = 20, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .groups = 20}},
      {"tall depthwise of two outputs per input",
       {.in = {8, 23, 6}, .outputs = 16, .kernel = {3, 3}, .padding = {1, 1}, .groups = 8}},
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
      const Program apart = compile(build, target, memory::Reuse::none);
      const Program tight = compile(build, target, memory::Reuse::all);
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

// Where a convolution needs the most memory it is computed in more bands, if that costs little: here in the first
// layer, for the last one has most of the work. One whose input has another reader gains nothing and is left as it is.
TEST(Memory, LayersAtThePeakAreComputedInMoreBands) {
  const Layer first = {.in = {16, 64, 16}, .outputs = 16, .kernel = {3, 3}, .padding = {1, 1}};
  for (const bool is_read_again : {false, true}) {
    const auto build = [&](ir::Graph& graph) {
      std::mt19937 random(7);
      ir::Value* x = int8_input(graph, {1, 16, 64, 16}, kScale, kZeroPoint);
      ir::Value* y = convolve(graph, x, first, random);
      if (is_read_again) graph.add_output(x);
      y = convolve(graph, y, {.in = {}, .outputs = 32, .kernel = {3, 3}, .stride = {4, 4}, .padding = {1, 1}}, random);
      y = convolve(graph, y, {.in = {}, .outputs = 128, .kernel = {3, 3}, .padding = {1, 1}}, random);
      graph.add_output(convolve(graph, y, {.in = {}, .outputs = 64, .kernel = {3, 3}, .padding = {1, 1}}, random));
    };
    Target target = parse_target("cortex-m55");
    const Program banded = compile(build, target, memory::Reuse::all);
    ExecuteOn board;
    board.target = target;
    target.optimize = Optimize::speed;
    const Program plain = compile(build, target, memory::Reuse::all);
    if (is_read_again) {
      EXPECT_EQ(banded.file.bytes, plain.file.bytes);
      continue;
    }
    EXPECT_EQ(plain.arena - banded.arena, 4 * 16 * 16);  // bands of 12 rows instead of 16
    const std::vector<Arrays> inputs = random_inputs(plain.file, 3);
    const std::vector<Arrays> wanted = execute(plain.file, inputs, {}).outputs;
    expect_equal(wanted, execute(banded.file, inputs, {}).outputs, "host");
    expect_equal(wanted, execute(banded.file, inputs, board).outputs, "board");
  }
}

// Operators that move nothing if memory is planned well.
ir::Value* slice(ir::Graph& graph, ir::Value* x, std::int64_t dim, std::int64_t start, std::int64_t end) {
  ir::Shape shape = x->type.shape;
  shape[static_cast<std::size_t>(dim)] = end - start;
  return add_quantized(graph, "aten.slice",
                       {{"self", x}, {"dim", dim}, {"start", start}, {"end", end}, {"step", std::int64_t{1}}}, shape,
                       kScale, kZeroPoint);
}
ir::Value* cat(ir::Graph& graph, const std::vector<ir::Value*>& parts, std::int64_t dim) {
  const auto at = static_cast<std::size_t>(dim);
  ir::Shape shape = parts.front()->type.shape;
  shape[at] = 0;
  for (const ir::Value* part : parts) shape[at] += part->type.shape[at];
  return add_quantized(graph, "aten.cat", {{"tensors", parts}, {"dim", dim}}, shape, kScale, kZeroPoint);
}
ir::Value* pad(ir::Graph& graph, ir::Value* x, const Ints& borders) {  // left, right, top, bottom
  ir::Shape shape = x->type.shape;
  shape[3] += borders[0] + borders[1];
  shape[2] += borders[2] + borders[3];
  return add_quantized(graph, "aten.pad", {{"self", x}, {"pad", borders}, {"value", 0.0}}, shape, kScale, kZeroPoint);
}
ir::Value* max_pool(ir::Graph& graph, ir::Value* x, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  ir::Shape shape = x->type.shape;
  for (std::size_t i = 2; i < 4; ++i) shape[i] = (shape[i] + 2 * padding - kernel) / stride + 1;
  return add_quantized(graph, "aten.max_pool2d",
                       {{"self", x},
                        {"kernel_size", Ints{kernel, kernel}},
                        {"stride", Ints{stride, stride}},
                        {"padding", Ints{padding, padding}},
                        {"dilation", Ints{1, 1}},
                        {"ceil_mode", false}},
                       shape, kScale, kZeroPoint);
}

struct Case {
  const char* what;
  void (*build)(ir::Graph&);
};

// Each alone computes the same with less memory, and without these operators. On boards all of them are one program.
void expect_tighter(const std::vector<Case>& cases, const std::vector<std::string>& absent) {
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m0"}) {
    const Target target = parse_target(cpu);
    const auto expect = [&](const std::string& where, const std::function<void(ir::Graph&)>& build,
                            const ExecuteOn& place) {
      const Program apart = compile(build, target, memory::Reuse::none);
      const Program tight = compile(build, target, memory::Reuse::all);
      EXPECT_LT(tight.arena, apart.arena) << where;
      for (const std::string& name : absent) {
        EXPECT_EQ(apart.operators.count(name), 1U) << where;
        EXPECT_EQ(tight.operators.count(name), 0U) << where;
      }
      const std::vector<Arrays> inputs = random_inputs(apart.file, 3);
      expect_equal(execute(apart.file, inputs, {}).outputs, execute(tight.file, inputs, place).outputs, where);
    };
    for (const Case& c : cases) expect(std::string(cpu) + ", " + c.what, c.build, {});
    ExecuteOn board;
    board.target = target;
    const auto build_all = [&cases](ir::Graph& graph) {
      for (const Case& c : cases) c.build(graph);
    };
    expect(std::string(cpu) + ", on its board", build_all, board);
  }
}

const Layer kPointwise = {.in = {}, .outputs = 6};

ir::Value* clamp(ir::Graph& graph, ir::Value* x, double low) {
  return add_quantized(graph, "aten.clamp", {{"self", x}, {"min", low}, {"max", 3.0}}, x->type.shape, kScale,
                       kZeroPoint);
}

// Rows of a channels-last image are stretches of its memory. Offsets here are multiples of 4, not of 16.
TEST(Memory, SlicesAndConcatenationsOfRowsMoveNothing) {
  const std::vector<Case> cases = {
      {"bands of an image",
       [](ir::Graph& graph) {
         std::mt19937 random(7);
         ir::Value* x = int8_input(graph, {1, 6, 9, 10}, kScale, kZeroPoint);
         std::vector<ir::Value*> bands;
         for (const std::int64_t row : {0, 3, 6}) {
           bands.push_back(convolve(graph, slice(graph, x, 2, row, row + 3), kPointwise, random));
         }
         graph.add_output(convolve(graph, cat(graph, bands, 2), kPointwise, random));
       }},
      {"a slice of a concatenation in a concatenation, and all of them outputs",
       [](ir::Graph& graph) {
         std::mt19937 random(8);
         ir::Value* x = int8_input(graph, {1, 6, 4, 2}, kScale, kZeroPoint);
         ir::Value* a = convolve(graph, x, kPointwise, random);
         ir::Value* b = convolve(graph, a, kPointwise, random);
         ir::Value* inner = cat(graph, {a, b}, 2);
         ir::Value* cut = slice(graph, inner, 2, 1, 5);
         ir::Value* c = convolve(graph, cut, kPointwise, random);
         graph.add_output(cat(graph, {inner, c}, 2));
         graph.add_output(cut);
         graph.add_output(b);
       }},
      {"vectors, and operators that work in place",
       [](ir::Graph& graph) {
         ir::Value* x = int8_input(graph, {1, 40}, kScale, kZeroPoint);
         ir::Value* y = int8_input(graph, {1, 20}, kScale, kZeroPoint);
         ir::Value* part = clamp(graph, slice(graph, x, 1, 4, 32), -1.0);
         graph.add_output(clamp(graph, cat(graph, {part, clamp(graph, y, 0.5)}, 1), 0.0));
       }},
      {"a slice of what then becomes a less aligned piece",
       [](ir::Graph& graph) {
         ir::Value* x = clamp(graph, int8_input(graph, {1, 12}, kScale, kZeroPoint), 0.5);
         ir::Value* y = clamp(graph, int8_input(graph, {1, 24}, kScale, kZeroPoint), 0.5);
         graph.add_output(slice(graph, y, 1, 8, 20));
         graph.add_output(cat(graph, {x, y}, 1));
       }},
      {"a slice of two pieces, one of which has another reader",
       [](ir::Graph& graph) {
         std::mt19937 random(9);
         ir::Value* x = int8_input(graph, {1, 6, 4, 2}, kScale, kZeroPoint);
         ir::Value* a = convolve(graph, x, kPointwise, random);
         graph.add_output(convolve(graph, clamp(graph, a, 0.5), kPointwise, random));
         ir::Value* b = convolve(graph, x, kPointwise, random);
         graph.add_output(convolve(graph, slice(graph, cat(graph, {a, b}, 2), 2, 3, 7), kPointwise, random));
       }},
  };
  expect_tighter(cases, {"aten::slice_copy.Tensor_out", "aten::cat.out"});
}

// The sum may not be written over the image: a row of it is read for every other row.
TEST(Memory, ARowIsReadBeforeItsImageIsOverwritten) {
  const std::vector<Case> cases = {
      {"a row of an image that is added to it", [](ir::Graph& graph) {
         ir::Value* image = clamp(graph, int8_input(graph, {1, 8, 5, 4}, kScale, kZeroPoint), -1.0);
         ir::Value* row = slice(graph, image, 2, 0, 1);
         graph.add_output(add_quantized(graph, "aten.add", {{"self", image}, {"other", row}, {"alpha", 1.0}},
                                        image->type.shape, 2 * kScale, kZeroPoint));
       }}};
  expect_tighter(cases, {});
}

void concatenate(ir::Graph& graph, const Ints& channels, std::int64_t height, std::int64_t width) {
  std::vector<ir::Value*> parts;
  std::int64_t sum = 0;
  for (const std::int64_t count : channels) {
    parts.push_back(int8_input(graph, {1, count, height, width}, kScale, kZeroPoint));
    sum += count;
  }
  graph.add_output(add_quantized(graph, "aten.cat", {{"tensors", parts}, {"dim", std::int64_t{1}}},
                                 {1, sum, height, width}, kScale, kZeroPoint));
}

// What cannot stay where it is may still overlap its source.
TEST(Memory, SlicesPadsPoolsAndConcatenationsCoverTheirInput) {
  const std::vector<Case> cases = {
      {"channels of two images", [](ir::Graph& graph) { concatenate(graph, {9, 4}, 5, 6); }},
      {"more channels of the second image", [](ir::Graph& graph) { concatenate(graph, {4, 9}, 5, 6); }},
      {"most channels in the middle", [](ir::Graph& graph) { concatenate(graph, {3, 40, 5}, 4, 3); }},
      {"words of channels", [](ir::Graph& graph) { concatenate(graph, {8, 16}, 3, 5); }},
      {"many channels", [](ir::Graph& graph) { concatenate(graph, {33, 70}, 2, 9); }},
      {"channels of an image",
       [](ir::Graph& graph) {
         ir::Value* x = int8_input(graph, {1, 12, 9, 7}, kScale, kZeroPoint);
         graph.add_output(slice(graph, x, 1, 3, 10));
       }},
      {"many channels of an image",
       [](ir::Graph& graph) {
         ir::Value* x = int8_input(graph, {1, 70, 3, 5}, kScale, kZeroPoint);
         graph.add_output(slice(graph, x, 1, 0, 67));
       }},
      {"pad",
       [](ir::Graph& graph) {
         ir::Value* x = int8_input(graph, {1, 3, 9, 17}, kScale, kZeroPoint);
         graph.add_output(pad(graph, x, {1, 2, 3, 1}));
       }},
      {"pad of rows",
       [](ir::Graph& graph) {
         ir::Value* x = int8_input(graph, {1, 4, 5, 8}, kScale, kZeroPoint);
         graph.add_output(pad(graph, x, {0, 0, 2, 0}));
       }},
      {"max pool",
       [](ir::Graph& graph) {
         ir::Value* x = int8_input(graph, {1, 20, 9, 7}, kScale, kZeroPoint);
         graph.add_output(max_pool(graph, x, 3, 2, 1));
       }},
      {"max pool of the same size",
       [](ir::Graph& graph) {
         ir::Value* x = int8_input(graph, {1, 5, 9, 7}, kScale, kZeroPoint);
         graph.add_output(max_pool(graph, x, 3, 1, 1));
       }},
      {"average pool",
       [](ir::Graph& graph) {
         ir::Value* x = int8_input(graph, {1, 18, 8, 6}, kScale, kZeroPoint);
         graph.add_output(add_quantized(graph, "aten.avg_pool2d",
                                        {{"self", x},
                                         {"kernel_size", Ints{3, 3}},
                                         {"stride", Ints{1, 1}},
                                         {"padding", Ints{1, 1}},
                                         {"ceil_mode", false},
                                         {"count_include_pad", true},
                                         {"divisor_override", ir::None{}}},
                                        {1, 18, 8, 6}, 0.03, 4));
       }},
      {"adaptive average pool",
       [](ir::Graph& graph) {
         ir::Value* x = int8_input(graph, {1, 6, 8, 7}, kScale, kZeroPoint);
         graph.add_output(add_quantized(graph, "aten.adaptive_avg_pool2d", {{"self", x}, {"output_size", Ints{5, 3}}},
                                        {1, 6, 5, 3}, 0.03, 4));
       }},
  };
  expect_tighter(cases, {});
}

// Constants in RAM: the same bits, nothing left for kernels to read in flash, and counted where they are.
TEST(Memory, ConstantsCanBeReadFromARegion) {
  const auto build = [](ir::Graph& graph) {
    std::mt19937 random(5);
    ir::Value* x = int8_input(graph, {1, 8, 6, 6}, kScale, kZeroPoint);
    x = convolve(graph, x, {.in = {}, .outputs = 24}, random);
    x = convolve(graph, x, {.in = {}, .outputs = 24, .kernel = {3, 3}, .padding = {1, 1}, .groups = 24}, random);
    graph.add_output(convolve(graph, x, {.in = {}, .outputs = 10, .kernel = {3, 3}}, random));
  };
  for (const char* cpu : {"cortex-m55", "cortex-m4"}) {
    const Target target = parse_target(cpu);
    const Program in_flash = compile(build, target, memory::Reuse::all);
    ir::Graph graph;
    build(graph);
    compiler::Options options;
    options.config.target = target;
    options.memory = {{"dtcm", 16 << 10}, {"sram", 64 << 10}};
    options.constants_in = 1;
    compiler::Compiled compiled = compiler::compile(graph, options);
    const std::vector<emit::RegionFacts>& regions = compiled.facts.regions;
    EXPECT_EQ(regions[0].bytes, in_flash.arena) << cpu;
    EXPECT_GE(regions[1].constant_bytes, compiled.facts.constant_bytes) << cpu;
    EXPECT_EQ(regions[1].bytes, regions[1].constant_bytes) << cpu;

    const ProgramFile in_ram = program_from(std::move(compiled.program), cpu);
    EXPECT_FALSE(in_ram.has_state) << cpu;
    const AlignedBytes bytes(in_ram.bytes);
    const auto view = pte::ProgramView::open(bytes.span());
    const auto method = view.value().method("forward");
    EXPECT_TRUE(method.value().string(0).value().starts_with("cormorant cortex-m")) << cpu;
    std::int64_t with_data = 0;
    for (std::uint32_t i = 0; i < method.value().value_count(); ++i) {
      const auto tensor = method.value().tensor(static_cast<std::int32_t>(i));
      if (!tensor.ok() || tensor.value().data_index == 0) continue;
      EXPECT_EQ(tensor.value().memory_id, 2U) << cpu;
      with_data += tensor.value().bytes;
    }
    EXPECT_EQ(with_data, compiled.facts.constant_bytes) << cpu;

    const std::vector<Arrays> inputs = random_inputs(in_flash.file, 3);
    const std::vector<Arrays> wanted = execute(in_flash.file, inputs, {}).outputs;
    expect_equal(wanted, execute(in_ram, inputs, {}).outputs, std::string(cpu) + ", host");
    ExecuteOn board;
    board.target = target;
    expect_equal(wanted, execute(in_ram, inputs, board).outputs, std::string(cpu) + ", board");
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
    // Something else of the same sizes, except for one dimension.
    const auto fitting = [&](std::size_t dim) {
      std::vector<ir::Value*> found;
      for (ir::Value* value : values) {
        ir::Shape sizes = value->type.shape;
        if (sizes.size() != shape.size()) continue;
        sizes[dim] = shape[dim];
        if (sizes == shape) found.push_back(value);
      }
      return found[below(found.size())];
    };
    if (shape.size() != 4) {
      const auto size = static_cast<std::size_t>(shape[1]);
      if (below(3) == 0 && size > 4) {
        const auto start = static_cast<std::int64_t>(below(size / 4) * 4);
        values.push_back(slice(graph, x, 1, start,
                               start + 1 + static_cast<std::int64_t>(below(size - static_cast<std::size_t>(start)))));
      } else if (below(2) == 0 && size < 3000) {
        values.push_back(cat(graph, {x, fitting(1)}, 1));
      } else {
        values.push_back(clamp(graph, x, 0.0));
      }
      continue;
    }
    switch (below(12)) {
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
        const std::size_t dim = 1 + below(2);
        if (shape[1] * shape[2] < 1000) values.push_back(cat(graph, {x, fitting(dim)}, static_cast<std::int64_t>(dim)));
        break;
      }
      case 8:
      case 9: {
        const std::size_t dim = below(4) == 0 ? 1 : 2;
        const auto size = static_cast<std::size_t>(shape[dim]);
        const auto start = static_cast<std::int64_t>(below(size));
        const auto length = static_cast<std::int64_t>(1 + below(size - static_cast<std::size_t>(start)));
        values.push_back(slice(graph, x, static_cast<std::int64_t>(dim), start, start + length));
        break;
      }
      case 10:
        if (shape[2] > 2 && shape[3] > 2) {
          const auto stride = static_cast<std::int64_t>(1 + below(2));
          values.push_back(max_pool(graph, x, 3, stride, static_cast<std::int64_t>(below(2))));
        }
        break;
      case 11:
        if (shape[1] * shape[2] < 1000) {
          Ints borders;
          for (int i = 0; i < 4; ++i) borders.push_back(static_cast<std::int64_t>(below(3)));
          values.push_back(pad(graph, x, borders));
        }
        break;
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

// Returns whether less memory is needed than without reuse.
bool expect_same_bits(unsigned seed, bool on_board) {
  const Target target = parse_target(seed % 3 == 0 ? "cortex-m0" : seed % 3 == 1 ? "cortex-m4" : "cortex-m55");
  const auto build = [seed](ir::Graph& graph) { grow(graph, seed); };
  const Program apart = compile(build, target, memory::Reuse::none);
  const Program tight = compile(build, target, memory::Reuse::all);
  EXPECT_LE(tight.arena, apart.arena);
  const std::vector<Arrays> inputs = random_inputs(apart.file, seed);
  const std::vector<Arrays> wanted = execute(apart.file, inputs, {}).outputs;
  expect_equal(wanted, execute(tight.file, inputs, {}).outputs, "host");
  if (on_board) {
    ExecuteOn board;
    board.target = target;
    const Execution run = execute(tight.file, inputs, board);
    expect_equal(wanted, run.outputs, "board");
    EXPECT_LE(run.board->stack_bytes, 1024U);
  }
  return tight.arena < apart.arena;
}

TEST(Memory, RandomNetworksComputeTheSameBitsAsWithoutReuse) {
  int smaller = 0;
  // A few here; thousands when asked for.
  const char* const asked = std::getenv("CORMORANT_NETWORKS");
  const unsigned count =
      asked == nullptr ? tests::seeds(36, 12) : static_cast<unsigned>(std::strtoul(asked, nullptr, 10));
  for (unsigned seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    EXPECT_NO_THROW(smaller += expect_same_bits(seed, seed % 16 == 0 && seed < 36) ? 1 : 0);
  }
  EXPECT_NO_THROW(expect_same_bits(681, false));  // a piece as above, and an operator that works in place
  EXPECT_GT(smaller, 30 * static_cast<int>(count) / 36);
}

}  // namespace
}  // namespace cormorant::conformance
