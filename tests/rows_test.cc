// SPDX-License-Identifier: Apache-2.0
//
// Networks computed row by row have the bits that they have layer by layer, whatever is grouped: on the host and on
// boards.
#include "passes/rows.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <utility>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "ops/rows/rows.h"
#include "program/program_io.h"
#include "runner/process.h"
#include "runtime/host.h"
#include "target/parse.h"
#include "tests/check.h"
#include "tests/conformance/conformance.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/guard.h"
#include "tests/known_state.h"

namespace cormorant {
namespace {

using conformance::add_quantized;
using Dims = std::vector<std::int64_t>;

// What random networks have: a leaky ReLU after convolutions, windows averaged instead of their maxima, or convolutions
// beside others, whose results are added.
enum class Kind : std::uint8_t { plain, sloped, averaged, branched };

// A chain of layers with residual connections, at random.
class Network {
 public:
  explicit Network(unsigned seed, Kind kind = Kind::plain) : random_(seed), kind_(kind) {
    value_ = conformance::int8_input(graph, {1, one_of({1, 3, 4}), 9 + one_of({0, 1, 4, 8}), 6 + one_of({0, 1, 3})},
                                     0.05, one_of({-3, 0, 12}));
    const int layers = 3 + static_cast<int>(random_() % 7);
    for (int i = 0; i < layers; ++i) add_layer();
    if (random_() % 2 != 0 && shape()[2] > 1) mean();
    graph.add_output(value_);
  }

  ir::Graph graph;

 private:
  int one_of(std::initializer_list<int> list) { return list.begin()[random_() % list.size()]; }
  [[nodiscard]] const ir::Shape& shape() const { return value_->type.shape; }

  void add_layer() {
    switch (random_() % 6) {
      case 0:
        return convolve(4 * one_of({1, 2, 3, 5}), one_of({1, 1, 3, 3, 5, 7}), one_of({1, 1, 2}), one_of({1, 1, 2}),
                        false);
      case 1:
        return convolve(shape()[1], one_of({3, 3, 5}), one_of({1, 1, 2}), one_of({1, 1, 2}), true);
      case 2:
        return convolve(4 * one_of({1, 2, 4}), 1, 1, 1, false);
      case 3:
        return pool();
      case 4:
        return activate();
      default:
        return add_block();
    }
  }

  void convolve(std::int64_t outputs, std::int64_t kernel, std::int64_t stride, std::int64_t dilation, bool depthwise) {
    const std::int64_t reach = (kernel - 1) * dilation + 1;
    const std::int64_t padding = one_of({0, 1, 1}) != 0 ? reach / 2 : one_of({0, 1});
    const auto size = [&](std::int64_t in) { return (in + 2 * padding - reach) / stride + 1; };
    if (shape()[2] + 2 * padding < reach || shape()[3] + 2 * padding < reach || padding >= reach) return;
    const std::int64_t inputs = depthwise ? 1 : shape()[1];
    ir::Value* weight = conformance::int8_weights(graph, {outputs, inputs, kernel, kernel}, 0, random_);
    ir::Value* bias = conformance::int32_bias(graph, value_, weight, random_, 3000);
    std::vector<ir::NamedArgument> args = {{"input", value_},
                                           {"weight", weight},
                                           {"bias", bias},
                                           {"stride", Dims{stride, stride}},
                                           {"padding", Dims{padding, padding}},
                                           {"dilation", Dims{dilation, dilation}},
                                           {"groups", depthwise ? outputs : std::int64_t{1}}};
    if (kind_ == Kind::sloped) args.push_back({"activation_slopes", std::vector<double>{0.2}});
    value_ = add_quantized(graph, "aten.conv2d", args, {1, outputs, size(shape()[2]), size(shape()[3])}, 0.07,
                           one_of({-128, -20, 5}));
  }
  void pool() {
    const std::int64_t kernel = one_of({2, 3}), stride = one_of({1, 2}), padding = one_of({0, 1});
    const auto size = [&](std::int64_t in) { return (in + 2 * padding - kernel) / stride + 1; };
    if (shape()[2] + 2 * padding < kernel || shape()[3] + 2 * padding < kernel) return;
    if (kind_ == Kind::averaged) return average(kernel, stride, padding);
    const ir::QuantParams quant = *value_->type.quant;
    value_ = add_quantized(graph, "aten.max_pool2d",
                           {{"self", value_},
                            {"kernel_size", Dims{kernel, kernel}},
                            {"stride", Dims{stride, stride}},
                            {"padding", Dims{padding, padding}},
                            {"dilation", Dims{1, 1}},
                            {"ceil_mode", false}},
                           {1, shape()[1], size(shape()[2]), size(shape()[3])}, quant.scale(), quant.zero_point());
  }
  void average(std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    const bool counts = random_() % 2 != 0;
    const std::int64_t above = random_() % 4 != 0 ? 0 : padding;  // some rows have other divisors then
    value_ = add_quantized(graph, "aten.avg_pool2d",
                           {{"self", value_},
                            {"kernel_size", Dims{kernel, kernel}},
                            {"stride", Dims{stride, stride}},
                            {"padding", Dims{above, padding}},
                            {"ceil_mode", false},
                            {"count_include_pad", counts},
                            {"divisor_override", {}}},
                           {1, shape()[1], (shape()[2] + 2 * above - kernel) / stride + 1,
                            (shape()[3] + 2 * padding - kernel) / stride + 1},
                           0.04, 3);
  }
  void mean() {
    value_ = add_quantized(graph, "aten.avg_pool2d",
                           {{"self", value_},
                            {"kernel_size", Dims{shape()[2], shape()[3]}},
                            {"stride", Dims{shape()[2], shape()[3]}},
                            {"padding", Dims{0, 0}},
                            {"ceil_mode", false},
                            {"count_include_pad", true},
                            {"divisor_override", {}}},
                           {1, shape()[1], 1, 1}, 0.02, 3);
  }
  void activate() { value_ = add_quantized(graph, "aten.hardswish", {{"self", value_}}, shape(), 0.05, -10); }
  void add_block() {
    ir::Value* skip = value_;
    if (kind_ == Kind::branched) {
      const std::int64_t outputs = 4 * one_of({1, 2, 4}), stride = one_of({1, 2});
      convolve_by(outputs, one_of({3, 5}), stride);
      if (random_() % 2 != 0) keep_size(outputs, false);
      ir::Value* const main = value_;
      value_ = skip;
      convolve_by(outputs, 1, stride);
      if (random_() % 4 == 0) activate();
      const ir::Shape shape = main->type.shape;
      value_ = add_quantized(graph, "aten.add", {{"self", value_}, {"other", main}, {"alpha", std::int64_t{1}}}, shape,
                             0.1, 4);
      return;
    }
    const std::int64_t channels = shape()[1];
    const ir::Shape before = shape();
    if (random_() % 2 != 0) convolve(8, 1, 1, 1, false);
    keep_size(shape()[1], true);
    if (random_() % 2 != 0) keep_size(shape()[1], true);
    convolve(channels, 1, 1, 1, false);
    if (shape() != before) return;
    value_ = add_quantized(graph, "aten.add", {{"self", skip}, {"other", value_}, {"alpha", std::int64_t{1}}}, before,
                           0.1, 4);
  }
  void convolve_by(std::int64_t outputs, std::int64_t kernel, std::int64_t stride) {
    const auto size = [&](std::int64_t in) { return (in - 1) / stride + 1; };
    ir::Value* weight = conformance::int8_weights(graph, {outputs, shape()[1], kernel, kernel}, 0, random_);
    ir::Value* bias = conformance::int32_bias(graph, value_, weight, random_, 3000);
    value_ = add_quantized(graph, "aten.conv2d",
                           {{"input", value_},
                            {"weight", weight},
                            {"bias", bias},
                            {"stride", Dims{stride, stride}},
                            {"padding", Dims{kernel / 2, kernel / 2}},
                            {"dilation", Dims{1, 1}},
                            {"groups", std::int64_t{1}}},
                           {1, outputs, size(shape()[2]), size(shape()[3])}, 0.07, 5);
  }
  void keep_size(std::int64_t channels, bool depthwise) {
    ir::Value* weight = conformance::int8_weights(graph, {channels, depthwise ? 1 : channels, 3, 3}, 0, random_);
    ir::Value* bias = conformance::int32_bias(graph, value_, weight, random_, 3000);
    value_ = add_quantized(graph, "aten.conv2d",
                           {{"input", value_},
                            {"weight", weight},
                            {"bias", bias},
                            {"stride", Dims{1, 1}},
                            {"padding", Dims{1, 1}},
                            {"dilation", Dims{1, 1}},
                            {"groups", depthwise ? channels : std::int64_t{1}}},
                           {1, channels, shape()[2], shape()[3]}, 0.06, -7);
  }

