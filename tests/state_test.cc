// SPDX-License-Identifier: Apache-2.0
//
// Models that keep state from one inference to the next, in the usual ways (zoo/state.py): along sequences they compute
// in float what PyTorch computed, in int8 nearly that, and on every board the host's bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "compiler/compile.h"
#include "ir/text.h"
#include "runner/process.h"
#include "runtime/host.h"
#include "target/parse.h"
#include "tests/command.h"
#include "tests/known_state.h"
#include "tests/sequences.h"

namespace cormorant::tests {
namespace {

Expected expected(const ProgramFile& program, const std::string& name) {
  return expected_of(program, zoo("state/" + name + "_expected.npz"));
}

struct Model {
  const char* name;
  int buffer_floats;  // elements of its buffers, and the position in a ring
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
    const HostProgram loaded(program.bytes, ops::host_kernels());
    EXPECT_EQ(loaded.program().buffer_bytes(), program.buffer_bytes);
    EXPECT_EQ(json_.at("buffer_bytes").get<std::uint64_t>(), program.buffer_bytes);
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
  expect_known_state(program, where, board);
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
                                         Model{"cache_shift", 2 * 192 + 16, "cortex-m0"},
                                         Model{"dilated", 80 * 17 + 1, "cortex-m4"}),
                         [](const auto& info) { return std::string(info.param.name); });

// Whatever moves the elements, writes only some or bounds them from one side: what comes back to its place with
// something added grows. What passes on, leaks or is bounded from both sides does not.
TEST(RunningSums, AreFoundByTheElementsThatComeBack) {
  const auto node = [](const std::string& name, const std::string& shape, const std::string& call) {
    return fmt::format("node \"{0}\" \"\" \"\"\n  %{0} : f32[{1}] = aten.{2}\n", name, shape, call);
  };
  const auto slice = [&](const std::string& name, const std::string& self, int start, int end) {
    const std::string call = fmt::format("slice(self={}, dim=1, start={}, end={}, step=1)", self, start, end);
    return node(name, fmt::format("1,{}", end - start), call);
  };
  const std::string first = slice("first", "%total", 0, 2), last = slice("last", "%total", 2, 4);
  const auto sum = [&](const std::string& name, const std::string& self, const std::string& other, int count) {
    return node(name, fmt::format("1,{}", count), fmt::format("add(self={}, other={}, alpha=1.0)", self, other));
  };
  const auto joined = [&](const std::string& a, const std::string& b) {
    return node("next", "1,4", fmt::format("cat(tensors={{{}, {}}}, dim=1)", a, b));
  };
  const std::string half = slice("half", "%x", 0, 2), all = sum("all", "%total", "%x", 4);
  const struct {
    const char* what;
    std::string nodes;
    bool grows;
  } table[] = {
      {"some of it", half + first + last + sum("more", "%first", "%half", 2) + joined("%more", "%last"), true},
      {"bounded from below", all + node("next", "1,4", "clamp(self=%all, min=0.0, max=none)"), true},
      {"in two executions", half + first + last + sum("more", "%last", "%half", 2) + joined("%more", "%first"), true},
      {"in another order",
       node("turned", "4,1", "permute(self=%total, dims=[1, 0])") +
           node("x_turned", "4,1", "view(self=%x, size=[4, 1])") +
           node("more", "4,1", "add(self=%x_turned, other=%turned, alpha=1.0)") +
           node("next", "1,4", "view(self=%more, size=[1, 4])"),
       true},
      {"passed on once", half + first + sum("more", "%first", "%half", 2) + joined("%half", "%more"), false},
      {"a delay line", half + last + joined("%last", "%half"), false},
      {"bounded from both sides", all + node("next", "1,4", "clamp(self=%all, min=0.0, max=6.0)"), false},
      {"a leak", sum("leak", "%total", "%x", 4) + node("next", "1,4", "mul(self=%leak, other=%nearly)"), false},
  };
  for (const auto& [what, nodes, grows] : table) {
    SCOPED_TRACE(what);
    ir::Graph graph = ir::parse(
        "graph g\ninput %x : f32[1,4]\nconst %nearly : f32[1] = [0.5]\n"
        "state %total : f32[1,4] = [0.0, 0.0, 0.0, 0.0]\n" +
            nodes + "update %total = %next\noutput %next\n",
        "test");
    compiler::Options options;
    options.quantize = true;
    const compiler::Facts facts = compiler::compile(graph, options).facts;
    const bool is_named = std::ranges::any_of(facts.float_operators, [](const compiler::FloatOperator& op) {
      return op.reason == "the buffer 'total' is a running sum, which outgrows any range";
    });
    EXPECT_EQ(is_named, grows);
    EXPECT_EQ(facts.float_operators.empty(), !grows);
  }
}

class StateCommands : public State {};  // without a parameter

TEST_F(StateCommands, ARunningSumStaysInFloatAndIsNamed) {
  compile("running_mean", {"--sequence", "--calibrate", zoo("state/running_mean_expected.npz")});
  std::string reasons;
  for (const auto& op : json_.at("float_operators")) reasons += op.at("reason").get<std::string>() + "\n";
  EXPECT_NE(reasons.find("the buffer 'total' is a running sum"), std::string::npos) << reasons;
  EXPECT_NE(reasons.find("the buffer 'count' is a running sum"), std::string::npos) << reasons;
}

// In PyTorch's decomposed form, too, which computes a layer step by step.
TEST_F(StateCommands, RecurrentLayersAndCellsAreOneOperatorEach) {
  struct {
    const char* name;
    int layers;
    std::string form = "";
  } table[] = {{"cells", 3},
               {"lstm", 1},
               {"lstm_window", 4},
               {"gru_window", 4},
               {"recurrent_mixed", 3},
               {"lstm_projected", 1, "_projected"},
               {"rnn_window", 1, "_relu"}};
  for (const auto& [name, layers, form] : table) {
    for (const bool in_int8 : {false, true}) {
      SCOPED_TRACE(name + std::string(in_int8 ? " in int8" : " in float"));
      Arguments more = {"--target", "cortex-m4"};
      const std::string data = zoo("state/" + std::string(name) + "_expected.npz");
      if (in_int8) more.insert(more.end(), {"--sequence", "--calibrate", data});
      compile(name, more);
      const nlohmann::json operators = json_.at("operators"), buffer_bytes = json_.at("buffer_bytes");
      const std::string expected = (in_int8 ? "cormorant::recurrent.dsp_pairs" : "cormorant::recurrent.float") + form;
      EXPECT_EQ(operators.value(expected, 0), layers) << operators.dump(1);
      if (in_int8) {
        EXPECT_TRUE(json_.at("float_operators").empty());
      }
      compile(name + std::string("_functional"), more);
      EXPECT_EQ(json_.at("operators"), operators);
      EXPECT_EQ(json_.at("buffer_bytes"), buffer_bytes);
    }
  }
}

// c and a GRU's h have 16 bits, h of an LSTM has 8; all are made in the state's own memory.
TEST_F(StateCommands, StatesOfRecurrentLayersHave16Bits) {
  compile("cells", {"--target", "cortex-m4", "--sequence", "--calibrate", zoo("state/cells_expected.npz")});
  EXPECT_EQ(json_.at("buffer_bytes").get<int>(), 6 * 2 + 6 * 2 + 6 * 1 + 6 * 2);
  for (const auto& [name, count] : json_.at("operators").items()) EXPECT_EQ(name.find("clone"), std::string::npos);
}

// With 16-bit activations the same operators have everything in 16 bits, an LSTM's h included.
TEST_F(StateCommands, BuffersOfIntegersAreNamed) {
  compile("cache_index_copy", {"--sequence", "--calibrate", zoo("state/cache_index_copy_expected.npz")});
  EXPECT_EQ(json_.at("integer_buffers"), (nlohmann::json{{"position", "i64"}}));
  compile("lstm");
  EXPECT_TRUE(json_.at("integer_buffers").empty());
}

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
    expect_known_state(program, where, board);
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
  const auto compile_for_m55 = [&](const char* name) {
    const std::string data = zoo("state/" + std::string(name) + "_expected.npz");
    compile(name, {"--target", "cortex-m55", "--io=int8", "--sequence", "--calibrate", data});
  };
  const auto count_of = [&](const std::string& part) {
    int count = 0;
    for (const auto& [op, times] : json_.at("operators").items()) {
      if (op.find(part) != std::string::npos) count += times.get<int>();
    }
    return count;
  };
  for (const char* name : {"cache_index_copy", "cache_index_put"}) {
    compile_for_m55(name);
    EXPECT_EQ(count_of("cormorant::update_at.mve"), 2) << name;
    EXPECT_EQ(count_of("clone"), 0) << name;
    EXPECT_EQ(count_of("scatter"), 0) << name;
  }
  for (const auto& [name, shifts] : {std::pair{"cache_shift", 3}, {"shift_register", 1}, {"rolled", 1}}) {
    compile_for_m55(name);
    EXPECT_EQ(count_of("cormorant::update_shift.mve"), shifts) << name << json_.at("operators").dump(1);
    EXPECT_EQ(count_of("clone") + count_of("cat") + count_of("slice"), 0) << name;
  }
}

