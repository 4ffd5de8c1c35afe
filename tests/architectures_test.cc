// SPDX-License-Identifier: Apache-2.0
//
// Small versions of common architectures (zoo/architectures.py): each compiles with every operator in int8, comes close
// to PyTorch's float outputs, and computes on the boards the bits that the host computes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "formats/npy/data_set.h"
#include "program/program_io.h"
#include "runner/process.h"
#include "target/parse.h"
#include "tests/all_cores.h"
#include "tests/command.h"
#include "tests/known_state.h"
#include "tests/stack.h"

namespace cormorant::tests {
namespace {

struct Architecture {
  const char* name;
  // Minimum for the whole output against float: weights are random, so that outputs hardly vary with the input and
  // errors do not cancel as in trained ones. accuracy_test.cc measures quantization on trained networks.
  double sqnr_db;
  // What is characteristic of the model: an operator, and how often the program has it.
  const char* program_operator;
  int count;
};

const Architecture kArchitectures[] = {
    {"mobilenet_v2", 32, "cormorant::add.mve", 2},
    {"mobilenet_v3", 32, "cortex_m::quantized_activation.out", 7},
    {"efficientnet", 32, "cortex_m::quantized_activation.out", 17},
    {"shufflenet", 20, "cortex_m::transpose.out", 6},  // one per channel shuffle, one for the float input
    {"squeezenet", 35, "aten::cat.out", 3},
    {"vit", 25, "cormorant::layer_norm.mve", 5},
    {"unet", 30, "cormorant::transpose_conv2d.mve", 2},
    {"tcn", 24, "cormorant::conv2d.mve_kxk", 4},
    {"volume", 25, "aten::scatter.src_out", 1},
};

class Architectures : public testing::TestWithParam<Architecture> {
 protected:
  // With assertions, so it cannot return the program. Calibrates once; other targets continue from the quantized graph.
  void compile(const std::string& target, nlohmann::json& facts, ProgramFile& program) {
    const std::string base = std::string("architectures/") + GetParam().name;
    Arguments arguments = {"compile", "--target", target, "--strict", "--json", "-o", "model.pte"};
    if (quantized_.empty()) {
      arguments.insert(arguments.end(), {zoo(base + ".pt2"), "--calibrate", zoo(base + "_calibration.npz"),
                                         "--intermediates", "stages"});
    } else {
      arguments.push_back(quantized_);
    }
    const Ran ran = cormorant(directory_.path(), arguments);
    ASSERT_EQ(ran.status, 0) << ran.command << "\n" << ran.err;
    facts = ran.json();
    program = read_program(directory_.path() / "model.pte");
    if (!quantized_.empty()) return;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path() / "stages")) {
      if (entry.path().filename().string().ends_with("-quantize.txt")) quantized_ = entry.path();
    }
    ASSERT_FALSE(quantized_.empty());
  }

  static npy::DataSet expected() {
    return npy::read_data_set(zoo(std::string("architectures/") + GetParam().name + "_expected.npz"));
  }

 private:
  TemporaryDirectory directory_;
  std::string quantized_;  // the text of that stage
};

INSTANTIATE_TEST_SUITE_P(Zoo, Architectures, testing::ValuesIn(kArchitectures),
                         [](const auto& one) { return one.param.name; });

std::vector<float> floats(const npy::Array& array) {
  std::vector<float> values(array.data.size() / sizeof(float));
  std::memcpy(values.data(), array.data.data(), array.data.size());
  return values;
}

double sqnr(const std::vector<float>& wanted, const std::vector<float>& got) {
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double error = double{wanted[i]} - double{got[i]};
    signal += double{wanted[i]} * double{wanted[i]};
    noise += error * error;
  }
  return 10 * std::log10(signal / noise);
}

// Firmware that has loaded the program and not executed it: loading is what needs most of the stack.
RunResult loaded(const ProgramFile& program, const Target& target, Compiler compiler) {
  RunRequest request;
  request.program = program.bytes;
  request.target = target;
  request.compiler = compiler;
  request.account = true;
  request.until = RunRequest::Until::loaded;
  return run_on_board(request);
}

std::uint64_t count_operators(const nlohmann::json& facts) {
  std::uint64_t count = 0;
  for (const auto& [name, times] : facts["operators"].items()) count += times.get<std::uint64_t>();
  return count;
}

TEST_P(Architectures, ComputeInIntegersAndOnBoardsTheHostsBits) {
  const npy::DataSet data = expected();
  npy::Array wanted;
  for (const auto& [name, array] : data.arrays) {
    if (name == "y") wanted = array;
  }
  std::vector<Arrays> reference;
  for (const char* target : {"cortex-m55", "cortex-m4", "cortex-m0"}) {
    SCOPED_TRACE(target);
    nlohmann::json facts;
    ProgramFile program;
    ASSERT_NO_FATAL_FAILURE(compile(target, facts, program));
    EXPECT_TRUE(facts["float_operators"].empty()) << facts["float_operators"];
    const std::vector<Arrays> inputs = sample_arrays(program, data);
    if (reference.empty()) {
      EXPECT_EQ(facts["operators"][GetParam().program_operator], GetParam().count) << facts["operators"];
      reference = execute(program, inputs, {}).outputs;
      std::vector<float> got;
      for (const Arrays& outputs : reference) {
        const std::vector<float> one = floats(outputs.at(0));
        got.insert(got.end(), one.begin(), one.end());
      }
      EXPECT_GE(sqnr(floats(wanted), got), GetParam().sqnr_db);
    }
    ExecuteOn board;
    board.target = parse_target(target);
    board.time_limit = std::chrono::minutes(4);
    board.account = true;
    const Execution execution = execute(program, inputs, board);
    EXPECT_TRUE(execution.outputs == reference);
    expect_bounded_stack(*execution.board, "gcc");
    expect_known_state(program, board, execution);
    if (is_tested(*board.target->cpu, Compiler::clang)) {
      expect_bounded_stack(loaded(program, *board.target, Compiler::clang), "clang");
    }
    // 6,000 bytes for MobileNetV2's 67 operators.
    EXPECT_LE(execution.board->state_bytes, 6000U * count_operators(facts) / 67);
  }
}

}  // namespace
}  // namespace cormorant::tests
