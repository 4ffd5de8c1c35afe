// SPDX-License-Identifier: Apache-2.0
//
// Programs from another compiler (tests/executorch) run here and give its own runtime's bits; and the models that they
// came from, compiled here, give those bits too, in programs that its runtime can run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "compiler/samples.h"
#include "formats/pte/plan_io.h"
#include "formats/pte/reader.h"
#include "ops/op.h"
#include "program/files.h"
#include "program/program_io.h"
#include "runtime/host.h"
#include "target/parse.h"
#include "tests/known_state.h"
#include "tests/sequences.h"

namespace cormorant::tests {
namespace {

struct Foreign {
  const char* name;
  const char* cpu;  // that it was compiled for
  // That its own runtime takes for it, with CMSIS-NN, both by gcc (bench/peers.json); 0 if it was not measured.
  std::uint64_t instructions = 0;
};

void PrintTo(const Foreign& program, std::ostream* out) { *out << program.name; }

class Executorch : public testing::TestWithParam<Foreign> {
 protected:
  [[nodiscard]] static std::string file(const char* ending) {
    return std::string(CORMORANT_SOURCE_DIR "/tests/executorch/") + GetParam().name + ending;
  }
  static Execution run(const ExecuteOn& where) {
    return execute(read_program(file(".pte")), {{npy::read_npy(file(".in.npy"))}}, where);
  }
  static npy::Array output_of(const ExecuteOn& where) { return run(where).outputs.at(0).at(0); }
};

TEST_P(Executorch, SameBitsOnTheHost) { EXPECT_EQ(output_of({}), npy::read_npy(file(".out.npy"))); }

TEST_P(Executorch, SameBitsOnTheBoardInNoMoreInstructions) {
  ExecuteOn board;
  board.target = parse_target(GetParam().cpu);
  const Execution execution = run(board);
  EXPECT_EQ(execution.outputs.at(0).at(0), npy::read_npy(file(".out.npy")));
  if (GetParam().instructions != 0) {
    EXPECT_LE(execution.board->execute_instructions, GetParam().instructions);
  }
}

// Random bytes of the program changed: it is refused, or computes something inside its memory, as the sanitizers
// check.
TEST_P(Executorch, DamagedProgramStaysInsideItsMemory) {
  constexpr int kChanged = 200;
  std::vector<std::byte> bytes = read_program(file(".pte")).bytes;
  // Constants come last and are only numbers to the kernels.
  const std::size_t structure = std::min<std::size_t>(bytes.size(), 4096);
  const std::vector<const Kernel*> kernels = ops::host_kernels();
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < kChanged; ++i) {
    const std::size_t at = random() % structure;
    const std::byte before = std::exchange(bytes[at], static_cast<std::byte>(random()));
    try {
      HostProgram(bytes, kernels, "damaged").run({});
    } catch (const InputError&) {
      ++refused;
    }
    bytes[at] = before;
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, kChanged);
}

// Float programs add in another order than ExecuTorch's kernels; host and board have the same bits.
class ExecutorchFloat : public Executorch {};

TEST_P(ExecutorchFloat, SameNumbersOnHostAndBoard) {
  const npy::Array expected = npy::read_npy(file(".out.npy"));
  const npy::Array here = output_of({});
  ASSERT_EQ(here.shape, expected.shape);
  const std::vector<float> numbers = compiler::to_float(here.dtype, here.data);
  const std::vector<float> wanted = compiler::to_float(expected.dtype, expected.data);
  float largest = 0;
  for (const float number : wanted) largest = std::max(largest, std::abs(number));
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(numbers[i], wanted[i], 1e-5F * largest) << i;
  ExecuteOn board;
  board.target = parse_target(GetParam().cpu);
  EXPECT_EQ(output_of(board), here);
}

const Foreign kFloatPrograms[] = {
    {"float_keyword_net_portable", "cortex-m4"},
    {"float_pools_portable", "cortex-m55"},
    {"float_mlp_m55", "cortex-m0"},
    {"float_decoder_channels_last", "cortex-m55"},
    {"float_places_channels_last", "cortex-m4"},
    {"portable_numbers", "cortex-m55"},
    {"portable_places", "cortex-m0"},
    {"portable_images", "cortex-m55"},
    {"portable_convolutions", "cortex-m4"},
};
INSTANTIATE_TEST_SUITE_P(Programs, ExecutorchFloat, testing::ValuesIn(kFloatPrograms),
                         [](const auto& program) { return std::string(program.param.name); });

// Programs with mutable buffers, along a sequence: with and without initial values in the file.
class ExecutorchState : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static std::string file(const std::string& ending) {
    return CORMORANT_SOURCE_DIR "/tests/executorch/" + ending;
  }
  // The sequence twice, with a reset in between.
  static void expect_its_numbers(const ProgramFile& program, ExecuteOn where) {
    const npy::Array steps = npy::read_npy(file("buffers.in.npy"));
    std::vector<Arrays> inputs;
    for (int k = 0; k < 2; ++k) {
      for (npy::Array& step : steps_of(steps, program.inputs.at(0), "x")) inputs.push_back({std::move(step)});
    }
    where.steps = inputs.size() / 2;
    const Execution execution = execute(program, inputs, where);
    const std::vector<Arrays>& outputs = execution.outputs;
    if (execution.board) expect_known_state(program, where, execution);
    for (std::size_t sequence = 0; sequence < 2; ++sequence) {
      std::vector<npy::Array> results;
      for (std::size_t k = 0; k < where.steps; ++k) results.push_back(outputs.at(sequence * where.steps + k).at(0));
      EXPECT_EQ(sequence_of(results), npy::read_npy(file(std::string(GetParam()) + ".out.npy"))) << sequence;
    }
  }
};