  std::mt19937 random_;
  Kind kind_;
  ir::Value* value_;
};

// How a graph is cut into groups: as few as can be, anywhere, or as few with several rows at a time, or with all chains
// by strips that can be; or as the compiler does it for an image that arrives by rows.
enum class Cuts : std::uint8_t { none, few, random, batches, strips, fed };

std::size_t regroup(ir::Graph& graph, Isa isa, Cuts cuts, std::mt19937& random) {
  using Strips = passes::Rows::Strips;
  passes::Rows rows(graph, isa);
  std::vector<Strips> chains = cuts == Cuts::strips ? rows.chains() : std::vector<Strips>();
  for (Strips& chain : chains) chain.count = 1 + static_cast<std::int64_t>(random() % 4);
  const auto of_group = [&](std::size_t first, std::size_t last) {
    std::vector<Strips> own;
    std::ranges::copy_if(chains, std::back_inserter(own),
                         [&](const Strips& chain) { return chain.first >= first && chain.last <= last; });
    return own;
  };
  std::vector<std::int64_t> wanted(rows.units().size(), 1);
  if (cuts == Cuts::batches) {
    const std::int64_t alike = static_cast<std::int64_t>(random() % 4);  // or any
    for (std::int64_t& batch : wanted) batch = alike != 0 ? 1 + alike : 1 + static_cast<std::int64_t>(random() % 8);
  }
  std::vector<passes::Rows::Group> groups;
  for (std::size_t at = 0; at < rows.units().size();) {
    std::optional<passes::Rows::Group> best;
    for (std::size_t last = at; last < rows.units().size(); ++last) {
      if (auto group = rows.group(at, last, of_group(at, last), wanted)) best = std::move(group);
      if (cuts == Cuts::random && random() % 4 == 0) break;
    }
    at = best ? best->last + 1 : at + 1;
    if (best) groups.push_back(std::move(*best));
  }
  rows.rewrite(groups);
  return groups.size();
}

// With what the compiler does for --feed=rows.
compiler::Options options_for(const Target& target, bool feed, double recompute = 1,
                              compiler::Io io = compiler::Io::int8) {
  compiler::Options options;
  options.config.target = target;
  options.io = io;
  if (feed) options.rows = compiler::RowsOptions{.bytes = {}, .feed = true, .recompute = recompute};
  return options;
}

struct Result {
  std::size_t groups = 0;
  compiler::Facts facts;
  std::vector<std::byte> program;
  std::vector<Arrays> outputs;
};

Result compile_and_run(unsigned seed, Cuts cuts, const Target& target = {}, const ExecuteOn& where = {},
                       compiler::Io io = compiler::Io::int8, Kind kind = Kind::plain) {
  Network network(seed, kind);
  const compiler::Options options = options_for(target, cuts == Cuts::fed, seed % 2 == 0 ? 4 : 1, io);
  compiler::Stages stages = compiler::default_stages(options);
  Result result;
  std::mt19937 random(seed), random_cuts(seed);
  for (compiler::Stage& stage : stages.for_target) {
    if (stage.name != "rows" || cuts == Cuts::none || cuts == Cuts::fed) continue;
    stage.run = [&](ir::Graph& graph, compiler::Context&) {
      result.groups = regroup(graph, target.isa, cuts, random_cuts);
    };
  }
  compiler::Compilation compilation(network.graph, options, stages);
  compilation.quantize();
  compiler::Compiled compiled = compilation.finish();
  result.program = compiled.program;
  const ProgramFile program = program_from(std::move(compiled.program), "test.pte");
  std::vector<Arrays> samples;
  for (int s = 0; s < 3; ++s) {
    npy::Array x{program.inputs[0].dtype, program.inputs[0].shape, {}};
    for (std::size_t i = 0; i < program.inputs[0].element_count(); ++i) {
      x.data.push_back(static_cast<std::byte>(s == 0 ? 128 - random() % 2 : random() % 256));
    }
    samples.push_back({std::move(x)});
  }
  result.facts = std::move(compiled.facts);
  Execution execution = execute(program, samples, where);
  if (execution.board) tests::expect_known_state(program, where, execution);
  result.outputs = std::move(execution.outputs);
  return result;
}

TEST(Rows, LeaveEveryBitAsItWas) {
  std::size_t groups = 0, strips = 0;
  const unsigned last = tests::seeds(12, 5);
  for (unsigned seed = 1; seed <= last; ++seed) {
    SCOPED_TRACE(seed);
    const Result whole = compile_and_run(seed, Cuts::none);
    EXPECT_EQ(whole.groups, 0U);
    for (const Cuts cuts : {Cuts::few, Cuts::random, Cuts::batches, Cuts::strips, Cuts::fed}) {
      const Result by_rows = compile_and_run(seed, cuts);
      groups += by_rows.groups;
      strips += by_rows.facts.operators.contains("cormorant::rows_strips.mve") ? 1 : 0;
      EXPECT_TRUE(whole.outputs == by_rows.outputs);
      const auto has = [&](const char* name) { return by_rows.facts.operators.contains(name); };
      EXPECT_EQ(has("cormorant::rows_fed.mve") || has("cormorant::rows_strips_fed.mve"), cuts == Cuts::fed);
      EXPECT_EQ(cuts == Cuts::fed && by_rows.facts.rows->extra_macs != 0, has("cormorant::rows_strips_fed.mve"));
    }
  }
  EXPECT_GT(groups, tests::seeds(32, 12));
  EXPECT_GT(strips, tests::seeds(4, 0));
}

TEST(Rows, AverageTheirWindows) {
  const Target target = parse_target("cortex-m55");
  ExecuteOn board;
  board.target = target;
  std::size_t averaged = 0;
  for (unsigned seed = 1; seed <= tests::seeds(24, 4); ++seed) {
    SCOPED_TRACE(seed);
    const Result whole = compile_and_run(seed, Cuts::none, target, {}, compiler::Io::int8, Kind::averaged);
    for (const Cuts cuts : {Cuts::few, Cuts::random, Cuts::batches, Cuts::strips, Cuts::fed}) {
      const bool on_board = seed % 4 == 1 && cuts != Cuts::random;
      const Result by_rows =
          compile_and_run(seed, cuts, target, on_board ? board : ExecuteOn{}, compiler::Io::int8, Kind::averaged);
      EXPECT_TRUE(whole.outputs == by_rows.outputs);
      // A group's have other heights.
      const auto count = [&](const std::string& result) {
        return std::ranges::count_if(whole.facts.steps, [&](const emit::Step& step) { return step.result == result; });
      };
      for (const emit::Step& step : by_rows.facts.steps) {
        averaged += step.op == "cormorant::avg_pool2d.mve" && count(step.result) == 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(averaged, 0U);
}

// A shortcut is computed when the other branch has caught up.
TEST(Rows, WaitForWhatTheyAreAddedTo) {
  const Target target = parse_target("cortex-m4");
  ExecuteOn board;
  board.target = target;
  std::size_t groups = 0;
  for (unsigned seed = 1; seed <= tests::seeds(24, 2); ++seed) {
    SCOPED_TRACE(seed);
    const Result whole = compile_and_run(seed, Cuts::none, target, {}, compiler::Io::int8, Kind::branched);
    for (const Cuts cuts : {Cuts::few, Cuts::random, Cuts::batches, Cuts::fed}) {
      const bool on_board = seed == 1 && cuts != Cuts::random;
      const Result by_rows =
          compile_and_run(seed, cuts, target, on_board ? board : ExecuteOn{}, compiler::Io::int8, Kind::branched);
      EXPECT_TRUE(whole.outputs == by_rows.outputs);
      groups += by_rows.groups;
    }
  }
  EXPECT_GT(groups, 0U);
}

// What begins when the first rows of the input have been read takes their place: the sums of a mean, and scratch.
TEST(Rows, TakeThePlaceOfThoseThatHaveBeenRead) {
  ir::Graph graph;
  std::mt19937 random(1);
  ir::Value* value = conformance::int8_input(graph, {1, 4, 32, 8}, 0.1, 0);
  for (int i = 0; i < 4; ++i) {
    ir::Value* weight = conformance::int8_weights(graph, {4, 4, 3, 3}, 0, random);
    value = add_quantized(graph, "aten.conv2d",
                          {{"input", value},
                           {"weight", weight},
                           {"bias", conformance::int32_bias(graph, value, weight, random)},
                           {"stride", Dims{1, 1}},
                           {"padding", Dims{1, 1}},
                           {"dilation", Dims{1, 1}},
                           {"groups", std::int64_t{1}}},
                          {1, 4, 32, 8}, 0.2, 1);
  }
  value = add_quantized(graph, "aten.avg_pool2d",
                        {{"self", value},
                         {"kernel_size", Dims{32, 8}},
                         {"stride", Dims{32, 8}},
                         {"padding", Dims{0, 0}},
                         {"ceil_mode", false},
                         {"count_include_pad", true},
                         {"divisor_override", {}}},
                        {1, 4, 1, 1}, 0.02, 3);
  graph.add_output(value);
  const compiler::Options options = options_for(parse_target("cortex-m4"), false);
  compiler::Stages stages = compiler::default_stages(options);
  const auto stage = std::ranges::find(stages.for_target, "rows", &compiler::Stage::name);
  stage->run = [&](ir::Graph& own, compiler::Context&) { regroup(own, Isa::dsp, Cuts::few, random); };
  compiler::Compilation compilation(graph, options, stages);
  compilation.quantize();
  const compiler::Compiled compiled = compilation.finish();
  const auto& buffers = compiled.facts.regions.at(0).buffers;
  const auto input = std::ranges::find(buffers, memory::Buffer::Kind::input, &memory::Buffer::kind);
  ASSERT_NE(input, buffers.end());
  EXPECT_EQ(input->bytes, 4U * 32 * 8);
  std::uint64_t shared = 0;
  for (const memory::Buffer& buffer : buffers) {
    if (&buffer == &*input || buffer.whole || buffer.first > input->last) continue;
    const std::uint64_t begin = std::max(buffer.offset, input->offset);
    const std::uint64_t end = std::min(buffer.offset + buffer.bytes, input->offset + input->bytes);
    const bool is_mean = buffer.bytes < 4 * 8;  // which comes when all rows are gone
    if (begin < end && !is_mean) shared = std::max(shared, end - input->offset);
  }
  // Each convolution is a row behind the one before it, so four rows are gone before the last one begins.
  EXPECT_GT(shared, 0U);
  EXPECT_LE(shared, 4U * 4 * 8);
}

// By weights at random, with a result of the image's size.
ir::Value* convolved(ir::Graph& graph, ir::Value* value, std::mt19937& random, std::int64_t outputs,
                     std::int64_t kernel, bool depthwise) {
  const ir::Shape shape = value->type.shape;
  ir::Value* weight = conformance::int8_weights(graph, {outputs, depthwise ? 1 : shape[1], kernel, kernel}, 0, random);
  return add_quantized(graph, "aten.conv2d",
                       {{"input", value},
                        {"weight", weight},
                        {"bias", conformance::int32_bias(graph, value, weight, random)},
                        {"stride", Dims{1, 1}},
                        {"padding", Dims{kernel / 2, kernel / 2}},
                        {"dilation", Dims{1, 1}},
                        {"groups", depthwise ? outputs : std::int64_t{1}}},
                       {1, outputs, shape[2], shape[3]}, 0.2, 1);
}

// Four channels become more, which are convolved one by one, and four again.
ir::Graph expanded(std::int64_t height, std::int64_t width, std::int64_t hidden) {
  ir::Graph graph;
  std::mt19937 random(1);
  ir::Value* value = conformance::int8_input(graph, {1, 4, height, width}, 0.1, 0);
  const auto convolve = [&](std::int64_t outputs, std::int64_t kernel, bool depthwise) {
    value = convolved(graph, value, random, outputs, kernel, depthwise);
  };
  convolve(hidden, 1, false);
  convolve(hidden, 3, true);
  convolve(4, 1, false);
  graph.add_output(value);
  return graph;
}

// More products, but no more than permitted, for less memory.
TEST(Rows, AreComputedAgainWhereThatSavesMemory) {
  std::int64_t most = 0;
  std::vector<Arrays> expected;
  for (const double recompute : {1.0, 4.0}) {
    ir::Graph graph = expanded(16, 32, 64);
    const compiler::Options options = options_for({}, true, recompute);
    compiler::Compilation compilation(graph, options);
    compilation.quantize();
    compiler::Compiled compiled = compilation.finish();
    const std::int64_t extra = compiled.facts.rows->extra_macs;
    const ProgramFile program = program_from(std::move(compiled.program), "test.pte");
    npy::Array x{DType::i8, {1, 4, 16, 32}, {}};
    for (std::size_t i = 0; i < 4UL * 16 * 32; ++i) x.data.push_back(static_cast<std::byte>(i * 37 % 251));
    const std::vector<Arrays> outputs = execute(program, {Arrays{std::move(x)}}, {}).outputs;
    if (recompute == 1) {
      EXPECT_EQ(extra, 0);
      most = compiler::arena_bytes(compiled.facts);
      expected = outputs;
      continue;
    }
    EXPECT_TRUE(compiled.facts.operators.contains("cormorant::rows_strips_fed.mve"));
    EXPECT_GE(extra, 2 * 16 * 32 * 4 * 64);  // each row of the expansion three times
    EXPECT_LE(extra, 3 * compiled.facts.macs);
    EXPECT_LT(compiler::arena_bytes(compiled.facts), most / 2);
    EXPECT_TRUE(outputs == expected);
  }
}

// A convolution and the image that it reads are added up: an addition that the convolution does as well on MVE. Before
// it 16 channels become more, which are convolved one by one, and 16 again.
ir::Graph summed(std::int64_t size, bool is_expanded) {
  ir::Graph graph;
  std::mt19937 random(1);
  ir::Value* value = conformance::int8_input(graph, {1, 16, size, size}, 0.1, 0);
  const auto convolve = [&](std::int64_t outputs, std::int64_t kernel, bool depthwise) {
    value = convolved(graph, value, random, outputs, kernel, depthwise);
  };
  convolve(is_expanded ? 64 : 16, 1, false);
  if (is_expanded) {
    convolve(64, 3, true);
    convolve(16, 1, false);
  }
  ir::Value* const skip = value;
  convolve(16, 3, false);
  graph.add_output(add_quantized(graph, "aten.add", {{"self", value}, {"other", skip}, {"alpha", std::int64_t{1}}},
                                 skip->type.shape, 0.3, 1));
  return graph;
}

// The sum cannot take the place of what the convolution reads; and the convolution's own result is nowhere, so that a
// group with only one of the two would be taken for less than it needs.
TEST(Rows, AreCountedWithTheAdditionsOfConvolutions) {
  for (const double recompute : {1.0, 3.0}) {
    ir::Graph graph = summed(16, recompute > 1);
    compiler::Options options = options_for({}, false);
    options.rows = compiler::RowsOptions{.bytes = 1, .recompute = recompute};
    compiler::Compilation compilation(graph, options);
    compilation.quantize();
    const compiler::Compiled compiled = compilation.finish();
    EXPECT_LE(compiler::arena_bytes(compiled.facts), compiled.facts.rows->bytes) << recompute;
    EXPECT_EQ(compiled.facts.rows->extra_macs > 0, recompute > 1);
  }
}

// A group calls both, since the sum would be written over a slab.
TEST(Rows, LeaveAdditionsToNodesOfTheirOwn) {
  const Target target = parse_target("cortex-m55");
  npy::Array x{DType::i8, {1, 16, 8, 8}, {}};
  for (std::size_t i = 0; i < 16UL * 8 * 8; ++i) x.data.push_back(static_cast<std::byte>(i * 37 % 251));
  ExecuteOn board;
  board.target = target;
  std::vector<Arrays> expected;
  for (const std::int64_t batch : {0, 2, 4}) {  // rows at a time; none: layer by layer
    SCOPED_TRACE(batch);
    ir::Graph graph = summed(8, false);
    const compiler::Options options = options_for(target, false);
    compiler::Stages stages = compiler::default_stages(options);
    std::ranges::find(stages.for_target, "rows", &compiler::Stage::name)->run = [&](ir::Graph& own,
                                                                                    compiler::Context&) {
      passes::Rows rows(own, Isa::mve);
      std::vector<passes::Rows::Group> groups;
      if (batch != 0) groups.push_back(*rows.group(0, rows.units().size() - 1, {}, {batch, batch, batch}));
      rows.rewrite(groups);
    };
    compiler::Compilation compilation(graph, options, stages);
    compilation.quantize();
    compiler::Compiled compiled = compilation.finish();
    EXPECT_EQ(compiled.facts.operators.contains("cormorant::conv2d.mve_sum"), batch == 0);
    const ProgramFile program = program_from(std::move(compiled.program), "test.pte");
    const std::vector<Arrays> outputs = execute(program, {Arrays{x}}, {}).outputs;
    if (batch == 0) expected = outputs;
    EXPECT_TRUE(outputs == expected);
    EXPECT_TRUE(execute(program, {Arrays{x}}, board).outputs == expected);
  }
}

// Rows of five pixels are calls for little: several at a time need more memory and less time. The least memory is left
// to those who ask for it by a budget.
TEST(Rows, AreComputedSeveralAtATimeWhereTheyAreShort) {
  const auto compiled = [](std::optional<compiler::RowsOptions> rows) {
    ir::Graph graph = expanded(25, 5, 32);
    compiler::Options options = options_for({}, false);
    options.rows = rows;
    compiler::Compilation compilation(graph, options);
    compilation.quantize();
    return compilation.finish();
  };
  const compiler::Compiled layers = compiled({});
  const compiler::Compiled quick = compiled(compiler::RowsOptions{});
  const compiler::Compiled least = compiled(compiler::RowsOptions{.bytes = 1});
  EXPECT_LT(compiler::arena_bytes(quick.facts), compiler::arena_bytes(layers.facts));
  EXPECT_LT(compiler::arena_bytes(least.facts), compiler::arena_bytes(quick.facts));
  EXPECT_LT(quick.facts.rows->extra, least.facts.rows->extra);
  EXPECT_LE(8 * quick.facts.rows->extra, quick.facts.rows->work_by_layer);
  npy::Array x{DType::i8, {1, 4, 25, 5}, {}};
  for (std::size_t i = 0; i < 4UL * 25 * 5; ++i) x.data.push_back(static_cast<std::byte>(i * 37 % 251));
  const auto outputs_of = [&](const compiler::Compiled& program) {
    return execute(program_from(program.program, "test.pte"), {Arrays{x}}, {}).outputs;
  };
  EXPECT_TRUE(outputs_of(quick) == outputs_of(layers));
  EXPECT_TRUE(outputs_of(least) == outputs_of(layers));
}

// What rows are compared with is the program that there is without them, and a limit just below what that needs takes
// the alternative that costs least.
TEST(Rows, AreComparedWithWhatLayersNeed) {
  const auto compiled = [](const char* cpu, unsigned seed, std::optional<std::int64_t> bytes) {
    ir::Graph graph = seed == 0 ? expanded(16, 12, 8) : Network(seed).graph.copy();
    compiler::Options options = options_for(parse_target(cpu), false);
    options.curve = true;
    if (bytes) options.rows = compiler::RowsOptions{.bytes = *bytes};
    compiler::Compilation compilation(graph, options);
    compilation.quantize();
    return compilation.finish();
  };
  std::size_t alternatives = 0;
  for (const char* cpu : {"cortex-m55", "cortex-m4"}) {
    for (unsigned seed = 0; seed <= tests::seeds(8, 1); ++seed) {
      SCOPED_TRACE(std::string(cpu) + " " + std::to_string(seed));
      const compiler::Compiled layers = compiled(cpu, seed, {});
      const std::int64_t arena = compiler::arena_bytes(layers.facts);
      const std::vector<compiler::RowsPoint>& curve = layers.facts.rows->curve;
      EXPECT_EQ(layers.facts.rows->bytes_by_layer, arena);
      ASSERT_FALSE(curve.empty());
      EXPECT_EQ(curve.front().bytes, arena);
      EXPECT_EQ(curve.front().nodes, 0U);
      for (std::size_t i = 1; i < curve.size(); ++i) {
        EXPECT_LT(curve[i].bytes, curve[i - 1].bytes);
        EXPECT_GT(curve[i].nodes, 0U);
      }
      if (curve.size() == 1) continue;
      ++alternatives;
      EXPECT_EQ(compiled(cpu, seed, arena).facts.rows->groups, 0U);
      EXPECT_EQ(compiled(cpu, seed, arena - 1).facts.rows->extra, curve[1].extra);
    }
  }
  EXPECT_GT(alternatives, 1U);
}

// A camera's bytes.
TEST(Rows, AreTakenAsUint8) {
  const Result whole = compile_and_run(5, Cuts::none, {}, {}, compiler::Io::uint8);
  const Result by_rows = compile_and_run(5, Cuts::fed, {}, {}, compiler::Io::uint8);
  EXPECT_TRUE(by_rows.facts.operators.contains("cormorant::rows_fed.mve"));
  EXPECT_EQ(program_from(by_rows.program, "test.pte").inputs[0].dtype, DType::u8);
  EXPECT_TRUE(whole.outputs == by_rows.outputs);
}

// Boards have kernels of their own for rows.
TEST(Rows, HaveTheSameBitsOnBoards) {
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m0"}) {
    const Target target = parse_target(cpu);
    ExecuteOn board;
    board.target = target;
    for (unsigned seed = 1; seed <= tests::seeds(3, 1); ++seed) {
      SCOPED_TRACE(std::string(cpu) + " " + std::to_string(seed));
      const Result whole = compile_and_run(seed, Cuts::none, target);
      for (const Cuts cuts : {Cuts::few, Cuts::batches, Cuts::strips, Cuts::fed}) {
        EXPECT_TRUE(whole.outputs == compile_and_run(seed, cuts, target, board).outputs);
      }
    }
  }
}

TEST(Rows, HaveTheSameBitsOnBoardsBehindSlopes) {
  const Target target = parse_target("cortex-m55");
  ExecuteOn board;
  board.target = target;
  const fuzz::FuzzBoard guarded(target);
  std::size_t rows = 0;
  for (const unsigned seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    const Result whole = compile_and_run(seed, Cuts::none, target, {}, compiler::Io::int8, Kind::sloped);
    const Result by_rows = compile_and_run(seed, Cuts::few, target, board, compiler::Io::int8, Kind::sloped);
    EXPECT_TRUE(whole.outputs == by_rows.outputs);
    EXPECT_EQ(fuzz::run_guarded(guarded, by_rows.program).failure, "");
    rows += by_rows.facts.operators.contains("cormorant::conv2d.mve_row_prelu") ? 1 : 0;
  }
  EXPECT_GT(rows, 0U);
}

// Random weights and square images, for the MobileNets.
class Layers {
 public:
  explicit Layers(std::int64_t size) { value = conformance::int8_input(graph, {1, 3, size, size}, 0.02, 0); }

  void convolve(std::int64_t outputs, std::int64_t kernel, std::int64_t stride, bool depthwise, int zero,
                bool pads_at_the_end = false) {
    const ir::Shape shape = value->type.shape;
    if (pads_at_the_end) {
      const ir::QuantParams quant = *value->type.quant;
      value = add_quantized(graph, "aten.pad", {{"self", value}, {"pad", Dims{0, 1, 0, 1}}, {"value", 0.0}},
                            {1, shape[1], shape[2] + 1, shape[3] + 1}, quant.scale(), quant.zero_point());
    }
    ir::Value* weight =
        conformance::int8_weights(graph, {outputs, depthwise ? 1 : shape[1], kernel, kernel}, 0, random_);
    value = add_quantized(graph, "aten.conv2d",
                          {{"input", value},
                           {"weight", weight},
                           {"bias", conformance::int32_bias(graph, value, weight, random_, 1000)},
                           {"stride", Dims{stride, stride}},
                           {"padding", pads_at_the_end ? Dims{0, 0} : Dims{kernel / 2, kernel / 2}},
                           {"dilation", Dims{1, 1}},
                           {"groups", depthwise ? outputs : std::int64_t{1}}},
                          {1, outputs, (shape[2] - 1) / stride + 1, (shape[3] - 1) / stride + 1}, 0.06, zero);
  }
  void add(ir::Value* skip) {
    value = add_quantized(graph, "aten.add", {{"self", skip}, {"other", value}, {"alpha", std::int64_t{1}}},
                          value->type.shape, 0.08, 3);
  }
  void mean() {
    const ir::Shape shape = value->type.shape;
    value = add_quantized(graph, "aten.avg_pool2d",
                          {{"self", value},
                           {"kernel_size", Dims{shape[2], shape[3]}},
                           {"stride", Dims{shape[2], shape[3]}},
                           {"padding", Dims{0, 0}},
                           {"ceil_mode", false},
                           {"count_include_pad", true},
                           {"divisor_override", {}}},
                          {1, shape[1], 1, 1}, 0.03, -128);
  }
  void activate(const char* op, double scale, int zero) {
    value = add_quantized(graph, op, {{"self", value}}, value->type.shape, scale, zero);
  }
  // Squeeze and excitation.
  void weigh_channels() {
    ir::Value* const image = value;
    const std::int64_t channels = image->type.shape[1];
    mean();
    convolve(whole_eights(channels / 4), 1, 1, false, -128);
    convolve(channels, 1, 1, false, 0);
    activate("aten.hardsigmoid", 1.0 / 256, -128);
    value = add_quantized(graph, "aten.mul", {{"self", image}, {"other", value}}, image->type.shape, 0.06, 0);
  }
  // As torchvision rounds numbers of channels.
  static std::int64_t whole_eights(std::int64_t channels) {
    const std::int64_t rounded = std::max<std::int64_t>(8, (channels + 4) / 8 * 8);
    return 10 * rounded < 9 * channels ? rounded + 8 : rounded;
  }

  ir::Graph graph;
  ir::Value* value = nullptr;

 private:
  std::mt19937 random_{1};
};

// MLPerf Tiny's image classifier: convolutions beside others, and images that get another row at the end.
ir::Graph resnet8() {
  Layers layers(32);
  layers.convolve(16, 3, 1, false, -128);
  for (const std::int64_t channels : {16, 32, 64}) {
    ir::Value* skip = layers.value;
    const std::int64_t stride = channels == 16 ? 1 : 2;
    layers.convolve(channels, 3, stride, false, -128, stride == 2);
    layers.convolve(channels, 3, 1, false, 3);
    ir::Value* const main = std::exchange(layers.value, skip);
    if (stride == 2) layers.convolve(channels, 1, stride, false, -17);
    skip = std::exchange(layers.value, main);
    layers.add(skip);
  }
  layers.mean();
  layers.graph.add_output(layers.value);
  return std::move(layers.graph);
}

TEST(Rows, KeepNoMoreOfAShortcutThanIsNeeded) {
  for (const bool feed : {true, false}) {
    ir::Graph graph = resnet8();
    compiler::Options options = options_for(parse_target("cortex-m4"), feed);
    if (!feed) options.rows = compiler::RowsOptions{};
    compiler::Compilation compilation(graph, options);
    compilation.quantize();
    EXPECT_LE(compiler::arena_bytes(compilation.finish().facts), feed ? 16200 : 17700);
  }
}

// With a percentage of the channels.
ir::Graph mobilenet_v2(std::int64_t size, std::int64_t percentage, std::int64_t classes) {
  Layers layers(size);
  const auto scaled = [&](std::int64_t channels) { return Layers::whole_eights(channels * percentage / 100); };
  struct Stage {
    std::int64_t expansion, channels, blocks, stride;
  };
  layers.convolve(scaled(32), 3, 2, false, -128);
  for (const Stage& stage : {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2}, Stage{6, 64, 4, 2},
                             Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2}, Stage{6, 320, 1, 1}}) {
    for (std::int64_t block = 0; block < stage.blocks; ++block) {
      ir::Value* const skip = layers.value;
      const std::int64_t hidden = stage.expansion * skip->type.shape[1];
      if (stage.expansion != 1) layers.convolve(hidden, 1, 1, false, -128);
      layers.convolve(hidden, 3, block == 0 ? stage.stride : 1, true, -128);
      layers.convolve(scaled(stage.channels), 1, 1, false, 3);
      if (layers.value->type.shape == skip->type.shape) layers.add(skip);
    }
  }
  layers.convolve(1280, 1, 1, false, -128);
  layers.mean();
  layers.convolve(classes, 1, 1, false, 0);
  layers.graph.add_output(layers.value);
  return std::move(layers.graph);
}

ir::Graph mobilenet_v3_small(std::int64_t size, std::int64_t classes) {
  Layers layers(size);
  struct Block {
    std::int64_t kernel, hidden, channels;
    bool weighs_channels, is_hard;
    std::int64_t stride;
  };
  const auto convolve = [&](std::int64_t outputs, std::int64_t kernel, std::int64_t stride, bool depthwise, bool hard) {
    layers.convolve(outputs, kernel, stride, depthwise, hard ? 0 : -128);
    if (hard) layers.activate("aten.hardswish", 0.03, -115);
  };
  convolve(16, 3, 2, false, true);
  for (const Block& block :
       {Block{3, 16, 16, true, false, 2}, Block{3, 72, 24, false, false, 2}, Block{3, 88, 24, false, false, 1},
        Block{5, 96, 40, true, true, 2}, Block{5, 240, 40, true, true, 1}, Block{5, 240, 40, true, true, 1},
        Block{5, 120, 48, true, true, 1}, Block{5, 144, 48, true, true, 1}, Block{5, 288, 96, true, true, 2},
        Block{5, 576, 96, true, true, 1}, Block{5, 576, 96, true, true, 1}}) {
    ir::Value* const skip = layers.value;
    if (block.hidden != skip->type.shape[1]) convolve(block.hidden, 1, 1, false, block.is_hard);
    convolve(block.hidden, block.kernel, block.stride, true, block.is_hard);
    if (block.weighs_channels) layers.weigh_channels();
    layers.convolve(block.channels, 1, 1, false, 3);
    if (layers.value->type.shape == skip->type.shape) layers.add(skip);
  }
  convolve(576, 1, 1, false, true);
  layers.mean();
  convolve(1024, 1, 1, false, true);
  layers.convolve(classes, 1, 1, false, 0);
  layers.graph.add_output(layers.value);
  return std::move(layers.graph);
}

// At 224 × 224, of a thousand classes: arena and state.
TEST(Rows, KeepTheMobileNetsSmall) {
  const struct {
    int version;
    const char* cpu;
    bool feed;
    double recompute;
    std::int64_t arena;
  } cases[] = {
      {2, "cortex-m4", true, 1.2, 72000},  {2, "cortex-m55", true, 1.2, 72000}, {2, "cortex-m4", true, 1, 140000},
      {2, "cortex-m55", true, 1, 140000},  {2, "cortex-m4", false, 1, 215000},  {2, "cortex-m55", false, 1, 215000},
      {3, "cortex-m4", true, 1, 72000},    {3, "cortex-m55", true, 1, 72000},   {3, "cortex-m4", false, 1, 165000},
      {3, "cortex-m55", false, 1, 165000},
  };
  const std::size_t count = tests::seeds(std::size(cases), 1);
  for (const auto& [version, cpu, feed, recompute, arena] : std::span(cases).first(count)) {
    SCOPED_TRACE(std::string(cpu) + (feed ? ", by rows, " : ", ") + std::to_string(version));
    const Target target = parse_target(cpu);
    ir::Graph graph = version == 2 ? mobilenet_v2(224, 100, 1000) : mobilenet_v3_small(224, 1000);
    compiler::Options options = options_for(target, feed, recompute);
    if (!feed) options.rows = compiler::RowsOptions{};
    compiler::Compilation compilation(graph, options);
    compilation.quantize();
    const compiler::Compiled compiled = compilation.finish();
    EXPECT_LE(compiler::arena_bytes(compiled.facts), arena);
    if (version != 2) continue;
    const ProgramFacts facts = read_facts(compiled.program, "forward");
    EXPECT_LE(state_bytes(compiled.program, facts, "forward", target) + kProgramBytes, 2500U);
  }
}

// MobileNetV2 with 0.35 times the channels, at 96 × 96, for three classes. Arena, state, stack and everything else that
// is written: 64 KB, as the linker script says. The image is 27 KB. On the board as it is, the image may be in memory
// too.
TEST(Rows, HaveMobileNetV2RunIn64KOnACortexM4) {
  const TemporaryDirectory directory;
  const std::filesystem::path boards = directory.path() / "boards";
  std::filesystem::copy(CORMORANT_SOURCE_DIR "/boards", boards, std::filesystem::copy_options::recursive);
  const fuzz::Bytes bytes = fuzz::read_file(boards / "netduinoplus2/board.ld");
  std::string script(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto replace = [&](const std::string& what, const std::string& by) {
    const std::size_t at = script.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    script.replace(at, what.size(), by);
  };
  replace("LENGTH = 128K", "LENGTH = 64K");
  replace("  ccm (rw) : ORIGIN = 0x10000000, LENGTH = 64K\n", "");
  replace("  .arena.ccm (NOLOAD) : ALIGN(16) { *(.arena.ccm) } > ccm\n", "");
  std::ofstream(boards / "netduinoplus2/board.ld") << script;
  ASSERT_EQ(setenv("CORMORANT_BOARDS_DIR", boards.c_str(), 1), 0);

  const Target target = parse_target("cortex-m4");
  const auto program_of = [&](bool feed) {
    ir::Graph graph = mobilenet_v2(96, 35, 3);
    const compiler::Options options = options_for(target, feed);
    compiler::Compilation compilation(graph, options);
    compilation.quantize();
    return program_from(compilation.finish().program, "test.pte");
  };
  npy::Array x{DType::i8, {1, 3, 96, 96}, {}};
  std::mt19937 random(2);
  for (std::size_t i = 0; i < 3UL * 96 * 96; ++i) x.data.push_back(static_cast<std::byte>(random() % 256));
  const std::vector<Arrays> samples = {Arrays{std::move(x)}};
  ExecuteOn board;
  board.target = target;
  board.board = "netduinoplus2";
  const auto by_rows = execute(program_of(true), samples, board).outputs;
  unsetenv("CORMORANT_BOARDS_DIR");
  const ProgramFile whole = program_of(false);
  const auto on_host = execute(whole, samples, {}).outputs;
  EXPECT_TRUE(by_rows == on_host);
  EXPECT_TRUE(execute(whole, samples, board).outputs == on_host);
}

// A profile shows the cost of every layer, including those computed by rows, and counts no instruction twice.
TEST(Rows, AreProfiledByLayers) {
  ExecuteOn board;
  board.target = parse_target("cortex-m55");
  board.profile = true;
  for (const Cuts cuts : {Cuts::few, Cuts::fed}) {
    const Result by_rows = compile_and_run(2, cuts, *board.target);
    const RunResult run = *execute(program_from(by_rows.program, "test.pte"), {Arrays{}}, board).board;
    ASSERT_EQ(run.steps.size(), by_rows.facts.steps.size());
    std::uint64_t sum = 0;
    std::size_t stages = 0;
    for (const StepProfile& step : run.steps) {
      sum += step.instructions;
      if (!step.part_of) continue;
      ++stages;
      EXPECT_GT(step.instructions, 0U) << step.operator_name;
    }
    EXPECT_GT(stages, 0U);
    EXPECT_LE(sum, run.execute_instructions);
  }
}

// The walk for one row on MVE is chosen by groups only, so that no case of a convolution tries it.
TEST(Rows, WriteNothingBesideTheirTensors) {
  bool has_rows_on_mve = false;
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m0"}) {
    const fuzz::FuzzBoard board(parse_target(cpu));
    for (unsigned seed = 1; seed <= tests::seeds(8, 3); ++seed) {
      SCOPED_TRACE(std::string(cpu) + " " + std::to_string(seed));
      const Result by_rows = compile_and_run(seed, Cuts::few, parse_target(cpu));
      has_rows_on_mve = has_rows_on_mve || by_rows.facts.operators.contains("cormorant::conv2d.mve_row");
      const fuzz::Guarded guarded = fuzz::run_guarded(board, by_rows.program);
      EXPECT_TRUE(guarded.fits);
      EXPECT_EQ(guarded.failure, "");
    }
    for (const unsigned seed : {2U, 4U}) {
      const Result by_strips = compile_and_run(seed, Cuts::strips, parse_target(cpu));
      EXPECT_EQ(fuzz::run_guarded(board, by_strips.program).failure, "");
    }
    const fuzz::Guarded fed = fuzz::run_guarded(board, compile_and_run(3, Cuts::fed, parse_target(cpu)).program);
    EXPECT_TRUE(fed.fits);
    EXPECT_EQ(fed.failure, "");
  }
  EXPECT_TRUE(has_rows_on_mve);
}

// Where the table of the program's first group is in the file.
std::size_t find_table(const std::vector<std::byte>& file, const ops::rows::Entry& first) {
  const auto bytes = std::as_bytes(std::span(&first, 1));
  const auto found = std::search(file.begin(), file.end(), bytes.begin(), bytes.end());
  return static_cast<std::size_t>(found - file.begin());
}

// Six rows of 12 bytes, and a convolution after them.
struct Small {
  std::vector<std::byte> file;
  std::size_t table = 0;

