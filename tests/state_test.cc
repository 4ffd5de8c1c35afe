// SPDX-License-Identifier: Apache-2.0
//
// Models that keep state from one inference to the next, in the usual ways (zoo/state.py): along sequences they compute
// in float what PyTorch computed, in int8 nearly that, and on every board the host's bits.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "evaluate/sqnr.h"
#include "formats/npy/data_set.h"
#include "program/program_io.h"
#include "runner/process.h"
#include "target/parse.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

struct Expected {
  std::vector<Arrays> inputs;  // every step of every sequence, one after another
  std::size_t steps = 0;
  std::vector<float> outputs;
};

Expected expected(const ProgramFile& program, const std::string& name) {
  const npy::DataSet data = npy::read_data_set(zoo("state/" + name + "_expected.npz"));
  Expected all;
  const npy::Array& x = *npy::find(data.arrays, "x");
  all.steps = static_cast<std::size_t>(x.shape.at(1));
  for (std::int64_t sample = 0; sample < x.shape.at(0); ++sample) {
    const auto bytes = npy::sample(x, sample);
    const npy::Array sequence{x.dtype, {x.shape.begin() + 1, x.shape.end()}, {bytes.begin(), bytes.end()}};
    for (npy::Array& step : steps_of(sequence, program.inputs.at(0), name)) all.inputs.push_back({std::move(step)});
  }
  const npy::Array& y = *npy::find(data.arrays, "y");
  const auto* values = reinterpret_cast<const float*>(y.data.data());
  all.outputs.assign(values, values + y.data.size() / sizeof(float));
  return all;
}

