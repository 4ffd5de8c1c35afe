// SPDX-License-Identifier: Apache-2.0
//
// The promise that everything else rests on: a model of the zoo, compiled for any target, computes on the emulated
// board exactly the bits that the reference kernels compute on the host, and the same bits in every instruction set.
// The firmware that does so holds no heap, no exceptions and no global constructors, and no code that its CPU lacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "cli/bundle_io.h"
#include "cli/program_io.h"
#include "fmt/format.h"
#include "formats/npy/data_set.h"
#include "formats/npy/npy.h"
#include "runner/elf.h"
#include "runner/process.h"
#include "target/target.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

constexpr std::size_t kSamples = 8;

Target target_named(std::string_view cpu, std::optional<Isa> isa = {}) {
  const auto* const found = std::ranges::find(kCpus, cpu, &Cpu::name);
  return {found, isa.value_or(found->isa)};
}

struct Place {
  Target target;
  Compiler compiler = Compiler::gcc;

  [[nodiscard]] std::string text() const {
    return fmt::format("{} {} {}", target.name(), name_of(target.isa), name_of(compiler));
  }
};

// Every CPU as it is, those that can do without DSP or MVE also so, and the other compiler where its code differs most.
std::vector<Place> every_place() {
  std::vector<Place> places;
  for (const Cpu& cpu : kCpus) places.push_back({{&cpu, cpu.isa}});
  places.push_back({target_named("cortex-m33", Isa::scalar)});
  places.push_back({target_named("cortex-m55", Isa::dsp)});
  places.push_back({target_named("cortex-m55", Isa::scalar)});
  places.push_back({target_named("cortex-m0"), Compiler::clang});
  places.push_back({target_named("cortex-m55"), Compiler::clang});
  return places;
}

// What the reference kernels made of the inputs comes out of the compiler with the program, as a bundle.
struct Compiled {
  ProgramFile program;
  std::vector<Arrays> inputs;
  pte::Bundle bundle;
};