  explicit Small(bool feed = false, std::uint16_t batch = 1, bool sloped = false) {
    ir::Graph graph;
    std::mt19937 random(1);
    ir::Value* x = conformance::int8_input(graph, {1, 4, 6, 3}, 0.1, 0);
    ir::Value* weight = conformance::int8_weights(graph, {4, 4, 3, 3}, 0, random);
    std::vector<ir::NamedArgument> args = {{"input", x},
                                           {"weight", weight},
                                           {"bias", conformance::int32_bias(graph, x, weight, random)},
                                           {"stride", Dims{1, 1}},
                                           {"padding", Dims{1, 1}},
                                           {"dilation", Dims{1, 1}},
                                           {"groups", std::int64_t{1}}};
    if (sloped) args.push_back({"activation_slopes", std::vector<double>{0.2}});
    graph.add_output(add_quantized(graph, "aten.conv2d", args, {1, 4, 6, 3}, 0.2, 1));
    const compiler::Options options = options_for({}, feed);
    compiler::Stages stages = compiler::default_stages(options);
    for (compiler::Stage& stage : stages.for_target) {
      if (stage.name != "rows") continue;
      stage.run = [&](ir::Graph& g, compiler::Context&) {
        passes::Rows rows(g, Isa::mve);
        if (feed) rows.push(g.inputs().front());
        const std::vector<passes::Rows::Group> groups = {*rows.group(0, 0, {}, {batch})};
        rows.rewrite(groups);
      };
    }
    compiler::Compilation compilation(graph, options, stages);
    compilation.quantize();
    file = compilation.finish().program;
    using ops::rows::Entry;
    const Entry first = {.kind = feed ? Entry::Kind::push : Entry::Kind::feed,
                         .fill = 0,
                         .start = 0,
                         .period = 1,
                         .before = 1,
                         .rows = 6,
                         .after = 1,
                         .slab = 1,
                         .whole = 0,
                         .row_bytes = 12,
                         .slab_rows = static_cast<std::uint16_t>(2 + batch),
                         .batch = batch};
    table = find_table(file, first);
  }
  [[nodiscard]] bool loads() const {
    try {
      HostProgram program(file, ops::host_kernels());
      program.run({});  // under sanitizers: whatever loads stays inside
      return true;
    } catch (const InputError&) {
      return false;
    }
  }
  // With another number at an offset of the first entry, whether it loads.
  template <class T>
  bool loads_with(std::size_t offset, T value) {
    Small other = *this;
    std::memcpy(other.file.data() + table + offset, &value, sizeof value);
    return other.loads();
  }
};

// Two of the programs in tests/fuzz/seeds, written where CORMORANT_SEEDS names a folder.
TEST(Rows, AreTheSeedsOfFuzzing) {
  const char* const folder = std::getenv("CORMORANT_SEEDS");
  for (const bool sloped : {false, true}) {
    const Small small(false, 1, sloped);
    EXPECT_TRUE(small.loads());
    if (folder == nullptr) continue;
    std::ofstream(std::filesystem::path(folder) / (sloped ? "conv2d.mve_row_prelu.pte" : "conv2d.mve_row.pte"),
                  std::ios::binary)
        .write(reinterpret_cast<const char*>(small.file.data()), static_cast<std::streamsize>(small.file.size()));
  }
}

TEST(Rows, ATableThatLeavesItsTensorsIsRefused) {
  using ops::rows::Entry;
  Small small;
  ASSERT_LT(small.table, small.file.size());
  ASSERT_TRUE(small.loads());
  EXPECT_FALSE(small.loads_with(offsetof(Entry, kind), std::uint8_t{4}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, kind), std::uint8_t{3}));  // of an image that is there
  EXPECT_FALSE(small.loads_with(offsetof(Entry, kind), std::uint8_t{2}));  // collects, and fills
  EXPECT_FALSE(small.loads_with(offsetof(Entry, kind), std::uint8_t{0}));  // a call more than there are
  EXPECT_FALSE(small.loads_with(offsetof(Entry, period), std::uint16_t{0}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, period), std::uint16_t{0x8000}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, start), std::uint16_t{0xfffe}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, before), std::uint16_t{0xffff}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, rows), std::uint16_t{7}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, rows), std::uint16_t{0}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, slab), std::uint16_t{2}));  // the result, which has other rows
  EXPECT_FALSE(small.loads_with(offsetof(Entry, slab), std::uint16_t{9}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, slab), Entry::kNone));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, whole), std::uint16_t{9}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, row_bytes), std::uint32_t{13}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, row_bytes), std::uint32_t{0}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, slab_rows), std::uint16_t{4}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, slab_rows), std::uint16_t{0}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, batch), std::uint16_t{0}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, batch), std::uint16_t{3}));  // of eight rows
  EXPECT_FALSE(small.loads_with(offsetof(Entry, batch), std::uint16_t{8}));  // more than the slab has
  EXPECT_TRUE(small.loads_with(offsetof(Entry, fill), std::uint8_t{7}));
}

