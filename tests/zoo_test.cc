// SPDX-License-Identifier: Apache-2.0
//
// The guarantee that everything else rests on: a model of the zoo, compiled for any target, computes on the emulated
// board exactly the bits that the reference kernels compute on the host, and the same bits in every instruction set.
// The firmware that does so holds no heap, no exceptions and no global constructors, and no code that its CPU lacks,
// keeps within 1,200 bytes of state, and its stack within its bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "elf/elf.h"
#include "fmt/format.h"
#include "formats/npy/data_set.h"
#include "program/program_io.h"
#include "runner/process.h"
#include "target/target.h"
#include "tests/all_cores.h"
#include "tests/check.h"
#include "tests/command.h"
#include "tests/known_state.h"
#include "tests/stack.h"

namespace cormorant::tests {
namespace {

constexpr std::size_t kSamples = 8;     // on one core of each instruction set
constexpr std::size_t kFewSamples = 2;  // on all others, whose kernels are the same except for the compiler's schedule

struct Place {
  Target target;
  Compiler compiler = Compiler::gcc;

  [[nodiscard]] std::string text() const {
    return fmt::format("{} {} {}", target.name(), name_of(target.isa), name_of(compiler));
  }
};

Place place_of(std::string_view cpu, std::optional<Isa> isa = {}, Compiler compiler = Compiler::gcc) {
  const auto* const found = std::ranges::find(kCpus, cpu, &Cpu::name);
  return {{found, isa.value_or(found->isa)}, compiler};
}

// Every CPU that is tested (tests/all_cores.h), and the other compiler where its code differs most; in `./dev check`
// those that can do without DSP or MVE also without.
std::vector<Place> every_place() {
  std::vector<Place> places;
  for (const Cpu& cpu : kCpus) {
    if (is_tested(cpu)) places.push_back({{&cpu, cpu.isa}});
    if (is_tested(cpu) && cpu.name == "cortex-m33") places.push_back({{&cpu, Isa::scalar}});
  }
  places.push_back(place_of("cortex-m55", {}, Compiler::clang));
  if (is_check()) {
    places.push_back(place_of("cortex-m55", Isa::dsp));
    places.push_back(place_of("cortex-m55", Isa::scalar));
    places.push_back(place_of("cortex-m0", {}, Compiler::clang));
  }
  return places;
}

// One of each instruction set.
std::vector<Place> three_places() { return {place_of("cortex-m0"), place_of("cortex-m4"), place_of("cortex-m55")}; }

bool is_among(const Place& place, const std::vector<Place>& places) {
  return std::ranges::any_of(places, [&](const Place& one) { return one.text() == place.text(); });
}

void expect_clean_firmware(const std::filesystem::path& path, const Cpu& cpu, bool is_int8) {
  const Elf elf = read_elf(path);
  EXPECT_EQ(forbidden_in(elf), std::vector<std::string>{});
  EXPECT_TRUE(is_code_for(elf, cpu));
  if (is_int8) {
    EXPECT_EQ(library_arithmetic_in(elf), std::vector<std::string>{});
  }
  if (cpu.archive == "m0") {
    EXPECT_TRUE(elf.architecture == CpuArchitecture::v6m || elf.architecture == CpuArchitecture::v6sm);
  }
}

class EveryModel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    inputs_ = npy::read_data_set(zoo(GetParam() + "_expected.npz"));
    ASSERT_EQ(inputs_.samples, static_cast<std::int64_t>(kSamples));
    calibration_ = few_samples(directory_.path(), GetParam());  // bits do not depend on good ranges
  }

  // Calibrates once; all targets continue from the quantized graph, which is the same for all (except `any`).
  void quantize(const std::string& target, const std::string& io) {
    const Ran ran = cormorant(
        directory_.path(), {"compile", zoo(GetParam() + ".pt2"), "--calibrate", calibration_, "--target", target,
                            "--io", io, "--intermediates", "stages", "--strict", "--no-link", "-o", "quantized.pte"});
    ASSERT_EQ(ran.status, 0) << ran.command << "\n" << ran.err;
  }

  // The stage's number depends on the pipeline.
  [[nodiscard]] std::string quantized_text() const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path() / "stages")) {
      if (entry.path().filename().string().ends_with("-quantize.txt")) return entry.path();
    }
    return {};
  }

  // With assertions, so it cannot return the program.
  void compile(const Target& target, ProgramFile& program) {
    const std::string isa(target.is_any() ? "any" : name_of(target.isa));
    Arguments arguments = {"compile",  quantized_text(), "--target", std::string(target.name()),
                           "--output", "model.pte",      "--no-link"};
    if (!target.is_any()) arguments.push_back("--isa=" + isa);
    const Ran ran = cormorant(directory_.path(), arguments);
    ASSERT_EQ(ran.status, 0) << ran.command << "\n" << ran.err;
    ASSERT_TRUE(has(ran.out, fmt::format("compiled for {}, ISA {}\n", target.name(), isa)));
    program = read_program(directory_.path() / "model.pte");
  }

  [[nodiscard]] std::vector<Arrays> run_on_host(const ProgramFile& program, std::size_t samples) const {
    std::vector<Arrays> inputs = sample_arrays(program, inputs_);
    inputs.resize(samples);
    return execute(program, inputs, {}).outputs;
  }

  // In one boot.
  [[nodiscard]] std::vector<Arrays> run_on_board(const ProgramFile& program, const Place& place, std::size_t samples,
                                                 bool is_packed = true) const {
    ExecuteOn board;
    board.target = place.target;
    board.compiler = place.compiler;
    board.keep_elf = directory_.path() / "firmware.elf";
    board.time_limit = std::chrono::minutes(4);  // a second or two on an idle machine
    board.account = true;
    std::vector<Arrays> inputs = sample_arrays(program, inputs_);
    inputs.resize(samples);
    Execution execution = execute(program, inputs, board);
    const bool is_int8 = std::ranges::all_of(program.inputs, [](const auto& in) { return in.dtype == DType::i8; });
    expect_clean_firmware(board.keep_elf, *place.target.cpu, is_int8 && is_packed);
    expect_bounded_stack(*execution.board, place.text());
    expect_known_state(program, board, execution);
    // Where there is memory, weights that are not packed are packed while they are used, some at a time.
    constexpr std::uint32_t kShared = 16 * 1024;
    EXPECT_LE(execution.board->state_bytes, is_packed ? 1200U : 2600U + kShared);
    return std::move(execution.outputs);
  }

 private:
  TemporaryDirectory directory_;
  npy::DataSet inputs_;
  std::string calibration_;
};

