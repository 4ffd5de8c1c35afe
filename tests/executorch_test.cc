// SPDX-License-Identifier: Apache-2.0
//
// Programs that another compiler wrote (tests/executorch) run here and give the bits that its own runtime gives.
#include <gtest/gtest.h>

#include "cli/program_io.h"
#include "target/parse.h"

namespace cormorant::tests {
namespace {

class Executorch : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static std::string file(const char* ending) {
    return std::string(CORMORANT_SOURCE_DIR "/tests/executorch/") + GetParam() + ending;
  }
  static npy::Array output_of(const ExecuteOn& where) {
    const ProgramFile program = read_program(file(".pte"));
    return execute(program, {{npy::read_npy(file(".in.npy"))}}, where).outputs.at(0).at(0);
  }
};

TEST_P(Executorch, SameBitsOnTheHost) { EXPECT_EQ(output_of({}), npy::read_npy(file(".out.npy"))); }

TEST_P(Executorch, SameBitsOnTheBoard) {
  ExecuteOn board;
  board.target = parse_target("cortex-m55");
  EXPECT_EQ(output_of(board), npy::read_npy(file(".out.npy")));
}

// ds_cnn's input [1, 1, 49, 10] is written with the order (0, 2, 1, 3): the same bytes as channels-last.
INSTANTIATE_TEST_SUITE_P(Programs, Executorch,
                         testing::Values("ds_cnn", "mobilenet_v1_025", "resnet8", "deep_autoencoder"),
                         [](const auto& program) { return std::string(program.param); });

}  // namespace
}  // namespace cormorant::tests