class EveryModel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const npy::NamedArrays arrays = npy::read_npz(zoo(GetParam() + "_expected.npz"));
    const npy::Array* const x = npy::find(arrays, "x");
    ASSERT_NE(x, nullptr);
    ASSERT_EQ(x->shape.at(0), static_cast<std::int64_t>(kSamples));
    npy::write_npz(directory_.path() / "inputs.npz", {{"x", *x}});
    // Bits do not depend on good ranges, and calibrating with everything for every target takes long.
    npy::DataSet data = npy::read_data_set(zoo(GetParam() + "_calibration.npz"));
    npy::Array& few = data.arrays.at(0).second;
    few.data.resize(few.data.size() / static_cast<std::size_t>(few.shape.at(0)) * kSamples);
    few.shape[0] = kSamples;
    npy::write_npz(directory_.path() / "calibration.npz", {{"x", few}});
  }

  // With assertions, so it cannot return the result.
  void compile(const std::string& target, const std::string& isa, const std::string& io, Compiled& compiled) {
    Arguments arguments = {"compile",     zoo(GetParam() + ".pt2"),
                           "--calibrate", "calibration.npz",
                           "--target",    target,
                           "--io",        io,
                           "--bundle",    "inputs.npz",
                           "--output",    "model.bpte",
                           "--strict"};
    if (!isa.empty()) arguments.insert(arguments.end(), {"--isa", isa});
    const Ran ran = optimized(directory_.path(), arguments);
    ASSERT_EQ(ran.status, 0) << ran.command << "\n" << ran.err;
    ASSERT_TRUE(has(ran.out, fmt::format("compiled for {}, ISA {}\n", target, isa.empty() ? "any" : isa)));
    const std::string file = directory_.path() / "model.bpte";
    compiled.bundle = read_bundle(file);
    compiled.program = program_from(compiled.bundle.program, file);
    compiled.inputs = bundled_inputs(compiled.bundle, file);
    ASSERT_EQ(compiled.inputs.size(), kSamples);
  }

  void compile(const Place& place, const std::string& io, Compiled& compiled) {
    compile(std::string(place.target.name()), std::string(name_of(place.target.isa)), io, compiled);
  }

  // All samples in one boot.
  void expect_reference_on(const Place& place, const Compiled& compiled) {
    ExecuteOn board;
    board.target = place.target;
    board.compiler = place.compiler;
    board.keep_elf = directory_.path() / "firmware.elf";
    board.time_limit = std::chrono::minutes(4);  // a second or two, on a machine that has nothing else to do
    const Execution execution = execute(compiled.program, compiled.inputs, board);
    const BundleCheck check = check_outputs(compiled.bundle, execution.outputs, {0, 0}, GetParam());
    ASSERT_EQ(execution.outputs.size(), kSamples);
    for (std::size_t s = 0; s < kSamples; ++s) {
      const pte::BundledTensor& expected = compiled.bundle.cases[s].expected_outputs.at(0);
      EXPECT_EQ(to_border(execution.outputs[s].at(0), compiled.program.outputs[0], "output"), expected.data)
          << "sample " << s << "; " << check.worst;
    }
    EXPECT_TRUE(check.passed) << check.worst;
    expect_clean_firmware(board.keep_elf, *place.target.cpu);
  }

  static void expect_clean_firmware(const std::filesystem::path& path, const Cpu& cpu) {
    const Elf elf = read_elf(path);
    EXPECT_EQ(forbidden_in(elf), std::vector<std::string>{});
    EXPECT_TRUE(is_code_for(elf, cpu));
    if (cpu.archive == "m0") {
      EXPECT_TRUE(elf.architecture == CpuArchitecture::v6m || elf.architecture == CpuArchitecture::v6sm);
    }
  }

  TemporaryDirectory directory_;
};

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
  std::optional<Compiled> first;
  for (const Place& place : every_place()) {
    SCOPED_TRACE(place.text());
    Compiled compiled;
    ASSERT_NO_FATAL_FAILURE(compile(place, "int8", compiled));
    EXPECT_EQ(compiled.program.inputs[0].dtype, DType::i8);
    EXPECT_EQ(compiled.program.outputs[0].dtype, DType::i8);
    ASSERT_NO_FATAL_FAILURE(expect_reference_on(place, compiled));
    if (!first) {
      first = std::move(compiled);
      continue;
    }
    EXPECT_TRUE(compiled.bundle.cases == first->bundle.cases)
        << "other inputs or outputs than " << every_place()[0].text();
  }
}

TEST_P(EveryModel, TakesAndGivesFloatsWithTheSameBitsInEveryInstructionSet) {
  std::optional<Compiled> first;
  for (const char* cpu : {"cortex-m0", "cortex-m4", "cortex-m55"}) {
    const Place place = {target_named(cpu)};
    SCOPED_TRACE(place.text());
    Compiled compiled;
    ASSERT_NO_FATAL_FAILURE(compile(place, "float", compiled));
    EXPECT_EQ(compiled.program.inputs[0].dtype, DType::f32);
    EXPECT_EQ(compiled.program.outputs[0].dtype, DType::f32);
    ASSERT_NO_FATAL_FAILURE(expect_reference_on(place, compiled));
    if (!first) {
      first = std::move(compiled);
      continue;
    }
    EXPECT_TRUE(compiled.bundle.cases == first->bundle.cases);
  }
}

TEST_P(EveryModel, CompiledForAnyTargetIsOneProgramForAllBoards) {
  Compiled compiled;
  ASSERT_NO_FATAL_FAILURE(compile("any", "", "int8", compiled));
  for (const char* cpu : {"cortex-m0", "cortex-m4", "cortex-m55"}) {
    const Place place = {target_named(cpu)};
    SCOPED_TRACE(place.text());
    ASSERT_NO_FATAL_FAILURE(expect_reference_on(place, compiled));
  }
}

}  // namespace
}  // namespace cormorant::tests