TEST(Rows, ATableOfBatchesThatLeavesItsTensorsIsRefused) {
  using ops::rows::Entry;
  Small small(false, 2);
  ASSERT_LT(small.table, small.file.size());
  ASSERT_TRUE(small.loads());
  for (const int rows : {0, 3, 5, 8}) {  // of four rows of a slab, and eight in all
    EXPECT_FALSE(small.loads_with(offsetof(Entry, batch), static_cast<std::uint16_t>(rows))) << rows;
  }
  EXPECT_FALSE(small.loads_with(offsetof(Entry, slab_rows), std::uint16_t{1}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, before), std::uint16_t{2}));  // not whole batches
  EXPECT_FALSE(small.loads_with(offsetof(Entry, rows), std::uint16_t{8}));
  EXPECT_TRUE(small.loads_with(offsetof(Entry, batch), std::uint16_t{4}));  // other rows, but inside
}

TEST(Rows, ATableThatTakesNoRowsIsRefused) {
  using ops::rows::Entry;
  Small small(true);
  ASSERT_LT(small.table, small.file.size());
  ASSERT_TRUE(small.loads());
  EXPECT_FALSE(small.loads_with(offsetof(Entry, kind), std::uint8_t{1}));  // the input is one row
  EXPECT_FALSE(small.loads_with(offsetof(Entry, kind), std::uint8_t{2}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, rows), std::uint16_t{0}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, before), std::uint16_t{0xffff}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, slab), Entry::kNone));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, whole), std::uint16_t{1}));  // the slab, of three
  EXPECT_FALSE(small.loads_with(offsetof(Entry, row_bytes), std::uint32_t{24}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, batch), std::uint16_t{2}));  // one row arrives at a time
  // Well-formed rows of something other than the input: more bytes than the caller pushes.
  Small slab = small;
  const std::uint16_t whole = 1;
  const std::uint32_t row_bytes = 36;
  std::memcpy(slab.file.data() + slab.table + offsetof(Entry, whole), &whole, sizeof whole);
  std::memcpy(slab.file.data() + slab.table + offsetof(Entry, row_bytes), &row_bytes, sizeof row_bytes);
  EXPECT_FALSE(slab.loads());
  // Another entry that takes rows.
  EXPECT_FALSE(small.loads_with(sizeof(Entry) + offsetof(Entry, kind), std::uint8_t{3}));
}