// As many samples as the shorter one has.
void expect_same(const std::vector<Arrays>& outputs, const std::vector<Arrays>& expected) {
  ASSERT_FALSE(outputs.empty() || expected.empty());
  for (std::size_t s = 0; s < std::min(outputs.size(), expected.size()); ++s) {
    EXPECT_TRUE(outputs[s] == expected[s]) << "sample " << s;
  }
}

// Outputs that do not depend on the inputs would prove little.
void expect_various(const std::vector<Arrays>& outputs) {
  EXPECT_TRUE(std::ranges::any_of(outputs, [&](const Arrays& arrays) { return arrays != outputs[0]; }));
}

// All that have recorded inputs.
std::vector<std::string> models() {
  constexpr std::string_view kEnding = "_expected.npz";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(zoo(""))) {
    const std::string file = entry.path().filename();
    if (file.ends_with(kEnding)) names.push_back(file.substr(0, file.size() - kEnding.size()));
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryModel, testing::ValuesIn(models()), [](const auto& model) { return model.param; });

TEST_P(EveryModel, ComputesTheReferencesBitsOnEveryBoardInEveryInstructionSet) {
  ASSERT_NO_FATAL_FAILURE(quantize("cortex-m55", "int8"));
  std::vector<Arrays> reference;
  for (const Place& place : every_place()) {
    SCOPED_TRACE(place.text());
    ProgramFile program;
    ASSERT_NO_FATAL_FAILURE(compile(place.target, program));
    EXPECT_EQ(program.inputs.at(0).dtype, DType::i8);
    EXPECT_EQ(program.outputs.at(0).dtype, DType::i8);
    if (reference.empty()) {
      reference = run_on_host(program, kSamples);
      expect_various(reference);
    }
    expect_same(run_on_board(program, place, is_among(place, three_places()) ? kSamples : kFewSamples), reference);
  }
}

// The host executes what was prepacked for each instruction set, too.
TEST_P(EveryModel, ComputesTheSameBitsOnTheHostWhateverItWasCompiledFor) {
  ASSERT_NO_FATAL_FAILURE(quantize("cortex-m55", "int8"));
  std::vector<Arrays> first;
  for (const Place& place : three_places()) {
    SCOPED_TRACE(place.text());
    ProgramFile program;
    ASSERT_NO_FATAL_FAILURE(compile(place.target, program));
    const std::vector<Arrays> outputs = run_on_host(program, 1);
    if (first.empty()) first = outputs;
    expect_same(outputs, first);
  }
}

TEST_P(EveryModel, TakesAndGivesFloatsWithTheSameBitsInEveryInstructionSet) {
  ASSERT_NO_FATAL_FAILURE(quantize("cortex-m55", "float"));
  std::vector<Arrays> reference;
  std::vector<Arrays> first;
  for (const Place& place : three_places()) {
    SCOPED_TRACE(place.text());
    ProgramFile program;
    ASSERT_NO_FATAL_FAILURE(compile(place.target, program));
    EXPECT_EQ(program.inputs.at(0).dtype, DType::f32);
    EXPECT_EQ(program.outputs.at(0).dtype, DType::f32);
    if (reference.empty()) reference = run_on_host(program, kFewSamples);
    const std::vector<Arrays> outputs = run_on_board(program, place, kFewSamples);
    expect_same(outputs, reference);
    if (first.empty()) first = outputs;
    expect_same(outputs, first);
  }
}

TEST_P(EveryModel, CompiledForAnyTargetIsOneProgramForAllBoards) {
  ASSERT_NO_FATAL_FAILURE(quantize("any", "int8"));
  ProgramFile program;
  ASSERT_NO_FATAL_FAILURE(compile({nullptr, Isa::scalar}, program));
  const std::vector<Arrays> reference = run_on_host(program, kFewSamples);
  std::vector<Arrays> first;
  for (const Place& place : three_places()) {
    SCOPED_TRACE(place.text());
    // What other programs have in their packed constants, this one computes at load and keeps.
    const std::vector<Arrays> outputs = run_on_board(program, place, kFewSamples, false);
    expect_same(outputs, reference);
    if (first.empty()) first = outputs;
    expect_same(outputs, first);
  }
}

}  // namespace
}  // namespace cormorant::tests
