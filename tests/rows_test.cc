// SPDX-License-Identifier: Apache-2.0
//
// Networks computed row by row have the bits that they have layer by layer, whatever is grouped: on the host and on
// boards.
#include "passes/rows.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <random>

#include "base/diagnostic.h"
#include "cli/program_io.h"
#include "compiler/compile.h"
#include "ops/rows/rows.h"
#include "runtime/host.h"
#include "target/parse.h"
#include "tests/conformance/conformance.h"
#include "tests/fuzz/guard.h"

namespace cormorant {
namespace {

using conformance::add_quantized;
using Dims = std::vector<std::int64_t>;

// A chain of layers with residual connections, at random.
class Network {
 public:
  explicit Network(unsigned seed) : random_(seed) {
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
    value_ = add_quantized(graph, "aten.conv2d",
                           {{"input", value_},
                            {"weight", weight},
                            {"bias", bias},
                            {"stride", Dims{stride, stride}},
                            {"padding", Dims{padding, padding}},
                            {"dilation", Dims{dilation, dilation}},
                            {"groups", depthwise ? outputs : std::int64_t{1}}},
                           {1, outputs, size(shape()[2]), size(shape()[3])}, 0.07, one_of({-128, -20, 5}));
  }
  void pool() {
    const std::int64_t kernel = one_of({2, 3}), stride = one_of({1, 2}), padding = one_of({0, 1});
    const auto size = [&](std::int64_t in) { return (in + 2 * padding - kernel) / stride + 1; };
    if (shape()[2] + 2 * padding < kernel || shape()[3] + 2 * padding < kernel) return;
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
  ir::Value* value_;
};

// How a graph is cut into groups: as few as can be, or anywhere; or as the compiler does it for an image that arrives
// by rows.
enum class Cuts : std::uint8_t { none, few, random, fed };

std::size_t regroup(ir::Graph& graph, Isa isa, Cuts cuts, std::mt19937& random) {
  passes::Rows rows(graph, isa);
  std::vector<passes::Rows::Group> groups;
  for (std::size_t at = 0; at < rows.units().size();) {
    std::optional<passes::Rows::Group> best;
    for (std::size_t last = at; last < rows.units().size(); ++last) {
      if (auto group = rows.group(at, last)) best = std::move(group);
      if (cuts == Cuts::random && random() % 4 == 0) break;
    }
    at = best ? best->last + 1 : at + 1;
    if (best) groups.push_back(std::move(*best));
  }
  rows.rewrite(groups);
  return groups.size();
}

// With what the compiler does for --feed=rows.
compiler::Options options_for(const Target& target, bool feed) {
  compiler::Options options;
  options.config.target = target;
  options.io = compiler::Io::int8;
  if (feed) options.rows = compiler::RowsOptions{.bytes = {}, .feed = true};
  return options;
}

struct Result {
  std::size_t groups = 0;
  compiler::Facts facts;
  std::vector<std::byte> program;
  std::vector<Arrays> outputs;
};

Result compile_and_run(unsigned seed, Cuts cuts, const Target& target = {}, const ExecuteOn& where = {}) {
  Network network(seed);
  const compiler::Options options = options_for(target, cuts == Cuts::fed);
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
  result.outputs = execute(program, samples, where).outputs;
  return result;
}

TEST(Rows, LeaveEveryBitAsItWas) {
  std::size_t groups = 0;
  for (unsigned seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE(seed);
    const Result whole = compile_and_run(seed, Cuts::none);
    EXPECT_EQ(whole.groups, 0U);
    for (const Cuts cuts : {Cuts::few, Cuts::random, Cuts::fed}) {
      const Result by_rows = compile_and_run(seed, cuts);
      groups += by_rows.groups;
      EXPECT_TRUE(whole.outputs == by_rows.outputs);
      EXPECT_EQ(by_rows.facts.operators.contains("cormorant::rows_fed.mve"), cuts == Cuts::fed);
    }
  }
  EXPECT_GT(groups, 32U);
}

// Boards have kernels of their own for rows.
TEST(Rows, HaveTheSameBitsOnBoards) {
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m0"}) {
    const Target target = parse_target(cpu);
    ExecuteOn board;
    board.target = target;
    for (unsigned seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(std::string(cpu) + " " + std::to_string(seed));
      const Result whole = compile_and_run(seed, Cuts::none, target);
      for (const Cuts cuts : {Cuts::few, Cuts::fed}) {
        EXPECT_TRUE(whole.outputs == compile_and_run(seed, cuts, target, board).outputs);
      }
    }
  }
}

// A profile tells the cost of every layer, also of those that are computed by rows, and no instruction twice.
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
    for (unsigned seed = 1; seed <= 8; ++seed) {
      SCOPED_TRACE(std::string(cpu) + " " + std::to_string(seed));
      const Result by_rows = compile_and_run(seed, Cuts::few, parse_target(cpu));
      has_rows_on_mve = has_rows_on_mve || by_rows.facts.operators.contains("cormorant::conv2d.mve_row");
      const fuzz::Guarded guarded = fuzz::run_guarded(board, by_rows.program);
      EXPECT_TRUE(guarded.fits);
      EXPECT_EQ(guarded.failure, "");
    }
    const fuzz::Guarded fed = fuzz::run_guarded(board, compile_and_run(3, Cuts::fed, parse_target(cpu)).program);
    EXPECT_TRUE(fed.fits);
    EXPECT_EQ(fed.failure, "");
  }
  EXPECT_TRUE(has_rows_on_mve);
}

