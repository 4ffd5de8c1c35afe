// SPDX-License-Identifier: Apache-2.0
//
// Models that keep state from one inference to the next, in the usual ways (zoo/state.py): along sequences they compute
// in float what PyTorch computed, in int8 nearly that, and on every board the host's bits.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "runner/process.h"
#include "target/parse.h"
#include "tests/command.h"
#include "tests/sequences.h"

namespace cormorant::tests {
namespace {

Expected expected(const ProgramFile& program, const std::string& name) {
  return expected_of(program, zoo("state/" + name + "_expected.npz"));
}

struct Model {
  const char* name;
  int buffer_floats;  // elements of its buffers
  const char* board;  // one of three, in turn
  int counters = 0;   // integers of 64 bits
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
    EXPECT_EQ(json_.at("buffer_bytes").get<int>(), 4 * GetParam().buffer_floats + 8 * GetParam().counters);
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
                                         Model{"svdf", 16 * 10 + 4 * 6, "cortex-m4"}, Model{"rolled", 32, "cortex-m0"},
                                         Model{"cache_index_copy", 2 * 192, "cortex-m55", 1},
                                         Model{"cache_index_put", 2 * 192, "cortex-m4", 1},
                                         Model{"cache_shift", 2 * 192 + 16, "cortex-m0"}),
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

// With 16-bit activations the same operators have everything in 16 bits, an LSTM's h included.
TEST_F(StateCommands, RecurrentLayersHave16BitActivations) {
  struct {
    const char *name, *board, *kernel;
    int layers, buffer_bytes;
    double least_db;
  } table[] = {{"cells", "cortex-m4", "cormorant::recurrent.dsp_words", 3, 6 * 2 + 6 * 2 + 6 * 2 + 6 * 2, 37},
               {"lstm", "cortex-m55", "cormorant::recurrent.mve_words", 1, 2 * 6 * 2, 45},
               {"lstm_window", "cortex-m0", "cormorant::recurrent.scalar_words", 4, 0, 43},
               {"gru_window", "cortex-m4", "cormorant::recurrent.dsp_words", 4, 0, 45}};
  for (const auto& t : table) {
    SCOPED_TRACE(t.name);
    const ProgramFile program = compile(t.name, {"--target", t.board, "--scheme=8w16a", "--sequence", "--calibrate",
                                                 zoo("state/" + std::string(t.name) + "_expected.npz")});
    EXPECT_EQ(json_.at("operators").value(t.kernel, 0), t.layers) << json_.at("operators").dump(1);
    EXPECT_EQ(json_.at("buffer_bytes").get<int>(), t.buffer_bytes);
    for (const auto& [name, count] : json_.at("operators").items()) EXPECT_EQ(name.find("clone"), std::string::npos);
    const Expected data = expected(program, t.name);
    ExecuteOn where;
    where.steps = data.steps;
    const Execution host = execute(program, data.inputs, where);
    EXPECT_GT(sqnr(outputs_of(program, host), data.outputs, data.inputs.size()), t.least_db);
    where.target = parse_target(t.board);
    const Execution board = execute(program, data.inputs, where);
    for (std::size_t k = 0; k < host.outputs.size(); ++k) {
      ASSERT_EQ(host.outputs[k].at(0).data, board.outputs[k].at(0).data) << "step " << k;
    }
  }
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

// A row of a cache, or of a window, is written where it lies: nothing else of it is moved but by one shift.
TEST_F(StateCommands, OfACacheOneRowIsWritten) {
  const auto count_of = [&](const char* name, const std::string& part) {
    const std::string data = zoo("state/" + std::string(name) + "_expected.npz");
    compile(name, {"--target", "cortex-m55", "--io=int8", "--sequence", "--calibrate", data});
    int count = 0;
    for (const auto& [op, times] : json_.at("operators").items()) {
      if (op.find(part) != std::string::npos) count += times.get<int>();
    }
    return count;
  };
  for (const char* name : {"cache_index_copy", "cache_index_put"}) {
    EXPECT_EQ(count_of(name, "cormorant::update_at.mve"), 2) << name;
    EXPECT_EQ(count_of(name, "clone"), 0) << name;
    EXPECT_EQ(count_of(name, "scatter"), 0) << name;
  }
  for (const auto& [name, shifts] : {std::pair{"cache_shift", 3}, {"shift_register", 1}, {"rolled", 1}}) {
    EXPECT_EQ(count_of(name, "cormorant::update_shift.mve"), shifts) << name << json_.at("operators").dump(1);
    EXPECT_EQ(count_of(name, "clone") + count_of(name, "cat") + count_of(name, "slice"), 0) << name;
  }
}

TEST_F(StateCommands, ForExecuTorchRecurrentLayersAreWrittenOut) {
  compile("lstm", {"--runtime", "executorch"});
  for (const auto& [name, count] : json_.at("operators").items()) {
    EXPECT_EQ(name.find("cormorant::"), std::string::npos) << name;
  }
}

// tests/interop/portable.py --ours executes these in ExecuTorch's runtime.
TEST_F(StateCommands, ForExecuTorchStateIsPlannedMemoryWithInitialContents) {
  for (const char* const name : {"cell", "cache_shift", "delays"}) {
    const ProgramFile program = compile(name, {"--runtime", "executorch"});
    EXPECT_TRUE(program.has_state) << name;
    const Expected data = expected(program, name);
    ExecuteOn where;
    where.steps = data.steps;
    const std::vector<float> got = outputs_of(program, execute(program, data.inputs, where));
    for (std::size_t i = 0; i < data.outputs.size(); ++i) ASSERT_NEAR(got[i], data.outputs[i], 1e-4F) << name;
    // Its add takes the wrong operand for the one with the factor.
    if (std::string(name) == "cell") EXPECT_TRUE(json_.at("operators").contains("aten::sub.out"));
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

// tests/testdata/refused.py exports them.
TEST_F(StateCommands, StateThatCannotBeKeptIsRefusedByNameAndLine) {
  const auto refusal = [&](const char* name) {
    const Ran ran = cormorant(
        directory_.path(),
        {"compile", CORMORANT_SOURCE_DIR "/tests/testdata/" + std::string(name), "--no-link", "-o", "model.pte"});
    EXPECT_EQ(ran.status, 1) << name;
    return ran.err;
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const std::string cond = refusal("buffer_under_cond.pt2");
  has(cond, "inner (refused.py:16): the buffer 'inner.level' is changed under control flow (higher_order.cond)");
  const std::string loop = refusal("buffer_under_while.pt2");
  has(loop, "inner (refused.py:40): the buffer 'inner.level' is changed under control flow (higher_order.while_loop)");
  const std::string grows = refusal("buffer_that_grows.pt2");
  has(grows, "refused.py:27: the buffer 'seen' changes its shape from [1, 4] to [2, 4]");
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