TEST(Rows, NoByteOfATableLeadsOutside) {
  for (const Small& small : {Small(), Small(true), Small(false, 2)}) {
    for (std::size_t at = 0; at < 3 * sizeof(ops::rows::Entry); ++at) {
      for (const int value : {0, 1, 2, 3, 127, 128, 255}) {
        Small other = small;
        other.file[other.table + at] = static_cast<std::byte>(value);
        (void)other.loads();  // under sanitizers
      }
    }
  }
}

// As firmware has it: rows anywhere, as many at a time as there are.
TEST(Rows, ArePushedAsTheyCome) {
  HostProgram host(Small(true).file, ops::host_kernels());
  const Program& program = host.program();
  constexpr std::size_t kRows = 6, kRowBytes = 12;
  ASSERT_EQ(program.missing_rows(), kRows);
  ASSERT_EQ(program.input(0).bytes(), kRowBytes);
  std::vector<std::int8_t> image(1 + kRows * kRowBytes);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::int8_t>(37 * i);
  const std::int8_t* const rows = image.data() + 1;  // aligned for nothing
  HostProgram whole(Small().file, ops::host_kernels());
  const auto bytes = std::as_bytes(std::span(rows, kRows * kRowBytes));
  const std::vector<std::vector<std::byte>> expected = whole.run({{std::vector(bytes.begin(), bytes.end())}});
  const auto is_expected = [&] {
    const Span<std::byte> output = program.output(0).as<std::byte>();
    const bool is_equal = std::equal(output.begin(), output.end(), expected[0].begin(), expected[0].end());
    std::ranges::fill(output, std::byte{0});  // the next image has the same
    return is_equal;
  };

  EXPECT_EQ(program.push_rows(rows, kRows + 1), Error::too_many_rows);
  EXPECT_EQ(program.missing_rows(), kRows);
  EXPECT_EQ(program.push_rows(rows, kRows), Error::ok);
  EXPECT_TRUE(is_expected());
  EXPECT_EQ(program.missing_rows(), kRows);  // of the next image

  EXPECT_EQ(program.push_rows(rows, 2), Error::ok);
  EXPECT_EQ(program.push_rows(rows, 0), Error::ok);
  EXPECT_EQ(program.missing_rows(), 4U);
  EXPECT_EQ(program.push_rows(rows, 5), Error::too_many_rows);
  EXPECT_EQ(program.push_rows(rows + 2 * kRowBytes, 3), Error::ok);
  std::memcpy(program.input(0).data(), rows + 5 * kRowBytes, kRowBytes);  // also where the input is
  EXPECT_EQ(program.push_rows(program.input(0).data(), 1), Error::ok);
  EXPECT_TRUE(is_expected());

  EXPECT_EQ(program.push_rows(rows + kRowBytes, 4), Error::ok);  // an image that is never completed
  program.drop_rows();
  EXPECT_EQ(program.missing_rows(), kRows);
  EXPECT_EQ(program.push_rows(rows, kRows), Error::ok);
  EXPECT_TRUE(is_expected());

  EXPECT_EQ(whole.program().missing_rows(), 0U);
  EXPECT_EQ(whole.program().push_rows(rows, 1), Error::not_by_rows);
}