std::vector<float> outputs_of(const ProgramFile& program, const Execution& execution) {
  std::vector<float> all;
  for (const Arrays& arrays : execution.outputs) {
    const std::vector<float> values = real_values(arrays.at(0), program.outputs.at(0));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// SQNR of what varies from step to step.
double sqnr(const std::vector<float>& got, const std::vector<float>& wanted, std::size_t steps) {
  evaluate::Sqnr sqnr;
  const std::size_t each = wanted.size() / steps;
  for (std::size_t i = 0; i < steps; ++i) {
    sqnr.add(std::span(wanted).subspan(i * each, each), std::span(got).subspan(i * each, each));
  }
  return sqnr.db();
}

struct Model {
  const char* name;
  int buffer_floats;  // elements of its buffers
  const char* board;  // one of three, in turn
};

class State : public testing::TestWithParam<Model> {
 protected:
  ProgramFile compile(const std::string& name, const Arguments& more = {}) {
    Arguments arguments = {"compile", zoo("state/" + name + ".pt2"), "--json", "--no-link", "-o", "model.pte"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = cormorant(directory_.path(), arguments);
    EXPECT_EQ(ran.status, 0) << ran.command << "\n" << ran.err;
    json_ = nlohmann::json::parse(ran.out);
    return read_program((directory_.path() / "model.pte").string());
  }
  Arguments calibrated() {
    return {"--sequence", "--calibrate", zoo("state/" + std::string(GetParam().name) + "_expected.npz")};
  }

  TemporaryDirectory directory_;
  nlohmann::json json_;
};

TEST_P(State, InFloatIsPyTorchsInBothExportedForms) {
  for (const char* form : {"", "_functional"}) {
    const ProgramFile program = compile(std::string(GetParam().name) + form);
    EXPECT_EQ(program.has_state, GetParam().buffer_floats > 0);
    EXPECT_EQ(json_.at("buffer_bytes").get<int>(), 4 * GetParam().buffer_floats);
    const Expected data = expected(program, GetParam().name);
    ExecuteOn host;
    host.steps = data.steps;
    const std::vector<float> got = outputs_of(program, execute(program, data.inputs, host));
    ASSERT_EQ(got.size(), data.outputs.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], data.outputs[i], 1e-4F) << GetParam().name << form << ", number " << i;
    }
  }
}

TEST_P(State, InInt8IsNearPyTorchsAndHasTheHostsBitsOnABoard) {
  Arguments more = calibrated();
  more.insert(more.end(), {"--target", GetParam().board});
  const ProgramFile program = compile(GetParam().name, more);
  const Expected data = expected(program, GetParam().name);
  ExecuteOn where;
  where.steps = data.steps;
  const Execution host = execute(program, data.inputs, where);
  EXPECT_GT(sqnr(outputs_of(program, host), data.outputs, data.inputs.size()), 20);
  where.target = parse_target(GetParam().board);
  const Execution board = execute(program, data.inputs, where);
  for (std::size_t k = 0; k < host.outputs.size(); ++k) {
    ASSERT_EQ(host.outputs[k].at(0).data, board.outputs[k].at(0).data) << "step " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, State,
                         testing::Values(Model{"shift_register", 32, "cortex-m55"}, Model{"assigned", 32, "cortex-m4"},
                                         Model{"cell", 6, "cortex-m0"}, Model{"views", 12, "cortex-m55"},
                                         Model{"delays", 16, "cortex-m4"}, Model{"running_mean", 5, "cortex-m0"},
                                         Model{"lstm", 12, "cortex-m55"}, Model{"cells", 24, "cortex-m4"},
                                         Model{"lstm_window", 0, "cortex-m0"}, Model{"lstm_projected", 0, "cortex-m55"},
                                         Model{"gru_window", 0, "cortex-m4"}, Model{"rnn_window", 0, "cortex-m0"},
                                         Model{"recurrent_mixed", 12, "cortex-m55"},
                                         Model{"svdf", 16 * 10 + 4 * 6, "cortex-m4"}),
                         [](const auto& info) { return std::string(info.param.name); });

class StateCommands : public State {};  // without a parameter

TEST_F(StateCommands, ARunningSumStaysInFloatAndIsNamed) {
  compile("running_mean", {"--sequence", "--calibrate", zoo("state/running_mean_expected.npz")});
  std::string reasons;
  for (const auto& op : json_.at("float_operators")) reasons += op.at("reason").get<std::string>() + "\n";
  EXPECT_NE(reasons.find("the buffer 'total' is a running sum"), std::string::npos) << reasons;
  EXPECT_NE(reasons.find("the buffer 'count' is a running sum"), std::string::npos) << reasons;
}

TEST_F(StateCommands, RecurrentLayersAndCellsAreOneOperatorEach) {
  const auto operators = [&](const char* name, int layers, bool in_int8) {
    Arguments more = {"--target", "cortex-m4"};
    const std::string data = zoo("state/" + std::string(name) + "_expected.npz");
    if (in_int8) more.insert(more.end(), {"--sequence", "--calibrate", data});
    compile(name, more);
    const char* const expected = in_int8 ? "cormorant::recurrent.dsp_pairs" : "cormorant::recurrent.float";
    EXPECT_EQ(json_.at("operators").value(expected, 0), layers) << name << "\n" << json_.at("operators").dump(1);
    if (in_int8) EXPECT_TRUE(json_.at("float_operators").empty()) << name;
  };
  for (const bool in_int8 : {false, true}) {
    operators("cells", 3, in_int8);
    operators("lstm", 1, in_int8);
    operators("lstm_window", 4, in_int8);
    operators("gru_window", 4, in_int8);
  }
}

// c and a GRU's h have 16 bits, h of an LSTM has 8; all are made in the state's own memory.
TEST_F(StateCommands, StatesOfRecurrentLayersHave16Bits) {
  compile("cells", {"--target", "cortex-m4", "--sequence", "--calibrate", zoo("state/cells_expected.npz")});
  EXPECT_EQ(json_.at("buffer_bytes").get<int>(), 6 * 2 + 6 * 2 + 6 * 1 + 6 * 2);
  for (const auto& [name, count] : json_.at("operators").items()) EXPECT_EQ(name.find("clone"), std::string::npos);
}

// A matrix product, a memory, and filters over time with everything after them in one accumulator.
TEST_F(StateCommands, SvdfLayersAreAProductAndAConvolution) {
  compile("svdf", {"--target", "cortex-m55", "--io=int8", "--sequence", "--calibrate", zoo("state/svdf_expected.npz")});
  const auto& operators = json_.at("operators");
  int products = 0, sums = 0;
  for (const auto& [name, count] : operators.items()) {
    if (name.find("linear") != std::string::npos || name.find("conv2d") != std::string::npos)
      products += count.get<int>();
    if (name.find("mul") != std::string::npos || name.find("mean") != std::string::npos) sums += count.get<int>();
  }
  EXPECT_EQ(products, 4) << operators.dump(1);
  EXPECT_EQ(sums, 0) << operators.dump(1);
  EXPECT_TRUE(json_.at("float_operators").empty());
}

TEST_F(StateCommands, ForExecuTorchRecurrentLayersAreWrittenOut) {
  compile("lstm", {"--runtime", "executorch"});
  for (const auto& [name, count] : json_.at("operators").items()) {
    EXPECT_EQ(name.find("cormorant::"), std::string::npos) << name;
  }
}

TEST_F(StateCommands, RunTakesAndGivesSequences) {
  const ProgramFile program = compile("cell");
  const Expected data = expected(program, "cell");
  Arrays steps;
  for (std::size_t k = 0; k < data.steps; ++k) steps.push_back(data.inputs[k].at(0));
  npy::write_npy(directory_.path() / "x.npy", sequence_of(steps));
  const Ran ran = cormorant(
      directory_.path(), {"run", "model.pte", "--target=host", "--sequence", "--input", "x.npy", "--output", "y.npy"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const npy::Array y = npy::read_npy(directory_.path() / "y.npy");
  EXPECT_EQ(y.shape, (std::vector<std::int64_t>{static_cast<std::int64_t>(data.steps), 1, 6}));
  const auto* values = reinterpret_cast<const float*>(y.data.data());
  for (std::size_t i = 0; i < data.steps * 6; ++i) ASSERT_NEAR(values[i], data.outputs[i], 1e-4F);
}

TEST_F(StateCommands, SequencesOfTheWrongRankAreRefused) {
  npy::write_npz(directory_.path() / "flat.npz", {{"x", {DType::f32, {4, 5}, std::vector<std::byte>(80)}}});
  const Ran compiled = cormorant(directory_.path(), {"compile", zoo("state/cell.pt2"), "--sequence", "--calibrate",
                                                     "flat.npz", "-o", "model.pte"});
  EXPECT_EQ(compiled.status, 1);
  EXPECT_NE(compiled.err.find("[4, 5] does not hold sequences for the model's input 'x' of shape [1, 5]"),
            std::string::npos)
      << compiled.err;
}

TEST_F(StateCommands, CalibratingStateOneStepAtATimeIsWarnedOf) {
  npy::write_npz(directory_.path() / "x.npz", {{"x", {DType::f32, {4, 1, 5}, std::vector<std::byte>(80)}}});
  const Ran ran = cormorant(directory_.path(),
                            {"compile", zoo("state/cell.pt2"), "--calibrate", "x.npz", "--no-link", "-o", "model.pte"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(ran.err.find("calibrate on sequences with --sequence"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace cormorant::tests
