// SPDX-License-Identifier: Apache-2.0
//
// Failures on a board become a message and a nonzero exit status of `cormorant run`: a program that does not load, a
// hardware fault in the middle of an inference, and an inference that never ends.
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "formats/pte/writer.h"
#include "runner/process.h"
#include "runner/toolchain.h"
#include "target/target.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

using namespace std::chrono_literals;

// x -> op -> y for each operator in a row.
std::string program_of(const std::vector<std::pair<std::string, std::string>>& operators) {
  constexpr std::int32_t kElements = 16;
  pte::Plan plan;
  std::int32_t last = 0;
  for (std::size_t i = 0; i <= operators.size(); ++i) {
    const std::int32_t tensor = plan.add(
        pte::Tensor{.dtype = DType::i8, .sizes = {kElements}, .dim_order = {0}, .place = pte::Place{1, i * 16}});
    if (i == 0) {
      plan.inputs = {tensor};
    } else {
      plan.calls.push_back({plan.intern_operator(operators[i - 1].first, operators[i - 1].second), {last, tensor}});
    }
    last = tensor;
  }
  plan.outputs = {last};
  plan.memory_sizes = {0, static_cast<std::int64_t>((operators.size() + 1) * 16)};
  const std::vector<std::byte> bytes = pte::write({.plans = {plan}});
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The archives of Cortex-M55 with faulty kernels among the others.
class Faults : public testing::Test {
 protected:
  void SetUp() override {
    const Cpu& cpu = *Target{}.cpu;
    const std::filesystem::path archives = archive_directory(cpu, Compiler::gcc);
    const std::filesystem::path copy = directory_.path() / "gcc" / cpu.archive;
    std::filesystem::create_directories(copy);
    for (const auto& entry : std::filesystem::directory_iterator(archives)) {
      if (entry.is_regular_file()) std::filesystem::copy_file(entry.path(), copy / entry.path().filename());
    }
    build({"arm-none-eabi-g++", "-std=c++20", "-Os", "-mcpu=cortex-m55", "-mfloat-abi=hard", "-fno-exceptions",
           "-fno-rtti", "-I" CORMORANT_SOURCE_DIR, "-I" CORMORANT_SOURCE_DIR "/include", "-c",
           CORMORANT_SOURCE_DIR "/tests/testdata/faulty_kernels.cc", "-o", "faulty.o"});
    build({"arm-none-eabi-ar", "r", copy / "libkernels.a", "faulty.o"});
  }

  void build(const std::vector<std::string>& command) const {
    const ProcessResult result = run_process(command, directory_.path(), 60s);
    ASSERT_TRUE(result.succeeded()) << result.output;
  }

  [[nodiscard]] Ran run(const std::vector<std::pair<std::string, std::string>>& operators,
                        const Arguments& options = {}) const {
    write_text(directory_.path() / "program.pte", program_of(operators));
    Arguments arguments = {"run", "program.pte"};  // on a Cortex-M55, unless the options say otherwise
    arguments.insert(arguments.end(), options.begin(), options.end());
    return cormorant(directory_.path(), arguments, {"CORMORANT_TARGET_DIR=" + directory_.path().string()});
  }

  TemporaryDirectory directory_;
};

TEST_F(Faults, OfHardwareNameKernelAndCause) {
  const Ran ran = run({{"cormorant::test", "fault"}});
  EXPECT_EQ(ran.status, 1);
  EXPECT_FALSE(has(ran.err, "internal error"));
  for (const char* part : {"BusFault", "touch_nothing", "a load or store at a bad address", "0xf0000000"})
    EXPECT_TRUE(has(ran.err, part));
  EXPECT_EQ(ran.out, "");
}

TEST_F(Faults, HangEndsAtTheTimeLimit) {
  const Ran ran = run({{"cormorant::test", "hang"}}, {"--timeout=0.5"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_TRUE(has(ran.err, "did not finish within 0.5 s"));
  EXPECT_TRUE(has(ran.err, "--timeout"));
  EXPECT_LT(ran.seconds, 20);
}

TEST_F(Faults, RefusalToLoadNamesInstructionReasonAndFigures) {
  const Ran ran = run({{"cormorant::test", "hang"}, {"cormorant::test", "refuse"}});
  EXPECT_EQ(ran.status, 1);
  for (const char* part : {"cormorant::test.refuse (instruction 1)", "scratch", "4096 required, 512 given"}) {
    EXPECT_TRUE(has(ran.err, part));
  }
}

TEST_F(Faults, UnknownOperatorsAreAllNamed) {
  const std::vector<std::pair<std::string, std::string>> operators = {
      {"aten::one", "out"}, {"cormorant::test", "hang"}, {"my::two", ""}, {"cortex_m::three", "out"}};
  for (const Arguments& where : {Arguments{}, Arguments{"--target=host"}}) {
    const Ran ran = run(operators, where);
    EXPECT_EQ(ran.status, 1);
    for (const char* part : {"aten::one.out", "my::two", "cortex_m::three.out"}) EXPECT_TRUE(has(ran.err, part));
  }
}

// Every damaged file is refused or computes something, on the host and, where the host loads it, on the board. The
// operators' own tests damage more; this is about the path through the program.
TEST_F(Faults, DamagedProgramsNeverCrash) {
  ASSERT_EQ(cormorant(directory_.path(), {"compile", "digits", "-q", "--io=int8", "-o", "sound.pte"}).status, 0);
  const std::string sound = read_text(directory_.path() / "sound.pte");
  int refused = 0;
  for (std::size_t i = 0; i < 24; ++i) {
    std::string damaged = sound;
    const std::size_t at = 4 + i * 149 % 3'500;  // the description is in front
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (i % 8)));
    write_text(directory_.path() / "damaged.pte", damaged);
    const Ran host = cormorant(directory_.path(), {"run", "damaged.pte", "--target=host"});
    EXPECT_TRUE(host.status == 0 || host.status == 1) << "byte " << at << ": " << host.status << host.err;
    refused += host.status;
    if (i % 6 != 0 || host.status != 0) continue;
    const Ran board = cormorant(directory_.path(), {"run", "damaged.pte"});
    EXPECT_EQ(board.status, 0) << "byte " << at << ": " << board.err;
  }
  EXPECT_GT(refused, 2);
}

}  // namespace
}  // namespace cormorant::tests