// Whether compile reports this for a network.
bool is_refused(const ir::Graph& graph, std::string_view words) {
  ir::Graph copy = graph.copy();
  try {
    compiler::compile(copy, options_for({}, true));
  } catch (const InputError& error) {
    EXPECT_NE(std::string_view(error.what()).find(words), std::string_view::npos) << error.what();
    return true;
  }
  return false;
}
ir::Value* sum(ir::Graph& graph, ir::Value* a, ir::Value* b) {
  return add_quantized(graph, "aten.add", {{"self", a}, {"other", b}, {"alpha", std::int64_t{1}}}, a->type.shape, 0.1,
                       4);
}

TEST(Rows, AreRefusedByTheNameOfWhatIsInTheWay) {
  ir::Graph two;
  ir::Value* first = conformance::int8_input(two, {1, 4, 6, 3}, 0.1, 0);
  two.add_output(sum(two, first, conformance::int8_input(two, {1, 4, 6, 3}, 0.1, 0)));
  EXPECT_TRUE(is_refused(two, "--feed=rows needs a model with one input; this one has 2"));

  ir::Graph flat;
  ir::Value* vector = conformance::int8_input(flat, {1, 12}, 0.1, 0);
  flat.add_output(sum(flat, vector, vector));
  EXPECT_TRUE(is_refused(flat, "is i8[1,12], not an image"));

  ir::Graph softmax;
  ir::Value* x = conformance::int8_input(softmax, {1, 4, 6, 3}, 0.1, 0);
  softmax.add_output(
      add_quantized(softmax, "aten.softmax", {{"self", x}, {"dim", std::int64_t{3}}}, {1, 4, 6, 3}, 1.0 / 256, -128));
  EXPECT_TRUE(is_refused(softmax, "this layer cannot take the image by rows"));
  EXPECT_TRUE(is_refused(softmax, "softmax"));
}