// Three entries of a long delay line are read: they are copied, and the rest neither moves nor changes its order.
TEST_F(StateCommands, ADelayLineThatIsReadInFewPlacesIsARing) {
  compile("dilated",
          {"--target", "cortex-m55", "--io=int8", "--sequence", "--calibrate", zoo("state/dilated_expected.npz")});
  const auto& operators = json_.at("operators");
  EXPECT_EQ(operators.value("cormorant::update_ring.mve", 0), 1) << operators.dump(1);
  EXPECT_EQ(operators.size(), 3U) << operators.dump(1);  // with the convolution and the linear layer
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
    if (std::string(name) == "cell") {
      EXPECT_TRUE(json_.at("operators").contains("aten::sub.out"));
    }
  }
}

// What a step costs beside its products, of which MVE computes sixteen per instruction at best.
TEST(Recurrent, AStepOfAGruOf24UnitsTakesFewInstructionsBesideItsProducts) {
  constexpr std::int64_t kUnits = 24, kRows = 3 * kUnits, kMacs = kRows * 2 * kUnits;
  ir::Graph graph;
  std::minstd_rand random(5);
  const auto weight = [&](const char* name, const ir::Shape& shape) {
    std::vector<float> values(static_cast<std::size_t>(ir::float_type(shape).elements()));
    for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 401) - 200) / 1000;
    return graph.add_constant(name, ir::float_type(shape), ir::Bytes::of(std::span<const float>(values)));
  };
  const ir::Node* gru = graph.add_node(
      "gru", "aten.recurrent",
      {{"input", graph.add_input("x", ir::float_type({1, 1, kUnits}))},
       {"h", graph.add_state("h", ir::float_type({1, kUnits}), ir::Bytes::own(std::vector<std::byte>(4 * kUnits)))},
       {"c", ir::None{}},
       {"w_ih", weight("w_ih", {kRows, kUnits})},
       {"w_hh", weight("w_hh", {kRows, kUnits})},
       {"b_ih", weight("b_ih", {kRows})},
       {"b_hh", weight("b_hh", {kRows})},
       {"kind", std::string("gru")},
       {"backwards", false}},
      {ir::float_type({1, 1, kUnits}), ir::float_type({1, kUnits})});
  graph.add_output(gru->results[0]);
  graph.add_update(gru->tensor("h"), gru->results[1]);
  compiler::Options options;
  options.config.target = parse_target("cortex-m55");
  options.quantize = true;
  options.io = compiler::Io::int8;
  const ProgramFile program = program_from(compiler::compile(graph, options).program, "gru.pte");
  ExecuteOn where;
  where.target = options.config.target;
  const auto instructions = static_cast<std::int64_t>(execute(program, {Arrays{}}, where).board->execute_instructions);
  EXPECT_GT(instructions, kMacs / 16);
  EXPECT_LE(instructions - kMacs / 16, 1500);
  RecordProperty("instructions", std::to_string(instructions));
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

