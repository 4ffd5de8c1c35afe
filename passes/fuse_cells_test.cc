// SPDX-License-Identifier: Apache-2.0
//
// LSTM, GRU and RNN cells as people and PyTorch spell them: the graph computes the same as before, with one recurrent
// layer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "evaluate/graph.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

constexpr int kInputs = 3, kUnits = 2;

// Graphs as text, node by node.
class Text {
 public:
  std::string state(const std::string& name, const std::string& kind = "state", int rows = 1) {
    const std::vector<std::string> zeros(static_cast<std::size_t>(rows * kUnits), "0.0");
    text_ += fmt::format("{} %{} : f32[{},{}]", kind, name, rows, kUnits);
    text_ += kind == "input" ? "\n" : fmt::format(" = [{}]\n", fmt::join(zeros, ", "));
    return "%" + name;
  }
  std::string input(int steps) {
    text_ += fmt::format("input %x : f32[{},{}]\n", steps, kInputs);
    return "%x";
  }
  // Numbers of no pattern.
  std::string constant(int rows, int columns = 0) {
    std::uniform_real_distribution<float> number(-1, 1);
    std::string list;
    for (int i = 0; i < rows * std::max(columns, 1); ++i)
      list += fmt::format("{}{:.4f}", i == 0 ? "" : ", ", number(random_));
    const std::string name = fmt::format("%w{}", count_++);
    text_ += fmt::format("const {} : f32[{}] = [{}]\n", name,
                         columns == 0 ? fmt::format("{}", rows) : fmt::format("{},{}", rows, columns), list);
    return name;
  }
  std::string one() {
    text_ += "const %one : f32[] = [1.0]\n";
    return "%one";
  }
  std::string node(int columns, const std::string& call, int rows = 1) {
    const std::string name = fmt::format("v{}", count_++);
    text_ += fmt::format("node \"{0}\" \"cell\" \"m.py:{1}\"\n  %{0} : f32[{2},{3}] = aten.{4}\n", name, count_, rows,
                         columns, call);
    return "%" + name;
  }
  std::string linear(const std::string& x, const std::string& w, const std::string& b, int columns, int rows = 1) {
    return node(columns, fmt::format("linear(input={}, weight={}, bias={})", x, w, b), rows);
  }
  std::string add(const std::string& a, const std::string& b, int columns = kUnits, double alpha = 1) {
    return node(columns, fmt::format("add(self={}, other={}, alpha={:.1f})", a, b, alpha));
  }
  std::string mul(const std::string& a, const std::string& b) {
    return node(kUnits, fmt::format("mul(self={}, other={})", a, b));
  }
  std::string sigmoid(const std::string& a) { return node(kUnits, fmt::format("sigmoid(self={})", a)); }
  std::string tanh(const std::string& a) { return node(kUnits, fmt::format("tanh(self={})", a)); }
  std::string gate(const std::string& all, int k) {
    return node(kUnits,
                fmt::format("slice(self={}, dim=1, start={}, end={}, step=1)", all, k * kUnits, (k + 1) * kUnits));
  }
  std::string row(const std::string& all, int k, int columns) {
    return node(columns, fmt::format("slice(self={}, dim=0, start={}, end={}, step=1)", all, k, k + 1));
  }
  std::string flip(const std::string& all, int columns, int rows) {
    return node(columns, fmt::format("flip(self={}, dims=[0])", all), rows);
  }
  std::string cat(const std::vector<std::string>& parts, int dim, int columns, int rows) {
    return node(columns, fmt::format("cat(tensors={{{}}}, dim={})", fmt::join(parts, ", "), dim), rows);
  }
  void line(const std::string& text) { text_ += text + "\n"; }
  [[nodiscard]] ir::Graph graph() const { return ir::parse("graph g\n" + text_, "test"); }

 private:
  std::string text_;
  int count_ = 0;
  std::mt19937 random_{1};
};