// Where the table of the program's first group stands in the file.
std::size_t find_table(const std::vector<std::byte>& file, const ops::rows::Entry& first) {
  const auto bytes = std::as_bytes(std::span(&first, 1));
  const auto found = std::search(file.begin(), file.end(), bytes.begin(), bytes.end());
  return static_cast<std::size_t>(found - file.begin());
}

// Six rows of 12 bytes, and a convolution behind them.
struct Small {
  std::vector<std::byte> file;
  std::size_t table = 0;

  explicit Small(bool feed = false) {
    ir::Graph graph;
    std::mt19937 random(1);
    ir::Value* x = conformance::int8_input(graph, {1, 4, 6, 3}, 0.1, 0);
    ir::Value* weight = conformance::int8_weights(graph, {4, 4, 3, 3}, 0, random);
    graph.add_output(add_quantized(graph, "aten.conv2d",
                                   {{"input", x},
                                    {"weight", weight},
                                    {"bias", conformance::int32_bias(graph, x, weight, random)},
                                    {"stride", Dims{1, 1}},
                                    {"padding", Dims{1, 1}},
                                    {"dilation", Dims{1, 1}},
                                    {"groups", std::int64_t{1}}},
                                   {1, 4, 6, 3}, 0.2, 1));
    const compiler::Options options = options_for({}, feed);
    compiler::Stages stages = compiler::default_stages(options);
    for (compiler::Stage& stage : stages.for_target) {
      if (stage.name != "rows" || feed) continue;
      stage.run = [&](ir::Graph& g, compiler::Context&) { regroup(g, Isa::mve, Cuts::few, random); };
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
                         .slab_bytes = 36};
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
  EXPECT_FALSE(small.loads_with(offsetof(Entry, slab_bytes), std::uint32_t{48}));
  EXPECT_FALSE(small.loads_with(offsetof(Entry, slab_bytes), std::uint32_t{0}));
  EXPECT_TRUE(small.loads_with(offsetof(Entry, fill), std::uint8_t{7}));
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
  // Sound rows of something else than the input: more bytes than whoever pushes them has.
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
  for (const bool feed : {false, true}) {
    const Small small(feed);
    for (std::size_t at = 0; at < 3 * sizeof(ops::rows::Entry); ++at) {
      for (const int value : {0, 1, 2, 3, 127, 128, 255}) {
        Small other = small;
        other.file[other.table + at] = static_cast<std::byte>(value);
        (void)other.loads();  // sanitizers look on
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
  std::memcpy(program.input(0).data(), rows + 5 * kRowBytes, kRowBytes);  // also where the input lies
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

// Whether compile says this of a network.
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
  EXPECT_TRUE(is_refused(two, "--feed=rows is for a model with one input, this one has 2"));

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

}  // namespace
}  // namespace cormorant