TEST_P(ExecutorchState, SameNumbersOnHostAndBoard) {
  const ProgramFile program = read_program(file(std::string(GetParam()) + ".pte"));
  EXPECT_TRUE(program.has_state);
  expect_its_numbers(program, {});
  ExecuteOn board;
  board.target = parse_target("cortex-m4");
  expect_its_numbers(program, board);
}

// Compiled again out of the program alone, its buffers are state like any other: saved, restored, updated in place.
TEST_P(ExecutorchState, TakenUpGivesTheSameNumbers) {
  const std::string path = file(std::string(GetParam()) + ".pte");
  ir::Graph graph = compiler::import_model(path);
  EXPECT_EQ(graph.states().size(), 3U);
  EXPECT_EQ(graph.updates().size(), 3U);
  compiler::Options options;
  options.config.target = parse_target("cortex-m4");
  const compiler::Compiled compiled = compiler::compile(graph, options);
  EXPECT_EQ(compiled.facts.buffer_bytes, 8 + 16 + 48);
  EXPECT_EQ(compiled.facts.operators.count("cormorant::update_shift.dsp"), 1U);
  const ProgramFile program = program_from(compiled.program, "again.pte");
  EXPECT_TRUE(program.has_state);
  expect_its_numbers(program, {});
  ExecuteOn board;
  board.target = options.config.target;
  expect_its_numbers(program, board);
}

// So are our own programs' states.
TEST(OurState, TakenUpGivesTheSameBits) {
  ir::Graph graph = compiler::import_model(CORMORANT_SOURCE_DIR "/zoo/state/delays.pt2");
  compiler::Options options;
  options.config.target = parse_target("cortex-m4");
  const ProgramFile program = program_from(compiler::compile(graph, options).program, "first.pte");
  ir::Graph again = compiler::import_pte(program.bytes, "first.pte");
  EXPECT_EQ(again.updates().size(), graph.updates().size());
  options.config.target = parse_target("cortex-m55");
  const ProgramFile second = program_from(compiler::compile(again, options).program, "second.pte");
  const Expected data = expected_of(program, CORMORANT_SOURCE_DIR "/zoo/state/delays_expected.npz");
  ExecuteOn where;
  where.steps = data.steps;
  EXPECT_EQ(execute(second, data.inputs, where).outputs, execute(program, data.inputs, where).outputs);
}