// Several executions, so that states count.
std::vector<float> run(const ir::Graph& graph) {
  std::mt19937 random(2);
  std::normal_distribution<float> number;
  const evaluate::Evaluator evaluator(graph);
  std::vector<evaluate::Tensor> states = evaluator.initial_states();
  std::vector<float> all;
  for (int step = 0; step < 4; ++step) {
    std::vector<evaluate::Tensor> inputs;
    for (const ir::Value* input : graph.inputs()) {
      std::vector<float> data(static_cast<std::size_t>(input->type.elements()));
      for (float& element : data) element = number(random);
      inputs.emplace_back(input->type.shape, std::move(data));
    }
    for (const evaluate::Tensor& output : evaluator.step(inputs, states)) {
      all.insert(all.end(), output.values().begin(), output.values().end());
    }
  }
  return all;
}

// The layers' steps after the pass, and how many nodes are left beside them.
struct Fused {
  std::vector<std::int64_t> steps;
  std::vector<bool> backwards;
  std::size_t others = 0;
};

Fused fused(const Text& text) {
  ir::Graph graph = text.graph();
  const std::vector<float> before = run(graph);
  fuse_cells(graph);
  ir::verify(graph, "fuse_cells");
  const std::vector<float> after = run(graph);
  EXPECT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i], after[i], 1e-5) << i;
  Fused found;
  for (const ir::Node& node : graph.nodes()) {
    if (node.op == "aten.recurrent") {
      found.steps.push_back(node.tensor("input")->type.shape[0]);
      found.backwards.push_back(node.boolean("backwards"));
    } else if (node.op != "aten.view" && node.op != "aten.slice") {
      ++found.others;
    }
  }
  return found;
}

struct State {
  std::string h, c;
};

// The gates' places in the weights are the caller's: i f g o is PyTorch's order.
State lstm(Text& t, const std::string& sums, const std::string& c, const std::array<int, 4>& order = {0, 1, 2, 3}) {
  const std::string kept = t.mul(t.sigmoid(t.gate(sums, order[1])), c);
  const std::string added = t.mul(t.sigmoid(t.gate(sums, order[0])), t.tanh(t.gate(sums, order[2])));
  const std::string new_c = t.add(kept, added);
  return {t.mul(t.sigmoid(t.gate(sums, order[3])), t.tanh(new_c)), new_c};
}

TEST(FuseCells, FindsAnLstmWithStateAndItsGatesInAnyOrder) {
  for (const std::array<int, 4>& order : {std::array{0, 1, 2, 3}, std::array{2, 0, 3, 1}}) {
    Text t;
    const std::string x = t.input(1), w = t.constant(4 * kUnits, kInputs), u = t.constant(4 * kUnits, kUnits);
    const std::string b = t.constant(4 * kUnits), d = t.constant(4 * kUnits);
    const std::string h = t.state("h"), c = t.state("c");
    const std::string sums = t.add(t.linear(x, w, b, 4 * kUnits), t.linear(h, u, d, 4 * kUnits), 4 * kUnits);
    const State next = lstm(t, sums, c, order);
    t.line("update %h = " + next.h + "\nupdate %c = " + next.c + "\noutput " + next.h);
    const Fused found = fused(t);
    EXPECT_EQ(found.steps, std::vector<std::int64_t>{1});
    EXPECT_EQ(found.others, 0U);
  }
}

TEST(FuseCells, FindsAnLstmOfOneLinearLayerOverBoth) {
  Text t;
  const std::string x = t.input(1), w = t.constant(4 * kUnits, kInputs + kUnits), b = t.constant(4 * kUnits);
  const std::string h = t.state("h"), c = t.state("c");
  const std::string both = t.node(kInputs + kUnits, "cat(tensors={" + x + ", " + h + "}, dim=1)");
  const State next = lstm(t, t.linear(both, w, b, 4 * kUnits), c);
  t.line("update %h = " + next.h + "\nupdate %c = " + next.c + "\noutput " + next.h + "\noutput " + next.c);
  const Fused found = fused(t);
  EXPECT_EQ(found.steps, std::vector<std::int64_t>{1});
  EXPECT_EQ(found.others, 0U);
}