// Labels of every step, or of each sequence's last: one of each is wrong.
TEST_F(StateCommands, EvaluateComparesEveryStepOrTheLastOfEachSequence) {
  const ProgramFile program = compile("cell");
  const npy::DataSet data = npy::read_data_set(zoo("state/cell_expected.npz"));
  const npy::Array& x = *npy::find(data.arrays, "x");
  const npy::Array& y = *npy::find(data.arrays, "y");
  constexpr std::size_t kClasses = 6;
  const std::size_t samples = static_cast<std::size_t>(x.shape[0]), steps = static_cast<std::size_t>(x.shape[1]);
  const auto* scores = reinterpret_cast<const float*>(y.data.data());
  std::vector<std::int64_t> every, last;
  for (std::size_t i = 0; i < samples * steps; ++i) {
    const auto* row = scores + i * kClasses;
    every.push_back(std::max_element(row, row + kClasses) - row);
    if ((i + 1) % steps == 0) last.push_back(every.back());
  }
  every[5] = (every[5] + 1) % static_cast<std::int64_t>(kClasses);
  last[2] = (last[2] + 1) % static_cast<std::int64_t>(kClasses);
  const auto accuracy = [&](const std::vector<std::int64_t>& labels, std::vector<std::int64_t> shape) {
    const auto bytes = std::as_bytes(std::span(labels));
    npy::write_npz(directory_.path() / "test.npz",
                   {{"x", x}, {"y", {DType::i64, std::move(shape), {bytes.begin(), bytes.end()}}}});
    const Ran ran = cormorant(directory_.path(), {"evaluate", "model.pte", "--data", "test.npz", "--sequence", "--json",
                                                  "--float", zoo("state/cell.pt2")});
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.json();
  };
  const auto all = accuracy(every, {x.shape[0], x.shape[1]}), ends = accuracy(last, {x.shape[0]});
  EXPECT_DOUBLE_EQ(all.at("accuracy").get<double>(), 1 - 1.0 / static_cast<double>(samples * steps)) << all.dump(1);
  EXPECT_DOUBLE_EQ(ends.at("accuracy").get<double>(), 1 - 1.0 / static_cast<double>(samples)) << ends.dump(1);
  EXPECT_EQ(all.at("agreement").get<double>(), 1);
}