INSTANTIATE_TEST_SUITE_P(Programs, ExecutorchState, testing::Values("buffers", "buffers_initialized"),
                         [](const auto& program) { return std::string(program.param); });

TEST(PlannedBorder, ChangesOnlyProgramsThatLeaveMemoryToTheCaller) {
  const auto file = [](const char* name) {
    return read_file(CORMORANT_SOURCE_DIR "/tests/executorch/" + std::string(name));
  };
  EXPECT_EQ(pte::with_planned_io(file("ds_cnn.pte")), file("ds_cnn.pte"));
  EXPECT_EQ(pte::with_planned_io(file("README.md")), file("README.md"));
  const std::vector<std::byte> foreign = file("keyword_net_caller_m4.pte");
  const std::vector<std::byte> planned = pte::with_planned_io(foreign);
  EXPECT_NE(planned, foreign);
  EXPECT_EQ(pte::with_planned_io(planned), planned);
}

TEST(PlannedBorder, DamagedProgramsAreReadAsFarAsTheyAreSound) {
  const std::vector<std::byte> foreign = read_file(CORMORANT_SOURCE_DIR "/tests/executorch/keyword_net_caller_m4.pte");
  for (std::size_t size = 0; size < foreign.size(); size += 97) {
    const std::vector<std::byte> cut(foreign.begin(), foreign.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(program_from(cut, "cut"), InputError) << size;
  }
}

// ds_cnn's input [1, 1, 49, 10] is written with the order (0, 2, 1, 3): the same bytes as channels-last. In "caller"
// the memory of inputs and outputs is left to the caller, in "nhwc" layout is written out.
const Foreign kPrograms[] = {
    {"ds_cnn", "cortex-m55", 1'803'828},
    {"mobilenet_v1_025", "cortex-m55", 6'548'612},
    {"resnet8", "cortex-m55", 4'815'912},
    {"deep_autoencoder", "cortex-m55", 155'449},
    {"keyword_net_m4", "cortex-m4"},
    {"keyword_net_m0", "cortex-m0"},
    {"keyword_net_caller_m4", "cortex-m4"},
    {"keyword_net_nhwc_m55", "cortex-m55"},
    {"pools_nhwc_m4", "cortex-m4"},
    {"pools_nhwc_m0", "cortex-m0"},
    {"upsampler_nhwc_m55", "cortex-m55"},
    {"upsampler_nhwc_m0", "cortex-m0"},
    {"tcn_m0", "cortex-m0"},
    {"batch_norm_m55", "cortex-m55"},
    {"squeeze_excite_m55", "cortex-m55"},
    {"squeeze_excite_m4", "cortex-m4"},
    {"squeeze_excite_m0", "cortex-m0"},
    {"ratio_m55", "cortex-m55"},
    {"ratio_m0", "cortex-m0"},
};
INSTANTIATE_TEST_SUITE_P(Programs, Executorch, testing::ValuesIn(kPrograms),
                         [](const auto& program) { return std::string(program.param.name); });

// Compiled again, out of the program alone, for CPUs that it was not made for.
class TakenUpAgain : public Executorch {};

TEST_P(TakenUpAgain, GivesTheSameBits) {
  for (const char* const cpu : {"cortex-m55", "cortex-m4", "cortex-m0"}) {
    ir::Graph graph = compiler::import_pte(read_program(file(".pte")).bytes, file(".pte"));
    compiler::Options options;
    options.config.target = parse_target(cpu);
    const compiler::Compiled compiled = compiler::compile(graph, options);
    const bool is_packed = std::ranges::any_of(compiled.facts.operators,
                                               [](const auto& op) { return op.first.starts_with("cormorant::"); });
    EXPECT_TRUE(is_packed) << cpu;
    const ProgramFile program = program_from(compiled.program, "again.pte");
    ExecuteOn where;
    if (std::string_view(cpu) == GetParam().cpu) where.target = options.config.target;
    const auto outputs = execute(program, {{npy::read_npy(file(".in.npy"))}}, where).outputs;
    EXPECT_EQ(outputs.at(0).at(0), npy::read_npy(file(".out.npy"))) << cpu;
  }
}

const Foreign kTakenUp[] = {
    {"ds_cnn", "cortex-m55"},          {"mobilenet_v1_025", "host"},    {"resnet8", "host"},
    {"deep_autoencoder", "host"},      {"keyword_net_m4", "cortex-m4"}, {"keyword_net_caller_m4", "host"},
    {"squeeze_excite_m0", "cortex-m0"}};
INSTANTIATE_TEST_SUITE_P(Programs, TakenUpAgain, testing::ValuesIn(kTakenUp),
                         [](const auto& program) { return std::string(program.param.name); });

// NAME.pt2, quantized by ExecuTorch's quantizer, for every CPU that NAME_CPU.pte was compiled for.
class ExecutorchModel : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  [[nodiscard]] static std::string base() {
    return std::string(CORMORANT_SOURCE_DIR "/tests/executorch/") + std::get<0>(GetParam());
  }
  [[nodiscard]] static std::string beside(const char* ending) {
    return base() + "_" + std::get<1>(GetParam()) + ending;
  }
  [[nodiscard]] static Target cpu() { return parse_target(std::string("cortex-") + std::get<1>(GetParam())); }

  static ProgramFile compiled(ops::Runtime runtime) {
    ir::Graph graph = compiler::import_model(base() + ".pt2");
    compiler::Options options;
    options.config = {.target = cpu(), .runtime = runtime};
    return program_from(compiler::compile(graph, options).program, "compiled.pte");
  }
};

TEST_P(ExecutorchModel, GivesItsBitsInProgramsForBothRuntimes) {
  const std::vector<Arrays> inputs = {{npy::read_npy(beside(".in.npy"))}};
  const npy::Array expected = npy::read_npy(beside(".out.npy"));
  ExecuteOn board;
  board.target = cpu();
  for (const ops::Runtime runtime : {ops::Runtime::cormorant, ops::Runtime::executorch}) {
    const ProgramFile program = compiled(runtime);
    EXPECT_EQ(execute(program, inputs, {}).outputs.at(0).at(0), expected);
    const Execution there = execute(program, inputs, board);
    EXPECT_EQ(there.outputs.at(0).at(0), expected);
    expect_known_state(program, board, there);
  }
}

// Operator by operator, in the program's order: its name, and the bytes of its scratch where its kernel takes some.
using Scratch = std::vector<std::pair<std::string, std::uint32_t>>;
Scratch scratch_of(const std::vector<std::byte>& bytes) {
  const auto program = pte::ProgramView::open(bytes);
  const pte::MethodView method = program.value().method(0).value();
  Scratch all;
  for (std::uint32_t i = 0; i < method.instruction_count(); ++i) {
    const pte::InstructionView instruction = method.instruction(i).value();
    const pte::OperatorView op = method.operator_at(instruction.op).value();
    const std::string name = std::string(op.name) + "." + std::string(op.overload);
    EXPECT_TRUE(name.starts_with("cortex_m::") || name.starts_with("aten::")) << name;
    const ops::Signature* signature = ops::find_signature(ops::graph_name(name));
    if (signature == nullptr) continue;
    for (std::size_t k = 0; k < signature->parameters.size(); ++k) {
      if (signature->parameters[k].type != "scratch") continue;
      all.emplace_back(name, method.tensor(instruction.args[k]).value().bytes);
    }
  }
  return all;
}

// An image of even size halved twice, with one zero after it: by a convolution and channel by channel. Then a layer
// that looks back only.
constexpr const char* kUnevenlyPadded = R"(graph forward
input %x : f32[1,2,8,8]
const %w : f32[4,2,3,3] = data 0 288
const %v : f32[4,1,3,3] = data 288 144
const %u : f32[3,4,3,1] = data 432 144
node "pad" "" ""
  %a : f32[1,2,9,9] = aten.pad(self=%x, pad=[0, 1, 0, 1], value=0.0)
node "conv" "" ""
  %b : f32[1,4,4,4] = aten.conv2d(input=%a, weight=%w, bias=none, stride=[2, 2], padding=[0, 0], dilation=[1, 1], groups=1)
node "pad_1" "" ""
  %c : f32[1,4,5,5] = aten.pad(self=%b, pad=[0, 1, 0, 1], value=0.0)
node "depthwise" "" ""
  %d : f32[1,4,2,2] = aten.conv2d(input=%c, weight=%v, bias=none, stride=[2, 2], padding=[0, 0], dilation=[1, 1], groups=4)
node "pad_2" "" ""
  %e : f32[1,4,4,2] = aten.pad(self=%d, pad=[0, 0, 2, 0], value=0.0)
node "back" "" ""
  %f : f32[1,3,2,2] = aten.conv2d(input=%e, weight=%u, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
output %f
)";

// The list of integers that instructions of that name have as that argument.
std::vector<std::vector<std::int32_t>> lists_of(const std::vector<std::byte>& bytes, std::string_view name,
                                                std::size_t argument) {
  const auto program = pte::ProgramView::open(bytes);
  const pte::MethodView method = program.value().method(0).value();
  std::vector<std::vector<std::int32_t>> all;
  for (std::uint32_t i = 0; i < method.instruction_count(); ++i) {
    const pte::InstructionView instruction = method.instruction(i).value();
    if (method.operator_at(instruction.op).value().name != name) continue;
    std::vector<std::int32_t> list(8);
    list.resize(method.integers(instruction.args[argument], list).value());
    all.push_back(list);
  }
  return all;
}

// Its main branch after 1.5.1: convolutions with four paddings need no pad before them, and give the same bits.
TEST(ExecutorchMain, ConvolutionsPadFourSides) {
  std::vector<float> weights;
  for (int i = 0; i < 144; ++i) weights.push_back(static_cast<float>(i * 37 % 29 - 14) / 20);
  npy::Array x{DType::f32, {1, 2, 8, 8}, std::vector<std::byte>(512)};
  auto* values = reinterpret_cast<float*>(x.data.data());
  for (int i = 0; i < 128; ++i) values[i] = static_cast<float>(i * 53 % 97) / 50 - 0.9F;
  std::string text = kUnevenlyPadded;
  const auto compiled = [&](const char* cpu, ops::Runtime runtime, bool uneven) {
    ir::Graph graph = compiler::import_text(text, "padded.txt", ir::Bytes::of(std::span<const float>(weights)));
    compiler::Options options;
    options.config = {.target = parse_target(cpu), .runtime = runtime};
    options.uneven_padding = uneven;
    options.quantize = true;
    return compiler::compile(graph, options).program;
  };
  using Lists = std::vector<std::vector<std::int32_t>>;
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m0"}) {
    SCOPED_TRACE(cpu);
    const std::vector<std::byte> release = compiled(cpu, ops::Runtime::executorch, false);
    const std::vector<std::byte> main = compiled(cpu, ops::Runtime::executorch, true);
    EXPECT_EQ(lists_of(release, "cortex_m::quantized_conv2d", 4), (Lists{{0, 0}, {0, 0}}));
    EXPECT_EQ(lists_of(release, "cortex_m::pad", 1).size(), 3U);
    EXPECT_EQ(lists_of(main, "cortex_m::quantized_conv2d", 4), (Lists{{0, 0, 1, 1}, {0, 0}}));
    EXPECT_EQ(lists_of(main, "cortex_m::quantized_depthwise_conv2d", 4), (Lists{{0, 0, 1, 1}}));
    EXPECT_EQ(lists_of(main, "cortex_m::pad", 1).size(), 1U);

    const npy::Array expected =
        execute(program_from(compiled(cpu, ops::Runtime::cormorant, false), "ours.pte"), {{x}}, {}).outputs.at(0).at(0);
    ExecuteOn board;
    board.target = parse_target(cpu);
    for (const std::vector<std::byte>& bytes : {release, main}) {
      const ProgramFile program = program_from(bytes, "theirs.pte");
      EXPECT_EQ(execute(program, {{x}}, {}).outputs.at(0).at(0), expected);
      EXPECT_EQ(execute(program, {{x}}, board).outputs.at(0).at(0), expected);
    }
  }

  // Taken up again: of one channel, since a transpose's result that is read in another layout cannot be.
  text = R"(graph forward
input %x : f32[1,1,8,8]
const %w : f32[1,1,3,3] = [0.5, -0.25, 0.125, 0.75, -0.5, 0.25, 1.0, -1.0, 0.5]
node "pad" "" ""
  %p : f32[1,1,9,9] = aten.pad(self=%x, pad=[0, 1, 0, 1], value=0.0)
node "conv" "" ""
  %c : f32[1,1,4,4] = aten.conv2d(input=%p, weight=%w, bias=none, stride=[2, 2], padding=[0, 0], dilation=[1, 1], groups=1)
output %c
)";
  x.shape[1] = 1;
  x.data.resize(256);
  const std::vector<std::byte> main = compiled("cortex-m4", ops::Runtime::executorch, true);
  EXPECT_EQ(lists_of(main, "cortex_m::quantized_conv2d", 4), (Lists{{0, 0, 1, 1}}));
  ir::Graph again = compiler::import_pte(main, "main.pte");
  compiler::Options options;
  options.config.target = parse_target("cortex-m55");
  const ProgramFile recompiled = program_from(compiler::compile(again, options).program, "again.pte");
  EXPECT_EQ(execute(recompiled, {{x}}, {}).outputs, execute(program_from(main, "main.pte"), {{x}}, {}).outputs);
}