// What x consists of and h, h first or last.
TEST(FuseCells, FindsAnLstmOfOneLinearLayerOverSeveral) {
  for (const bool h_last : {false, true}) {
    Text t;
    const std::string x = t.input(1), y = t.state("y", "input"), h = t.state("h"), c = t.state("c");
    const std::string w = t.constant(4 * kUnits, kInputs + 2 * kUnits), b = t.constant(4 * kUnits);
    const std::vector<std::string> parts = h_last ? std::vector{x, y, h} : std::vector{h, x, y};
    const State next = lstm(t, t.linear(t.cat(parts, 1, kInputs + 2 * kUnits, 1), w, b, 4 * kUnits), c);
    t.line("update %h = " + next.h + "\nupdate %c = " + next.c + "\noutput " + next.h);
    const Fused found = fused(t);
    EXPECT_EQ(found.steps, std::vector<std::int64_t>{1});
    EXPECT_EQ(found.others, 1U);  // the concatenation of x and y
  }
}

// h is what a linear layer makes of o · tanh c: one with fewer elements, alone, without a bias.
TEST(FuseCells, FindsAnLstmWithAProjection) {
  constexpr int kSteps = 3, kLess = 1;
  for (const bool has_bias : {false, true}) {
    Text t;
    const std::string x = t.input(kSteps), w = t.constant(4 * kUnits, kInputs), u = t.constant(4 * kUnits, kLess);
    const std::string projection = t.constant(kLess, kUnits), bias = has_bias ? t.constant(kLess) : "none";
    t.line("const %begin : f32[1,1] = [0.0]");
    State state{"%begin", t.state("c", "const")};
    const std::string from_x = t.linear(x, w, "none", 4 * kUnits, kSteps);
    std::vector<std::string> all;
    for (int k = 0; k < kSteps; ++k) {
      const std::string from_h = t.linear(state.h, u, "none", 4 * kUnits);
      state = lstm(t, t.add(from_h, t.row(from_x, k, 4 * kUnits), 4 * kUnits), state.c);
      state.h = t.linear(state.h, projection, bias, kLess);
      all.push_back(state.h);
    }
    t.line("output " + t.cat(all, 0, kLess, kSteps) + "\noutput " + state.c);
    const Fused found = fused(t);
    EXPECT_EQ(found.steps, has_bias ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{kSteps});
    if (!has_bias) EXPECT_EQ(found.others, 0U);
  }
}

// As PyTorch decomposes a layer: the inputs of all steps in one product, the first step from zeros.
std::string unrolled_lstm(Text& t, const std::string& x, int steps, bool backwards, int inputs = kInputs) {
  const std::string w = t.constant(4 * kUnits, inputs), u = t.constant(4 * kUnits, kUnits), b = t.constant(4 * kUnits);
  State state{t.state("zero_h" + w.substr(1), "const"), t.state("zero_c" + w.substr(1), "const")};
  const std::string from_x = t.linear(x, w, b, 4 * kUnits, steps);
  std::vector<std::string> all(static_cast<std::size_t>(steps));
  for (int k = 0; k < steps; ++k) {
    const int at = backwards ? steps - 1 - k : k;
    state =
        lstm(t, t.add(t.linear(state.h, u, "none", 4 * kUnits), t.row(from_x, at, 4 * kUnits), 4 * kUnits), state.c);
    all[static_cast<std::size_t>(at)] = state.h;
  }
  return t.node(kUnits, fmt::format("cat(tensors={{{}}}, dim=0)", fmt::join(all, ", ")), steps);
}

TEST(FuseCells, StepsThroughASequenceAreOneLayer) {
  for (const bool backwards : {false, true}) {
    Text t;
    const std::string x = t.input(5);
    t.line("output " + unrolled_lstm(t, x, 5, backwards));
    const Fused found = fused(t);
    EXPECT_EQ(found.steps, std::vector<std::int64_t>{5});
    EXPECT_EQ(found.backwards, std::vector<bool>{backwards});
    EXPECT_EQ(found.others, 0U);
  }
}