// A table of strips that lies about its patches does not load; whatever loads stays inside.
TEST(Rows, RefuseStripsThatLeaveTheirPatches) {
  using ops::rows::Entry;
  using ops::rows::Part;
  ir::Graph graph = expanded(6, 7, 8);
  const compiler::Options options = options_for({}, false);
  compiler::Stages stages = compiler::default_stages(options);
  for (compiler::Stage& stage : stages.for_target) {
    if (stage.name == "rows")
      stage.run = [&](ir::Graph& g, compiler::Context&) {
        passes::Rows rows(g, Isa::mve);
        std::vector<passes::Rows::Strips> chains = rows.chains();
        ASSERT_EQ(chains.size(), 1U);
        chains.front().count = 3;
        const std::vector<passes::Rows::Group> groups = {*rows.group(0, rows.units().size() - 1, chains)};
        rows.rewrite(groups);
      };
  }
  compiler::Compilation compilation(graph, options, stages);
  compilation.quantize();
  const std::vector<std::byte> file = compilation.finish().program;
  const auto loads = [&](std::size_t at, auto to) {
    std::vector<std::byte> changed = file;
    std::memcpy(changed.data() + at, &to, sizeof(to));
    try {
      HostProgram(changed, ops::host_kernels()).run({});
      return true;
    } catch (const InputError&) {
      return false;
    }
  };
  // The header of three strips, and after it cut, three calls, paste.
  constexpr std::uint16_t kHeader = 3 + 256 * 5;
  std::size_t header = 0;
  for (std::size_t at = 0; at + 6 * sizeof(Entry) <= file.size() && header == 0; at += 4) {
    Entry entry;
    Part parts[5];
    std::memcpy(&entry, file.data() + at, sizeof(entry));
    std::memcpy(parts, file.data() + at + sizeof(entry), sizeof(parts));
    if (entry.kind == Entry::Kind::strips && entry.whole == kHeader && parts[0].kind == Part::Kind::cut &&
        parts[4].kind == Part::Kind::paste) {
      header = at;
    }
  }
  ASSERT_NE(header, 0U);
  const auto part = [&](std::size_t index) { return header + (1 + index) * sizeof(Entry); };
  EXPECT_TRUE(loads(header + offsetof(Entry, whole), kHeader));
  EXPECT_TRUE(loads(header + offsetof(Entry, whole), std::uint16_t{200 + 256 * 5}));  // pastes nothing where no row is
  for (const int parts : {0, 4, 6, 255}) {
    EXPECT_FALSE(loads(header + offsetof(Entry, whole), static_cast<std::uint16_t>(3 + 256 * parts)));
  }
  for (std::size_t i = 0; i < 5; ++i) {
    SCOPED_TRACE(i);
    EXPECT_FALSE(loads(part(i) + offsetof(Part, kind), std::uint8_t{0}));
    EXPECT_FALSE(loads(part(i) + offsetof(Part, kind), std::uint8_t{0x83}));
    EXPECT_FALSE(loads(part(i) + offsetof(Part, tensor), std::uint16_t{99}));
    EXPECT_FALSE(loads(part(i) + offsetof(Part, pixel_bytes), std::uint16_t{9}));
    EXPECT_FALSE(loads(part(i) + offsetof(Part, columns), std::uint16_t{9}));
    EXPECT_FALSE(loads(part(i) + offsetof(Part, rows), std::uint16_t{9}));
    EXPECT_FALSE(loads(part(i) + offsetof(Part, step_x), std::uint16_t{0x4000}));
    EXPECT_FALSE(loads(part(i) + offsetof(Part, step_y), std::uint16_t{0x4000}));
    for (const int somewhere : {-32768, -7, 3, 32767}) {  // but never outside
      const auto to = static_cast<std::int16_t>(somewhere);
      EXPECT_TRUE(loads(part(i) + offsetof(Part, left), to));
      EXPECT_TRUE(loads(part(i) + offsetof(Part, top), to));
    }
    EXPECT_TRUE(loads(part(i) + offsetof(Part, step_x), std::uint16_t{0x3fff}));
  }
  EXPECT_FALSE(loads(part(0) + offsetof(Part, source), std::uint16_t{99}));
  EXPECT_FALSE(loads(part(0) + offsetof(Part, image_columns), std::uint16_t{8}));
  EXPECT_FALSE(loads(part(4) + offsetof(Part, image_columns), std::uint16_t{8}));
}

}  // namespace
}  // namespace cormorant