TEST_F(StateCommands, SequencesOfTheWrongRankAreRefused) {
  npy::write_npz(directory_.path() / "flat.npz", {{"x", {DType::f32, {4, 5}, std::vector<std::byte>(80)}}});
  const Ran compiled = cormorant(directory_.path(), {"compile", zoo("state/cell.pt2"), "--sequence", "--calibrate",
                                                     "flat.npz", "-o", "model.pte"});
  EXPECT_EQ(compiled.status, 1);
  EXPECT_NE(compiled.err.find("[4, 5] does not hold sequences for the model's input 'x' of shape [1, 5]"),
            std::string::npos)
      << compiled.err;
  compile("cell");
  npy::write_npy(directory_.path() / "flat.npy", {DType::f32, {4, 5}, std::vector<std::byte>(80)});
  for (const Arguments& arguments : {Arguments{"run", "model.pte", "--target=host", "--input", "flat.npy"},
                                     Arguments{"evaluate", "model.pte", "--data", "flat.npz"}}) {
    Arguments with_sequence = arguments;
    with_sequence.emplace_back("--sequence");
    const Ran ran = cormorant(directory_.path(), with_sequence);
    EXPECT_EQ(ran.status, 1) << ran.command;
    EXPECT_TRUE(has(ran.err, "flat.np")) << ran.command;
    EXPECT_TRUE(has(ran.err, "but a sequence for this input is [steps, 1, 5]")) << ran.command;
  }
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

TEST_F(StateCommands, InspectExplainsWithSequences) {
  npy::write_npz(directory_.path() / "x.npz", {{"x", {DType::f32, {2, 3, 1, 5}, std::vector<std::byte>(120)}}});
  const Ran ran = cormorant(directory_.path(), {"inspect", zoo("state/cell.pt2"), "--explain", "--calibrate", "x.npz",
                                                "--sequence", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_FALSE(ran.json().at("explanation").at("nodes").empty());
  EXPECT_TRUE(has(ran.err, "warning: only 2 calibration sequences")) << ran.err;
  EXPECT_FALSE(has(ran.err, "calibrate on sequences")) << ran.err;
}

}  // namespace
}  // namespace cormorant::tests