// As PyTorch decomposes a layer whose input is not contiguous: a product of each step with the same matrix.
TEST(FuseCells, TheWeightsOfAllStepsMayBeRepeated) {
  constexpr int kSteps = 3;
  Text t;
  const std::string x = t.input(kSteps), w = t.constant(4 * kUnits, kInputs), u = t.constant(4 * kUnits, kUnits);
  const std::string b = t.constant(4 * kUnits);
  t.line("node \"t\" \"\" \"\"\n  %t : f32[3,8] = aten.permute(self=" + w + ", dims=[1, 0])");
  t.line("node \"v\" \"\" \"\"\n  %v : f32[1,3,8] = aten.view(self=%t, size=[1, 3, 8])");
  t.line("node \"e\" \"\" \"\"\n  %e : f32[3,3,8] = aten.expand(self=%v, size=[3, 3, 8])");
  t.line("node \"r\" \"\" \"\"\n  %r : f32[3,1,3] = aten.view(self=" + x + ", size=[3, 1, 3])");
  t.line("node \"p\" \"\" \"\"\n  %p : f32[3,1,8] = aten.bmm(self=%r, mat2=%e, transposed=false, scale=1.0)");
  t.line("node \"s\" \"\" \"\"\n  %s : f32[3,1,8] = aten.add(self=%p, other=" + b + ", alpha=1.0)");
  State state{t.state("h", "const"), t.state("c", "const")};
  for (int k = 0; k < kSteps; ++k) {
    t.line(
        fmt::format("node \"q{0}\" \"\" \"\"\n  %q{0} : f32[1,1,8] = aten.slice(self=%s, dim=0, start={0}, end={1}, "
                    "step=1)\nnode \"z{0}\" \"\" \"\"\n  %z{0} : f32[1,8] = aten.view(self=%q{0}, size=[1, 8])",
                    k, k + 1));
    const std::string from_h = t.linear(state.h, u, "none", 4 * kUnits);
    state = lstm(t, t.add(from_h, fmt::format("%z{}", k), 4 * kUnits), state.c);
  }
  t.line("output " + state.h);
  const Fused found = fused(t);
  EXPECT_EQ(found.steps, std::vector<std::int64_t>{kSteps});
  EXPECT_EQ(found.others, 0U);
}