class ExecutorchScratch : public ExecutorchModel {};

// ExecuTorch's checked kernels require scratch of exactly the size that CMSIS-NN needs on that CPU. A convolution of
// one channel is a depthwise one to ExecuTorch's compiler and an ordinary one here: another kernel, other scratch.
TEST_P(ExecutorchScratch, IsWhatItsCompilerPlans) {
  const Scratch theirs = scratch_of(read_file(beside(".pte")));
  const Scratch ours = scratch_of(compiled(ops::Runtime::executorch).bytes);
  ASSERT_EQ(ours.size(), theirs.size());
  std::size_t same_operators = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].first != theirs[i].first) continue;
    EXPECT_EQ(ours[i].second, theirs[i].second) << i << " " << ours[i].first;
    ++same_operators;
  }
  EXPECT_GE(same_operators, 3U);
}

std::string name_of_model(const testing::TestParamInfo<std::tuple<const char*, const char*>>& one) {
  return std::string(std::get<0>(one.param)) + "_" + std::get<1>(one.param);
}
const auto kModels =
    testing::Combine(testing::Values("keyword_net", "squeeze_excite"), testing::Values("m55", "m4", "m0"));
INSTANTIATE_TEST_SUITE_P(Models, ExecutorchModel, kModels, name_of_model);
INSTANTIATE_TEST_SUITE_P(Models, ExecutorchScratch, kModels, name_of_model);
INSTANTIATE_TEST_SUITE_P(Words, ExecutorchModel,
                         testing::Combine(testing::Values("ratio"), testing::Values("m55", "m0")), name_of_model);

}  // namespace
}  // namespace cormorant::tests
