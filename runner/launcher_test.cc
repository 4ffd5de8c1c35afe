// SPDX-License-Identifier: Apache-2.0
//
// A whole program on every board: two copies in a row, the simplest model there is. What the kernels compute is tested
// beside them; here it is everything around them.
#include "runner/launcher.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/diagnostic.h"
#include "fmt/format.h"
#include "formats/pte/writer.h"
#include "gtest/gtest.h"
#include "runner/process.h"
#include "tests/all_cores.h"

namespace cormorant {
namespace {

using namespace std::chrono_literals;

constexpr std::int32_t kElements = 37;

pte::Tensor tensor_at(std::uint64_t offset) {
  return {.dtype = DType::i8, .sizes = {kElements}, .dim_order = {0}, .place = pte::Place{1, offset}};
}

// x -> view_copy -> middle -> view_copy -> y
pte::Program two_copies(const std::string& operator_name = "aten::view_copy") {
  pte::Plan plan;
  const std::int32_t x = plan.add(tensor_at(0));
  const std::int32_t middle = plan.add(tensor_at(48));
  const std::int32_t y = plan.add(tensor_at(96));
  const std::int32_t size = plan.intern_ints(std::vector<std::int64_t>{kElements});
  const std::uint32_t op = plan.intern_operator(operator_name, "out");
  plan.inputs = {x};
  plan.outputs = {y};
  plan.calls = {{op, {x, size, middle}}, {op, {middle, size, y}}};
  plan.memory_sizes = {0, 144};
  return {.plans = {plan}};
}

std::vector<Sample> samples(std::size_t count) {
  std::vector<Sample> result;
  for (std::size_t s = 0; s < count; ++s) {
    std::vector<std::byte> input(kElements);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(7 * i + 31 * s + 1);
    result.push_back({input});
  }
  return result;
}

const Cpu& cpu_named(std::string_view name) {
  return *std::find_if(kCpus.begin(), kCpus.end(), [&](const Cpu& cpu) { return cpu.name == name; });
}

RunRequest request_for(std::string_view cpu = "cortex-m55", Compiler compiler = Compiler::gcc) {
  return {.program = pte::write(two_copies()),
          .target = {&cpu_named(cpu), cpu_named(cpu).isa},
          .compiler = compiler,
          .samples = samples(3)};
}

// The problem that the launcher names; empty when there was none.
std::string problem_of(const RunRequest& request) {
  try {
    run_on_board(request);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

struct Configuration {
  const Cpu* cpu;
  Isa isa;
  Compiler compiler;
};

std::ostream& operator<<(std::ostream& out, const Configuration& c) {
  return out << c.cpu->name << " " << name_of(c.isa) << " " << name_of(c.compiler);
}

std::vector<Configuration> every_configuration() {
  std::vector<Configuration> all;
  for (const Cpu& cpu : kCpus) {
    for (int isa = 0; isa <= static_cast<int>(cpu.isa); ++isa) {
      for (const Compiler compiler : {Compiler::gcc, Compiler::clang}) {
        if (is_tested(cpu, compiler)) all.push_back({&cpu, static_cast<Isa>(isa), compiler});
      }
    }
  }
  return all;
}

class EveryConfiguration : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(Launcher, EveryConfiguration, testing::ValuesIn(every_configuration()), [](const auto& c) {
  return fmt::format("{}_{}_{}", c.param.cpu->name.substr(7), name_of(c.param.isa), name_of(c.param.compiler));
});

TEST_P(EveryConfiguration, RunsSamplesAndAccountsForEverything) {
  const auto& [cpu, isa, compiler] = GetParam();
  RunRequest request = request_for(cpu->name, compiler);
  request.target.isa = isa;
  request.profile = true;
  const TemporaryDirectory directory;
  request.keep_elf = directory.path() / "kept.elf";
  const RunResult result = run_on_board(request);

  EXPECT_EQ(result.outputs, request.samples);
  EXPECT_EQ(result.model_bytes, request.program.size());
  EXPECT_EQ(result.arena_bytes, 144U);

  // One execution: the call of the executor's loop, a few instructions of the loop, and the steps.
  ASSERT_EQ(result.steps.size(), 2U);
  EXPECT_EQ(result.sample_instructions.size(), 3U);
  EXPECT_EQ(result.steps[0].operator_name, "aten::view_copy.out");
  EXPECT_EQ(result.steps[0].kernel, fmt::format("aten_view_copy_out_{}", name_of(isa)));
  EXPECT_EQ(result.steps[0].instructions, result.steps[1].instructions);
  const std::uint64_t in_steps = result.steps[0].instructions + result.steps[1].instructions;
  EXPECT_GT(result.execute_instructions, in_steps);
  EXPECT_LT(result.execute_instructions, in_steps + 40);
  EXPECT_GT(result.load_instructions, 500U);

  // Not to the byte, but no figure can be forgotten or counted twice.
  EXPECT_GT(result.code_bytes, 2'000U);
  EXPECT_LT(result.code_bytes, 16'000U);
  EXPECT_GT(result.state_bytes, 2 * sizeof(std::uint32_t) * 2);
  EXPECT_LT(result.state_bytes, 400U);
  EXPECT_GT(result.stack_bytes, 100U);
  EXPECT_LT(result.stack_bytes, 2'000U);

  EXPECT_EQ(forbidden_in(read_elf(request.keep_elf)), std::vector<std::string>{});
}

TEST(Launcher, CountsTheSameEveryTimeWithAndWithoutProfile) {
  RunRequest request = request_for();
  const RunResult first = run_on_board(request);
  const RunResult second = run_on_board(request);
  request.profile = true;
  const RunResult profiled = run_on_board(request);
  for (const RunResult& other : {second, profiled}) {
    EXPECT_EQ(other.load_instructions, first.load_instructions);
    EXPECT_EQ(other.sample_instructions, first.sample_instructions);
  }
  EXPECT_TRUE(first.steps.empty());
}

TEST(Launcher, WithoutSamplesRunsOnceWithZeros) {
  RunRequest request = request_for();
  request.samples.clear();
  const RunResult result = run_on_board(request);
  ASSERT_EQ(result.outputs.size(), 1U);
  EXPECT_EQ(result.outputs[0], Sample{std::vector<std::byte>(kElements)});
}

TEST(Launcher, RefusesInputsOfTheWrongSize) {
  RunRequest request = request_for();
  request.samples[1][0].pop_back();
  EXPECT_NE(problem_of(request).find("input 0 of sample 1 has 36 bytes, but the program takes 37"), std::string::npos);
  request.samples[1].clear();
  EXPECT_NE(problem_of(request).find("sample 1 has 0 inputs, but the program takes 1"), std::string::npos);
}

TEST(Launcher, RefusesAProgramThatTheBoardHasNoRoomFor) {
  RunRequest request = request_for();
  request.program.resize((64 << 20) + 1);
  EXPECT_NE(problem_of(request).find("mps3-an547 has room for 67108864"), std::string::npos) << problem_of(request);
}

TEST(Launcher, NamesOperatorsWithoutAKernel) {
  RunRequest request = request_for();
  request.program = pte::write(two_copies("aten::no_such_operator"));
  EXPECT_NE(problem_of(request).find("aten::no_such_operator.out"), std::string::npos) << problem_of(request);
}

TEST(Launcher, SaysThatBytesAreNotAProgram) {
  RunRequest request = request_for();
  request.program = std::vector<std::byte>(100, std::byte{42});
  EXPECT_NE(problem_of(request).find("not a .pte program"), std::string::npos) << problem_of(request);
}

// The board's own refusals, reached by giving the launcher facts that differ from the file's.
std::string refusal_of(const RunRequest& request, const ProgramFacts& facts) {
  try {
    run_on_board(request, facts);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Launcher, BringsTheBoardsReasonWhenAFileIsGarbage) {
  RunRequest request = request_for();
  request.samples.clear();
  request.program = std::vector<std::byte>(100, std::byte{42});
  EXPECT_EQ(refusal_of(request, {}), "the board cannot load the program: not a .pte program, or cut short (error 100)");
}

TEST(Launcher, BringsTheBoardsReasonAndFiguresWhenMemoryIsTooSmall) {
  const RunRequest request = request_for();
  ProgramFacts facts = read_facts(request.program, "forward");
  facts.arena_bytes[0] = 128;
  const std::string refusal = refusal_of(request, facts);
  EXPECT_NE(refusal.find("the arena is too small for the memory plan (error 301)"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("144 required, 128 given"), std::string::npos) << refusal;
}

TEST(Launcher, NamesTheInstructionThatDoesNotLoad) {
  RunRequest request = request_for();
  pte::Program program = two_copies();
  auto& y = std::get<pte::Tensor>(program.plans[0].values[2]);
  y.sizes = {kElements - 1};
  request.program = pte::write(program);
  const std::string problem = problem_of(request);
  EXPECT_NE(problem.find("aten::view_copy.out (instruction 1)"), std::string::npos) << problem;
}

// Sets a variable for the time of one test.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name), old_(std::getenv(name) ? std::getenv(name) : "") {
    setenv(name, value, 1);
  }
  ~Environment() {
    if (old_.empty()) {
      unsetenv(name_);
    } else {
      setenv(name_, old_.c_str(), 1);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string old_;
};

TEST(Launcher, SaysWhatToBuildWhenArchivesAreMissing) {
  const Environment environment("CORMORANT_TARGET_DIR", "/nowhere");
  const std::string problem = problem_of(request_for());
  EXPECT_NE(problem.find("/nowhere/gcc/m55/link.txt is not built"), std::string::npos) << problem;
  EXPECT_NE(problem.find("./dev build"), std::string::npos) << problem;
}

TEST(Launcher, SaysWhatToInstallWhenTheEmulatorIsMissing) {
  // A folder with the cross compiler alone.
  const TemporaryDirectory tools;
  const ProcessResult found = run_process({"sh", "-c", "command -v arm-none-eabi-gcc"}, "/", std::chrono::minutes(1));
  ASSERT_EQ(found.status, 0);
  std::filesystem::create_symlink(found.output.substr(0, found.output.find('\n')), tools.path() / "arm-none-eabi-gcc");
  const Environment environment("PATH", tools.path().c_str());
  const std::string problem = problem_of(request_for());
  EXPECT_NE(problem.find("qemu-system-arm cannot be run"), std::string::npos) << problem;
  EXPECT_NE(problem.find("apt install qemu-system-arm"), std::string::npos) << problem;
}

TEST(Launcher, LeavesNothingBehind) {
  const TemporaryDirectory directory;
  const Environment environment("TMPDIR", directory.path().c_str());
  run_on_board(request_for());
  RunRequest bad = request_for();
  bad.samples[0][0].pop_back();
  EXPECT_NE(problem_of(bad), "");
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

}  // namespace
}  // namespace cormorant