TEST(FuseCells, LayersReadTheLayersBeforeThem) {
  Text t;
  const std::string x = t.input(3);
  t.line("output " + unrolled_lstm(t, unrolled_lstm(t, x, 3, false), 3, false, kUnits));
  const Fused found = fused(t);
  EXPECT_EQ(found.steps, (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(found.others, 0U);
}

// As PyTorch decomposes a layer's backward direction: its steps go forwards through flipped products.
enum class Flips : std::uint8_t { products, inputs_and_results };

TEST(FuseCells, StepsThroughWhatIsFlippedGoBackwards) {
  for (const Flips flips : {Flips::products, Flips::inputs_and_results}) {
    Text t;
    constexpr int kSteps = 4;
    const std::string x = t.input(kSteps), w = t.constant(4 * kUnits, kInputs), u = t.constant(4 * kUnits, kUnits);
    State state{t.state("h", "const"), t.state("c", "const")};
    const bool at_once = flips == Flips::products;
    const std::string from_x = at_once ? t.flip(t.linear(x, w, "none", 4 * kUnits, kSteps), 4 * kUnits, kSteps)
                                       : t.linear(t.flip(x, kInputs, kSteps), w, "none", 4 * kUnits, kSteps);
    std::vector<std::string> all;
    for (int k = 0; k < kSteps; ++k) {
      const std::string from_h = t.linear(state.h, u, "none", 4 * kUnits);
      state = lstm(t, t.add(from_h, t.row(from_x, k, 4 * kUnits), 4 * kUnits), state.c);
      all.push_back(state.h);
    }
    if (at_once) std::ranges::reverse(all);
    const std::string made = t.cat(all, 0, kUnits, kSteps);
    t.line("output " + (at_once ? made : t.flip(made, kUnits, kSteps)));
    const Fused found = fused(t);
    EXPECT_EQ(found.steps, std::vector<std::int64_t>{kSteps});
    EXPECT_EQ(found.backwards, std::vector<bool>{true});
    EXPECT_EQ(found.others, 0U);
  }
}

// A flip that takes a batch apart is not a direction.
TEST(FuseCells, AFlippedBatchIsNotAStep) {
  Text t;
  const std::string x = t.input(4), w = t.constant(4 * kUnits, kInputs), u = t.constant(4 * kUnits, kUnits);
  State state{t.state("h", "const", 2), t.state("c", "const", 2)};
  const std::string from_x = t.flip(t.linear(x, w, "none", 4 * kUnits, 4), 4 * kUnits, 4);
  const auto gate = [&](const std::string& sums, int k) {
    return t.node(kUnits,
                  fmt::format("slice(self={}, dim=1, start={}, end={}, step=1)", sums, k * kUnits, k * kUnits + kUnits),
                  2);
  };
  const auto of = [&](const char* op, const std::string& a, const std::string& b = "") {
    const std::string other = b.empty() ? "" : ", other=" + b;
    return t.node(kUnits, fmt::format("{}(self={}{})", op, a, other), 2);
  };
  for (int k = 0; k < 2; ++k) {
    const std::string rows =
        t.node(4 * kUnits, fmt::format("slice(self={}, dim=0, start={}, end={}, step=1)", from_x, 2 * k, 2 * k + 2), 2);
    const std::string from_h = t.linear(state.h, u, "none", 4 * kUnits, 2);
    const std::string sums = t.node(4 * kUnits, fmt::format("add(self={}, other={}, alpha=1.0)", from_h, rows), 2);
    const std::string kept = of("mul", of("sigmoid", gate(sums, 1)), state.c);
    const std::string added = of("mul", of("sigmoid", gate(sums, 0)), of("tanh", gate(sums, 2)));
    state.c = t.node(kUnits, fmt::format("add(self={}, other={}, alpha=1.0)", kept, added), 2);
    state.h = of("mul", of("sigmoid", gate(sums, 3)), of("tanh", state.c));
  }
  t.line("output " + state.h);
  EXPECT_TRUE(fused(t).steps.empty());
}

TEST(FuseCells, ALayerReadsBothDirectionsOfTheOneBeforeIt) {
  Text t;
  const std::string x = t.input(3);
  const std::string both = t.cat({unrolled_lstm(t, x, 3, false), unrolled_lstm(t, x, 3, true)}, 1, 2 * kUnits, 3);
  t.line("output " + unrolled_lstm(t, both, 3, false, 2 * kUnits));
  const Fused found = fused(t);
  EXPECT_EQ(found.steps, (std::vector<std::int64_t>{3, 3, 3}));
  EXPECT_EQ(found.backwards, (std::vector<bool>{false, true, false}));
  EXPECT_EQ(found.others, 1U);  // the concatenation
}

// Its update is what the last step makes, not the first, and x may be as wide as h.
TEST(FuseCells, SeveralStepsGoOnFromAState) {
  for (const int inputs : {kInputs, kUnits}) {
    Text t;
    std::string x = t.input(3);
    if (inputs != kInputs) x = t.linear(x, t.constant(inputs, kInputs), "none", inputs, 3);
    const std::string w = t.constant(4 * kUnits, inputs), u = t.constant(4 * kUnits, kUnits);
    State state{t.state("h"), t.state("c")};
    for (int k = 0; k < 3; ++k) {
      const std::string from_x = t.linear(t.row(x, k, inputs), w, "none", 4 * kUnits);
      state = lstm(t, t.add(from_x, t.linear(state.h, u, "none", 4 * kUnits), 4 * kUnits), state.c);
    }
    t.line("update %h = " + state.h + "\nupdate %c = " + state.c + "\noutput " + state.h);
    const Fused found = fused(t);
    EXPECT_EQ(found.steps, std::vector<std::int64_t>{3});
    EXPECT_EQ(found.others, inputs == kInputs ? 0U : 1U);
  }
}

TEST(FuseCells, LayersMayShareABufferForTheirStates) {
  Text t;
  std::string x = t.input(1);
  const std::string h = t.state("h", "state", 2), c = t.state("c", "state", 2);
  std::vector<std::string> all_h, all_c;
  for (int layer = 0; layer < 2; ++layer) {
    const std::string w = t.constant(4 * kUnits, layer == 0 ? kInputs : kUnits), u = t.constant(4 * kUnits, kUnits);
    const std::string from_x = t.linear(x, w, "none", 4 * kUnits);
    const std::string from_h = t.linear(t.row(h, layer, kUnits), u, "none", 4 * kUnits);
    const State next = lstm(t, t.add(from_x, from_h, 4 * kUnits), t.row(c, layer, kUnits));
    x = next.h;
    all_h.push_back(next.h);
    all_c.push_back(next.c);
  }
  t.line("update %h = " + t.cat(all_h, 0, kUnits, 2) + "\nupdate %c = " + t.cat(all_c, 0, kUnits, 2) + "\noutput " + x);
  const Fused found = fused(t);
  EXPECT_EQ(found.steps, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(found.others, 2U);  // the concatenations
}

TEST(FuseCells, AnLstmMayBeginWithWhatAnotherLayerComputes) {
  Text t;
  const std::string x = t.input(3), w = t.constant(4 * kUnits, kInputs), u = t.constant(4 * kUnits, kUnits);
  const std::string first = t.row(x, 0, kInputs);
  State state{t.linear(first, t.constant(kUnits, kInputs), "none", kUnits),
              t.linear(first, t.constant(kUnits, kInputs), "none", kUnits)};
  for (int k = 0; k < 3; ++k) {
    const std::string from_x = t.linear(t.row(x, k, kInputs), w, "none", 4 * kUnits);
    state = lstm(t, t.add(from_x, t.linear(state.h, u, "none", 4 * kUnits), 4 * kUnits), state.c);
  }
  t.line("output " + state.h);
  const Fused found = fused(t);
  EXPECT_EQ(found.steps, std::vector<std::int64_t>{3});
  EXPECT_EQ(found.others, 2U);
}

TEST(FuseCells, ACellStateThatIsReadInBetweenEndsALayer) {
  Text t;
  const std::string x = t.input(2), w = t.constant(4 * kUnits, kInputs), u = t.constant(4 * kUnits, kUnits);
  State state{t.state("h", "const"), t.state("c", "const")};
  for (int k = 0; k < 2; ++k) {
    const std::string from_x = t.linear(t.row(x, k, kInputs), w, "none", 4 * kUnits);
    state = lstm(t, t.add(from_x, t.linear(state.h, u, "none", 4 * kUnits), 4 * kUnits), state.c);
    t.line("output " + state.c);
  }
  t.line("output " + state.h);
  EXPECT_EQ(fused(t).steps, (std::vector<std::int64_t>{1, 1}));
}

enum class Blend : std::uint8_t { product, difference };

std::string gru(Text& t, const std::string& from_x, const std::string& from_h, const std::string& h,
                const std::string& one, Blend blend) {
  const std::string r = t.sigmoid(t.add(t.gate(from_x, 0), t.gate(from_h, 0)));
  const std::string z = t.sigmoid(t.add(t.gate(from_h, 1), t.gate(from_x, 1)));
  const std::string n = t.tanh(t.add(t.gate(from_x, 2), t.mul(r, t.gate(from_h, 2))));
  if (blend == Blend::difference) return t.add(t.mul(t.add(h, n, kUnits, -1), z), n);
  return t.add(t.mul(t.add(one, z, kUnits, -1), n), t.mul(z, h));
}

TEST(FuseCells, FindsAGruHoweverItBlends) {
  for (const Blend blend : {Blend::product, Blend::difference}) {
    Text t;
    const std::string x = t.input(1), w = t.constant(3 * kUnits, kInputs), u = t.constant(3 * kUnits, kUnits);
    const std::string b = t.constant(3 * kUnits), d = t.constant(3 * kUnits), one = t.one(), h = t.state("h");
    const std::string next = gru(t, t.linear(x, w, b, 3 * kUnits), t.linear(h, u, d, 3 * kUnits), h, one, blend);
    t.line("update %h = " + next + "\noutput " + next);
    const Fused found = fused(t);
    EXPECT_EQ(found.steps, std::vector<std::int64_t>{1});
    EXPECT_EQ(found.others, 0U);
  }
}

TEST(FuseCells, StepsOfAGruAreOneLayerToo) {
  Text t;
  const std::string x = t.input(4), w = t.constant(3 * kUnits, kInputs), u = t.constant(3 * kUnits, kUnits);
  const std::string d = t.constant(3 * kUnits), one = t.one();
  std::string h = t.state("h", "const");
  for (int k = 0; k < 4; ++k) {
    const std::string from_x = t.linear(t.row(x, k, kInputs), w, "none", 3 * kUnits);
    h = gru(t, from_x, t.linear(h, u, d, 3 * kUnits), h, one, Blend::difference);
  }
  t.line("output " + h);
  const Fused found = fused(t);
  EXPECT_EQ(found.steps, std::vector<std::int64_t>{4});
  EXPECT_EQ(found.others, 0U);
}

TEST(FuseCells, FindsAnRnnThatKeepsItsState) {
  for (const bool keeps : {true, false}) {
    Text t;
    const std::string x = t.input(1), w = t.constant(kUnits, kInputs), u = t.constant(kUnits, kUnits);
    const std::string b = t.constant(kUnits), h = t.state("h");
    const std::string next = t.tanh(t.add(t.linear(x, w, b, kUnits), t.linear(h, u, "none", kUnits)));
    t.line("update %h = " + (keeps ? next : t.sigmoid(next)) + "\noutput " + next);
    EXPECT_EQ(fused(t).steps.size(), keeps ? 1U : 0U);
  }
}

// A relu is in every network: only what is multiplied by the same weights again, or kept, is an h.
TEST(FuseCells, FindsAnRnnWithReluButNoOtherLayers) {
  const auto relu = [](Text& t, const std::string& sum) {
    return t.node(kUnits, fmt::format("clamp(self={}, min=0.0, max=none)", sum));
  };
  for (const bool keeps : {true, false}) {
    Text t;
    const std::string x = t.input(1), w = t.constant(kUnits, kInputs), u = t.constant(kUnits, kUnits);
    const std::string b = t.constant(kUnits), h = t.state("h");
    const std::string next = relu(t, t.add(t.linear(x, w, b, kUnits), t.linear(h, u, "none", kUnits)));
    t.line("update %h = " + (keeps ? next : t.sigmoid(next)) + "\noutput " + next);
    EXPECT_EQ(fused(t).steps.size(), keeps ? 1U : 0U);
  }
  for (const bool again : {true, false}) {
    Text t;
    const std::string x = t.input(3), w = t.constant(kUnits, kInputs), u = t.constant(kUnits, kUnits);
    std::string h = t.state("h", "input");  // of any range
    for (int k = 0; k < 3; ++k) {
      const std::string from_x = t.linear(t.row(x, k, kInputs), w, "none", kUnits);
      h = relu(t, t.add(from_x, t.linear(h, again ? u : t.constant(kUnits, kUnits), "none", kUnits)));
    }
    t.line("output " + h);
    EXPECT_EQ(fused(t).steps, again ? std::vector<std::int64_t>{3} : std::vector<std::int64_t>{});
  }
}

TEST(FuseCells, AGruMayBeginWithAnything) {
  Text t;
  const std::string x = t.input(1), w = t.constant(3 * kUnits, kInputs), u = t.constant(3 * kUnits, kUnits);
  const std::string one = t.one(), y = t.state("y", "input"), h = t.add(y, y);
  t.line("output " +
         gru(t, t.linear(x, w, "none", 3 * kUnits), t.linear(h, u, "none", 3 * kUnits), h, one, Blend::product));
  EXPECT_EQ(fused(t).steps, std::vector<std::int64_t>{1});
}

// Reset before the product with the weights, as in the first paper: another function.
TEST(FuseCells, LeavesAGruThatResetsBeforeItMultiplies) {
  Text t;
  const std::string x = t.input(1), w = t.constant(3 * kUnits, kInputs), u = t.constant(2 * kUnits, kUnits);
  const std::string v = t.constant(kUnits, kUnits), one = t.one(), h = t.state("h");
  const std::string from_x = t.linear(x, w, "none", 3 * kUnits), from_h = t.linear(h, u, "none", 2 * kUnits);
  const std::string r = t.sigmoid(t.add(t.gate(from_x, 0), t.gate(from_h, 0)));
  const std::string z = t.sigmoid(t.add(t.gate(from_x, 1), t.gate(from_h, 1)));
  const std::string n = t.tanh(t.add(t.gate(from_x, 2), t.linear(t.mul(r, h), v, "none", kUnits)));
  const std::string next = t.add(t.mul(t.add(one, z, kUnits, -1), n), t.mul(z, h));
  t.line("update %h = " + next + "\noutput " + next);
  EXPECT_TRUE(fused(t).steps.empty());
}

}  // namespace
}  // namespace cormorant::passes
