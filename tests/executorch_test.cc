// SPDX-License-Identifier: Apache-2.0
//
// Programs that another compiler wrote (tests/executorch) run here and give the bits that its own runtime gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>

#include "base/diagnostic.h"
#include "cli/files.h"
#include "cli/program_io.h"
#include "compiler/samples.h"
#include "formats/pte/plan_border.h"
#include "ops/op.h"
#include "runtime/host.h"
#include "target/parse.h"

namespace cormorant::tests {
namespace {

struct Foreign {
  const char* name;
  const char* cpu;  // that it was compiled for
};

void PrintTo(const Foreign& program, std::ostream* out) { *out << program.name; }

class Executorch : public testing::TestWithParam<Foreign> {
 protected:
  [[nodiscard]] static std::string file(const char* ending) {
    return std::string(CORMORANT_SOURCE_DIR "/tests/executorch/") + GetParam().name + ending;
  }
  static npy::Array output_of(const ExecuteOn& where) {
    const ProgramFile program = read_program(file(".pte"));
    return execute(program, {{npy::read_npy(file(".in.npy"))}}, where).outputs.at(0).at(0);
  }
};

TEST_P(Executorch, SameBitsOnTheHost) { EXPECT_EQ(output_of({}), npy::read_npy(file(".out.npy"))); }

TEST_P(Executorch, SameBitsOnTheBoard) {
  ExecuteOn board;
  board.target = parse_target(GetParam().cpu);
  EXPECT_EQ(output_of(board), npy::read_npy(file(".out.npy")));
}

// Random bytes of the program changed: it is refused, or does whatever it does inside its memory, as the sanitizers
// see.
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
};
INSTANTIATE_TEST_SUITE_P(Programs, ExecutorchFloat, testing::ValuesIn(kFloatPrograms),
                         [](const auto& program) { return std::string(program.param.name); });

TEST(PlannedBorder, ChangesOnlyProgramsThatLeaveMemoryToTheCaller) {
  const auto file = [](const char* name) {
    return cli::read_file(CORMORANT_SOURCE_DIR "/tests/executorch/" + std::string(name));
  };
  EXPECT_EQ(pte::with_planned_border(file("ds_cnn.pte")), file("ds_cnn.pte"));
  EXPECT_EQ(pte::with_planned_border(file("README.md")), file("README.md"));
  const std::vector<std::byte> foreign = file("keyword_net_caller_m4.pte");
  const std::vector<std::byte> planned = pte::with_planned_border(foreign);
  EXPECT_NE(planned, foreign);
  EXPECT_EQ(pte::with_planned_border(planned), planned);
}

TEST(PlannedBorder, DamagedProgramsAreReadAsFarAsTheyAreSound) {
  const std::vector<std::byte> foreign =
      cli::read_file(CORMORANT_SOURCE_DIR "/tests/executorch/keyword_net_caller_m4.pte");
  for (std::size_t size = 0; size < foreign.size(); size += 97) {
    const std::vector<std::byte> cut(foreign.begin(), foreign.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(program_from(cut, "cut"), InputError) << size;
  }
}

// ds_cnn's input [1, 1, 49, 10] is written with the order (0, 2, 1, 3): the same bytes as channels-last. In "caller"
// the memory of inputs and outputs is left to the caller, in "nhwc" layout is written out.
const Foreign kPrograms[] = {
    {"ds_cnn", "cortex-m55"},
    {"mobilenet_v1_025", "cortex-m55"},
    {"resnet8", "cortex-m55"},
    {"deep_autoencoder", "cortex-m55"},
    {"keyword_net_m4", "cortex-m4"},
    {"keyword_net_m0", "cortex-m0"},
    {"keyword_net_caller_m4", "cortex-m4"},
    {"keyword_net_nhwc_m55", "cortex-m55"},
    {"pools_nhwc_m4", "cortex-m4"},
    {"pools_nhwc_m0", "cortex-m0"},
    {"upsampler_nhwc_m55", "cortex-m55"},
    {"upsampler_nhwc_m0", "cortex-m0"},
};
INSTANTIATE_TEST_SUITE_P(Programs, Executorch, testing::ValuesIn(kPrograms),
                         [](const auto& program) { return std::string(program.param.name); });

}  // namespace
}  // namespace cormorant::tests
