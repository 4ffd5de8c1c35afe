// SPDX-License-Identifier: Apache-2.0
//
// The whole quantizer on small graphs of toy operators (evaluate/toy_operators.cc): text in, text out. Ranges are
// chosen so that scales are round numbers: values from 0 to 255 give scale 1, zero point -128.
#include "quantizer/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "quantizer/held_out.h"
#include "quantizer/observe.h"
#include "quantizer/trial.h"

namespace cormorant::quantizer {
namespace {

using evaluate::Tensor;

// One sample per list; one input.
Samples samples(std::vector<std::vector<float>> lists) {
  std::vector<Sample> all;
  for (std::vector<float>& list : lists) {
    const auto size = static_cast<std::int64_t>(list.size());
    all.push_back({Tensor({size}, std::move(list))});
  }
  return samples_of(std::move(all));
}

// As text: one for all elements but the sixth, which has the other of 0 and 1.
std::string weights(std::size_t count, bool only_sixth) {
  std::string text;
  for (std::size_t k = 0; k < count; ++k)
    text += (k == 0 ? "" : ", ") + std::string((k == 5) == only_sixth ? "1.0" : "0.0");
  return text;
}

QuantizeOptions exact() {
  QuantizeOptions options;
  options.observer = Observer::minmax;
  return options;
}

std::string quantized(const std::string& text, const QuantizeOptions& options = exact(),
                      const Samples& data = samples({{0, 255}, {100, 7}})) {
  ir::Graph graph = ir::parse("graph g\n" + text, "test");
  quantize(graph, data, options);
  ir::verify(graph, "quantize");
  return ir::print(graph);
}

// Steps of 1, or of 1/2 with a range half as wide.
TEST(Observe, AnotherRangeMustBeBetterOnMoreThanChance) {
  const ir::Graph graph = ir::parse(R"(graph g
input %x : f32[1]
node "d" "" ""
  %d : f32[1] = toy.double(input=%x)
output %d
)",
                                    "test");
  Annotation annotation;
  annotation.group_of[graph.outputs().front()] = 0;
  const std::vector<std::vector<Proposal>> proposals = {
      {{{Observer::minmax}, ir::per_tensor_i8(1, 0)}, {{Observer::mse}, ir::per_tensor_i8(0.5, 0)}}};
  const auto best = [&](const std::vector<std::vector<float>>& lists) {
    return best_proposals(graph, annotation, proposals, samples(lists), 1);
  };
  using Best = std::vector<std::size_t>;
  EXPECT_EQ(best({{20.25F}, {10.25F}, {5.25F}}), Best{1});  // always
  EXPECT_EQ(best({{20.25F}, {10.25F}, {32.0F}}), Best{0});  // on average, but not in one of three
  EXPECT_EQ(best({{32.0F}, {33.0F}, {34.0F}}), Best{0});    // never
}

TEST(Quantize, ConvertsOnceAtEachBorder) {
  EXPECT_EQ(quantized(R"(input %x : f32[2]
node "d" "net.d" "net.py:3"
  %d : f32[2] = toy.double(input=%x)
node "s" "net.s" "net.py:4"
  %s : f32[2] = toy.sum(a=%d, b=%x)
output %s
)"),
            R"(graph g
input %x : f32[2]
node "x_quantize" "net.d" "net.py:3"
  %x_quantize : i8[2] quant([1.0], [-128]) = quantized_decomposed.quantize_per_tensor(input=%x, scale=1.0, zero_point=-128, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "d" "net.d" "net.py:3"
  %d : i8[2] quant([2.0], [-128]) = toy.double(input=%x_quantize)
node "s" "net.s" "net.py:4"
  %s : i8[2] quant([3.0], [-128]) = toy.sum(a=%d, b=%x_quantize)
node "s_dequantize" "net.s" "net.py:4"
  %s_dequantize : f32[2] = quantized_decomposed.dequantize_per_tensor(input=%s, scale=3.0, zero_point=-128, quant_min=-128, quant_max=127, dtype=dtype.i8)
output %s_dequantize
)");
}

TEST(Quantize, WithIntegerInputsAndOutputsThereIsNoConversion) {
  QuantizeOptions options = exact();
  options.int8_io = true;
  EXPECT_EQ(quantized(R"(input %x : f32[2]
node "d" "" ""
  %d : f32[2] = toy.double(input=%x)
output %d
)",
                      options),
            R"(graph g
input %x : i8[2] quant([1.0], [-128])
node "d" "" ""
  %d : i8[2] quant([2.0], [-128]) = toy.double(input=%x)
output %d
)");
}

TEST(Quantize, WeightsAndBiasesBecomeIntegers) {
  EXPECT_EQ(quantized(R"(input %x : f32[2]
const %w : f32[2,2] = [127.0, 1.0, 0.0, -254.0]
const %b : f32[2] = [10.0, -6.0]
node "d" "" ""
  %d : f32[2] = toy.dense(input=%x, weight=%w, bias=%b)
output %d
)"),
            R"(graph g
input %x : f32[2]
const %w_int : i8[2,2] quant(axis 0, range -127 127, [1.0, 2.0], [0, 0]) = [127, 1, 0, -127]
const %b_int : i32[2] quant(axis 0, [1.0, 2.0], [0, 0]) = [10, -3]
node "x_quantize" "" ""
  %x_quantize : i8[2] quant([1.0], [-128]) = quantized_decomposed.quantize_per_tensor(input=%x, scale=1.0, zero_point=-128, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "d" "" ""
  %d : i8[2] quant([303.89410400390625], [85]) = toy.dense(input=%x_quantize, weight=%w_int, bias=%b_int)
node "d_dequantize" "" ""
  %d_dequantize : f32[2] = quantized_decomposed.dequantize_per_tensor(input=%d, scale=303.89410400390625, zero_point=85, quant_min=-128, quant_max=127, dtype=dtype.i8)
output %d_dequantize
)");
}

TEST(Quantize, ABiasFollowsTheUnitOfAnInputThatIsAnIntegerAlready) {
  const std::string text = quantized(R"(input %x : f32[2]
const %w : f32[1,2] = [127.0, 1.0]
const %b : f32[1] = [10.0]
node "a" "" ""
  %a : f32[2] = toy.double(input=%x)
node "d" "" ""
  %d : f32[1] = toy.dense(input=%a, weight=%w, bias=%b)
output %d
)");
  EXPECT_NE(text.find("const %b_int : i32[1] quant(axis 0, [2.0], [0]) = [5]"), std::string::npos) << text;
}

TEST(Quantize, OneScaleForAllChannelsWhereTheKernelTakesOne) {
  QuantizeOptions options = exact();
  options.per_tensor_weights = {"toy.dense"};
  const std::string text = quantized(R"(input %x : f32[2]
const %w : f32[2,2] = [127.0, 1.0, 0.0, -254.0]
const %b : f32[2] = [10.0, -6.0]
node "d" "" ""
  %d : f32[2] = toy.dense(input=%x, weight=%w, bias=%b)
output %d
)",
                                     options);
  EXPECT_NE(text.find("const %w_int : i8[2,2] quant(range -127 127, [2.0], [0]) = [64, 1, 0, -127]"), std::string::npos)
      << text;
  EXPECT_NE(text.find("const %b_int : i32[2] quant([2.0], [0]) = [5, -3]"), std::string::npos) << text;
}

// Both branches meet in a concatenation: all four tensors take the widest range, 0 to 1020.
TEST(Quantize, DataMovementSharesOneScale) {
  const std::string text = quantized(R"(input %x : f32[2]
node "a" "" ""
  %a : f32[2] = toy.double(input=%x)
node "b" "" ""
  %b : f32[2] = toy.double(input=%a)
node "m" "" ""
  %m : f32[2] = toy.move(input=%b)
node "j" "" ""
  %j : f32[4] = toy.join(tensors={%a, %m})
output %j
)");
  for (const char* part : {"%a : i8[2] quant([4.0], [-128])", "%b : i8[2] quant([4.0], [-128])",
                           "%m : i8[2] quant([4.0], [-128])", "%j : i8[4] quant([4.0], [-128])"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

// The text after `%name : ` in a graph's text.
std::string type_in(const std::string& text, const std::string& name) {
  const std::string before = "%" + name + " : ";
  const std::size_t at = text.find(before) + before.size();
  return text.substr(at, text.find(" = ", at) - at);
}

TEST(Quantize, StepsOfARecurrenceShareTheirParameters) {
  const std::string steps = quantized(R"(input %x : f32[2]
const %w : f32[2,2] = [0.5, 0.25, -0.5, 1.0]
node "a" "" ""
  %a : f32[2] = toy.dense(input=%x, weight=%w, bias=none)
node "b" "" ""
  %b : f32[2] = toy.double(input=%a)
node "c" "" ""
  %c : f32[2] = toy.dense(input=%b, weight=%w, bias=none)
node "d" "" ""
  %d : f32[2] = toy.double(input=%c)
output %d
)");
  EXPECT_EQ(type_in(steps, "a"), type_in(steps, "c")) << steps;
  EXPECT_EQ(type_in(steps, "b"), type_in(steps, "d")) << steps;
  const std::string heads = quantized(R"(input %x : f32[2]
const %w : f32[2,2] = [0.5, 0.25, -0.5, 1.0]
node "b" "" ""
  %b : f32[2] = toy.double(input=%x)
node "a" "" ""
  %a : f32[2] = toy.dense(input=%x, weight=%w, bias=none)
node "c" "" ""
  %c : f32[2] = toy.dense(input=%b, weight=%w, bias=none)
output %a
output %c
)");
  EXPECT_NE(type_in(heads, "a"), type_in(heads, "c")) << heads;
}

TEST(Quantize, AConstantOperandIsQuantizedWithTheOthersItSharesWith) {
  const std::string text = quantized(R"(input %x : f32[2]
const %c : f32[2] = [510.0, 4.0]
node "j" "" ""
  %j : f32[4] = toy.join(tensors={%x, %c})
node "s" "" ""
  %s : f32[2] = toy.sum(a=%x, b=%c)
output %j
output %s
)");
  EXPECT_NE(text.find("const %c_int : i8[2] quant([2.0], [-128]) = [127, -126]"), std::string::npos) << text;
  EXPECT_NE(text.find("toy.join(tensors={%x_quantize, %c_int})"), std::string::npos) << text;
  EXPECT_NE(text.find("toy.sum(a=%x_quantize, b=%c_int)"), std::string::npos) << text;
}

TEST(Quantize, AKnownRangeIsKeptAlongDataMovementButForcedOnNobody) {
  const std::string text = quantized(R"(input %x : f32[2]
node "u" "" ""
  %u : f32[2] = toy.unit(input=%x)
node "m" "" ""
  %m : f32[2] = toy.move(input=%u)
node "j" "" ""
  %j : f32[4] = toy.join(tensors={%x, %m})
output %j
)");
  EXPECT_NE(text.find("%u : i8[2] quant([0.00390625], [-128]) = toy.unit(input=%x_quantize)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("%m : i8[2] quant([0.00390625], [-128]) = toy.move(input=%u)"), std::string::npos) << text;
  // The concatenation has the measured range; what comes in another one is converted.
  EXPECT_NE(
      text.find(
          "%m_quantize : i8[2] quant([1.0], [-128]) = quantized_decomposed.quantize_per_tensor(input=%m_dequantize"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("%j : i8[4] quant([1.0], [-128]) = toy.join(tensors={%x_quantize, %m_quantize})"),
            std::string::npos)
      << text;
}

// Of a range that is known, calibration may see only the lowest part: its scale is halved, but neither of what the
// program returns, nor where other kernels run, nor once only.
TEST(Quantize, TheUnusedPartOfAKnownRangeIsGivenUp) {
  const std::string inner = R"(input %x : f32[2]
node "u" "" ""
  %u : f32[2] = toy.unit(input=%x)
node "d" "" ""
  %d : f32[2] = toy.double(input=%u)
output %d
)";
  const auto scale_of_u = [](const std::string& text, float largest, const QuantizeOptions& options) {
    const std::string result = quantized(text, options, samples({{0, largest}, {0, largest / 2}}));
    const std::string type = type_in(result, "u");
    return std::stod(type.substr(type.find("quant([") + 7));
  };
  for (const auto& [share, halvings] : {std::pair(0.9, 0), {0.4, 0}, {0.3, 0}, {0.16, 2}, {0.08, 3}, {1e-4, 8}}) {
    const auto largest = static_cast<float>(share);
    EXPECT_EQ(scale_of_u(inner, largest, exact()), std::ldexp(1.0 / 256, -halvings)) << share;
  }
  std::string returned = inner;
  returned.replace(returned.find("output %d"), 9, "output %u\noutput %d");
  EXPECT_EQ(scale_of_u(returned, 0.01F, exact()), 1.0 / 256);
  QuantizeOptions executorch = exact();
  executorch.executorch_operators = true;
  EXPECT_EQ(scale_of_u(inner, 0.01F, executorch), 1.0 / 256);
}

TEST(Quantize, FloatNodesAreNamedAndBorderedByOneConversionEach) {
  ir::Graph graph = ir::parse(R"(graph g
input %x : f32[2]
node "a" "" ""
  %a : f32[2] = toy.double(input=%x)
node "r" "head.odd" "net.py:9"
  %r : f32[2] = toy.refuse(input=%a)
node "f" "head.strange" "net.py:10"
  %f : f32[2] = toy.float(input=%a)
node "b" "" ""
  %b : f32[2] = toy.sum(a=%r, b=%f)
node "c" "" ""
  %c : f32[2] = toy.sum(a=%r, b=%b)
output %c
output %r
)",
                              "test");
  const QuantizeReport report = quantize(graph, samples({{0, 255}}), exact());
  ASSERT_EQ(report.float_nodes.size(), 2U);
  EXPECT_EQ(report.float_nodes[0].node, "r");
  EXPECT_EQ(report.float_nodes[0].op, "toy.refuse");
  EXPECT_EQ(report.float_nodes[0].source, "head.odd (net.py:9)");
  EXPECT_EQ(report.float_nodes[0].reason, "integers are beneath it");
  EXPECT_EQ(report.float_nodes[1].node, "f");
  EXPECT_NE(report.float_nodes[1].reason.find("toy.float"), std::string::npos);

  std::vector<std::string> conversions;
  for (const ir::Node& node : graph.nodes()) {
    if (node.op.starts_with("quantized_decomposed.")) conversions.push_back(node.name);
  }
  EXPECT_EQ(conversions,
            (std::vector<std::string>{"x_quantize", "a_dequantize", "r_quantize", "f_quantize", "c_dequantize"}));
  EXPECT_EQ(graph.outputs()[1]->name, "r");  // float already
}

TEST(Quantize, DataMovementBetweenFloatNodesStaysInFloat) {
  ir::Graph graph = ir::parse(R"(graph g
input %x : f32[2]
node "r" "" ""
  %r : f32[2] = toy.refuse(input=%x)
node "m" "" ""
  %m : f32[2] = toy.move(input=%r)
node "n" "" ""
  %n : f32[2] = toy.move(input=%m)
node "f" "" ""
  %f : f32[2] = toy.float(input=%n)
output %f
)",
                              "test");
  EXPECT_EQ(quantize(graph, samples({{0, 255}}), exact()).float_nodes.size(), 4U);
  EXPECT_EQ(graph.nodes().size(), 4U);
}

TEST(Quantize, LayersCanBeKeptInFloatByModulePath) {
  QuantizeOptions options = exact();
  options.layers = {{.path = "head", .where = "--float-layers", .keep_float = true}};
  ir::Graph graph = ir::parse(R"(graph g
input %x : f32[2]
node "a" "header" ""
  %a : f32[2] = toy.double(input=%x)
node "b" "head.fc" ""
  %b : f32[2] = toy.double(input=%a)
output %b
)",
                              "test");
  const QuantizeReport report = quantize(graph, samples({{0, 255}}), options);
  ASSERT_EQ(report.float_nodes.size(), 1U);
  EXPECT_EQ(report.float_nodes[0].node, "b");
}

TEST(Quantize, AWeightThatIsComputedKeepsItsNodeInFloat) {
  ir::Graph graph = ir::parse(R"(graph g
input %x : f32[2]
input %w : f32[1,2]
node "d" "" ""
  %d : f32[1] = toy.dense(input=%x, weight=%w, bias=none)
output %d
)",
                              "test");
  const QuantizeReport report = quantize(graph, samples_of({{Tensor({2}, {1, 2}), Tensor({1, 2}, {3, 4})}}), exact());
  ASSERT_EQ(report.float_nodes.size(), 1U);
  EXPECT_NE(report.float_nodes[0].reason.find("weight"), std::string::npos);
}

constexpr const char* kNetwork = R"(graph g
input %x : f32[3]
const %w : f32[4,3] = [0.5, -0.25, 1.5, 0.125, 0.75, -1.0, 2.0, 0.5, -0.5, 0.25, 1.0, 0.3]
const %b : f32[4] = [0.1, -0.2, 0.3, -0.4]
node "d" "" ""
  %d : f32[4] = toy.dense(input=%x, weight=%w, bias=%b)
node "m" "" ""
  %m : f32[4] = toy.move(input=%d)
node "s" "" ""
  %s : f32[4] = toy.sum(a=%m, b=%d)
output %s
)";

TEST(Quantize, GivesTheSameGraphForAnyNumberOfThreads) {
  std::vector<std::string> texts;
  for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
    ir::Graph graph = ir::parse(kNetwork, "test");
    QuantizeOptions options;
    options.threads = threads;
    quantize(graph, random_samples(graph, 101, 5), options);
    texts.push_back(ir::print(graph));
  }
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
}

TEST(Quantize, StaysCloseToTheFloatGraph) {
  const ir::Graph real = ir::parse(kNetwork, "test");
  ir::Graph integers = ir::parse(kNetwork, "test");
  const Samples data = random_samples(real, 200, 5);
  const QuantizeReport report = quantize(integers, data);
  EXPECT_EQ(report.ranges.size(), 4U);
  for (const ValueRange& range : report.ranges) EXPECT_GT(range.sqnr_db, 35) << range.value;
  double signal = 0, noise = 0;
  for (std::size_t k = 0; k < data.count; ++k) {
    const Tensor a = evaluate::evaluate_graph(real, data.load(k))[0];
    const Tensor b = evaluate::evaluate_graph(integers, data.load(k))[0];
    for (std::size_t i = 0; i < 4; ++i) {
      signal += a.values()[i] * a.values()[i];
      noise += (a.values()[i] - b.values()[i]) * (a.values()[i] - b.values()[i]);
    }
  }
  EXPECT_GT(10 * std::log10(signal / noise), 33);
}

TEST(Quantize, WithoutDataRandomInputsStandInAndAWarningSaysSo) {
  std::vector<std::string> texts;
  for (int run = 0; run < 2; ++run) {
    ir::Graph graph = ir::parse(kNetwork, "test");
    const QuantizeReport report = quantize(graph, {});
    ASSERT_EQ(report.warnings.size(), 1U);
    EXPECT_NE(report.warnings[0].find("not representative"), std::string::npos);
    texts.push_back(ir::print(graph));
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(Quantize, ReportsProgressUpToTheEnd) {
  ir::Graph graph = ir::parse(kNetwork, "test");
  using Steps = std::vector<std::size_t>;
  std::map<std::string, Steps, std::less<>> done;
  std::map<std::string, std::size_t, std::less<>> totals;
  QuantizeOptions options;
  options.progress = [&](std::string_view task, std::size_t now, std::size_t total) {
    done[std::string(task)].push_back(now);
    totals[std::string(task)] = total;
  };
  quantize(graph, random_samples(graph, 5, 1), options);
  EXPECT_EQ(done["calibrating"], (Steps{0, 1, 2, 3, 4, 5}));
  ASSERT_TRUE(done.contains("rounding weights"));
  for (const auto& [task, steps] : done) {
    EXPECT_EQ(steps.front(), 0U) << task;
    EXPECT_EQ(steps.back(), totals.at(task)) << task;
    EXPECT_TRUE(std::ranges::is_sorted(steps)) << task;
  }
}

TEST(Quantize, NamesTheNodeThatComputesSomethingInfinite) {
  ir::Graph graph = ir::parse(R"(graph g
input %x : f32[2]
node "ok" "" ""
  %a : f32[2] = toy.double(input=%x)
node "boom" "net.boom" "net.py:7"
  %b : f32[2] = toy.double(input=%a)
output %b
)",
                              "test");
  try {
    quantize(graph, samples({{0, 1}, {1e38F, 1}}), exact());
    ADD_FAILURE();
  } catch (const InputError& error) {
    const std::string text = error.what();
    for (const char* part : {"'boom'", "net.boom (net.py:7)", "sample 1"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

// The accumulator counts in steps of 1, the result was never seen outside 0 ± 0.013.
TEST(Quantize, AResultNextToZeroDoesNotGetAFinerUnitThanItsAccumulator) {
  ir::Graph graph = ir::parse(R"(graph g
input %x : f32[2]
const %w : f32[1,2] = [127.0, -127.0]
node "d" "" ""
  %d : f32[1] = toy.dense(input=%x, weight=%w, bias=none)
output %d
)",
                              "test");
  quantize(graph, samples({{255, 255}, {1, 0.9999F}}), exact());
  for (const ir::Node& node : graph.nodes()) {
    if (node.name != "d") continue;
    EXPECT_GE(node.result()->type.quant->scale(), 1);
  }
}

// A tensor with one value in 16,000 that is ten times larger. By its own squared error it must be expressed; a layer
// that does not read it is better off without, and one that reads nothing else needs it.
TEST(Quantize, TheRangeIsChosenByWhatIsBestWhereTheTensorIsUsed) {
  constexpr std::size_t kCount = 16000;
  std::vector<std::vector<float>> lists;
  for (std::size_t s = 0; s < 6; ++s) {
    std::vector<float>& list = lists.emplace_back(kCount);
    for (std::size_t k = 0; k < kCount; ++k) list[k] = static_cast<float>((k * 7919 + s * 104729) % 10007) / 10007;
    list[5] = 10 - static_cast<float>(s) / 20;
  }
  for (const bool reads_it : {false, true}) {
    ir::Graph graph =
        ir::parse("graph g\ninput %x : f32[16000]\nconst %w : f32[1,16000] = [" + weights(kCount, reads_it) +
                      "]\nnode \"c\" \"\" \"\"\n  %c : f32[16000] = toy.double(input=%x)\n"
                      "node \"d\" \"\" \"\"\n  %d : f32[1] = toy.dense(input=%c, weight=%w, bias=none)\n"
                      "output %d\n",
                  "test");
    const QuantizeReport report = quantize(graph, samples(lists));
    const auto& decision = report.decisions.at(0);
    EXPECT_EQ(decision.node, "c");
    EXPECT_EQ(decision.observer == "percentile" || decision.observer == "kl", !reads_it) << decision.observer;
    EXPECT_EQ(decision.scale < 0.02, !reads_it) << decision.scale;
  }
}

// Values from 0 to 255 in steps of 1, and the sets of parameters that a network is tried with.
TEST(Trial, KeepsTheFirstSetUnlessAnotherIsClearlyBetter) {
  const ir::Graph real = ir::parse(
      "graph g\ninput %x : f32[4]\nnode \"c\" \"\" \"\"\n  %c : f32[4] = toy.double(input=%x)\noutput %c\n", "test");
  const auto all_with = [&](double scale) {
    Parameters parameters;
    const std::size_t groups = annotate(real, {}).groups.size();
    parameters.params.assign(groups, ir::per_tensor_i8(scale, -128));
    return parameters;
  };
  std::vector<std::vector<float>> lists;
  for (int k = 0; k < 8; ++k) lists.push_back({static_cast<float>(10 * k), 250, 33, 7});
  const auto chosen = [&](const std::vector<double>& scales, std::size_t count = 8) {
    std::vector<Parameters> candidates;
    for (const double scale : scales) candidates.push_back(all_with(scale));
    Samples data = samples(lists);
    data.count = count;
    return quantize_with_best(real, candidates, data, {}).chosen;
  };
  EXPECT_EQ(chosen({5.0, 2.0, 8.0}), 1U);  // 2 is exact for doubled values
  EXPECT_EQ(chosen({1.0, 2.0}), 1U);       // 1 clips
  EXPECT_EQ(chosen({2.0, 5.0, 1.0}), 0U);
  EXPECT_EQ(chosen({5.0, 4.95}), 0U);
  EXPECT_EQ(chosen({5.0, 2.0}, 7), 0U);  // too few samples to tell
}

// A set that clips what it was not made by is not taken, however well it suits the rest.
TEST(Trial, JudgesByOtherSamplesThanRangesAreMadeBy) {
  const ir::Graph real = ir::parse(
      "graph g\ninput %x : f32[2]\nnode \"c\" \"\" \"\"\n  %c : f32[2] = toy.double(input=%x)\noutput %c\n", "test");
  const auto all_with = [&](double scale) {
    Parameters parameters;
    parameters.params.assign(annotate(real, {}).groups.size(), ir::per_tensor_i8(scale, -128));
    return parameters;
  };
  std::vector<std::vector<float>> lists;
  for (int k = 0; k < 16; ++k) lists.push_back({static_cast<float>(3 * k), k % 4 == 3 ? 200.0F : 1.0F});
  const Samples data = samples(lists);
  const Split split = hold_out(data);
  ASSERT_TRUE(split.held_out);
  EXPECT_EQ(split.fitted.count, 12U);
  EXPECT_EQ(split.judged.count, 4U);
  for (std::size_t k = 0; k < split.fitted.count; ++k) EXPECT_EQ(split.fitted.load(k)[0].values()[1], 1.0F);
  for (std::size_t k = 0; k < split.judged.count; ++k) EXPECT_EQ(split.judged.load(k)[0].values()[1], 200.0F);
  EXPECT_TRUE(split.is_held(7));
  EXPECT_FALSE(split.is_held(8));
  const std::vector<Parameters> candidates = {all_with(0.5), all_with(2)};  // up to 127, up to 510
  EXPECT_EQ(quantize_with_best(real, candidates, split.fitted, {}).chosen, 0U);
  EXPECT_EQ(quantize_with_best(real, real, candidates, split, {}).trial.chosen, 1U);
  EXPECT_FALSE(hold_out(samples({{1, 2}, {3, 4}})).held_out);  // too few
}

TEST(Quantize, RangesOfFewNumbersReachBeyondWhatWasSeen) {
  const std::string text = R"(graph g
input %x : f32[2]
node "d" "" ""
  %d : f32[2] = toy.double(input=%x)
output %d
)";
  ir::Graph few = ir::parse(text, "test"), as_asked = ir::parse(text, "test");
  const Samples data = samples({{0, 255}, {100, 7}});
  const double scale = quantize(few, data).decisions.at(0).scale;
  EXPECT_GT(scale, 2.2);
  EXPECT_LT(scale, 3);
  EXPECT_EQ(quantize(as_asked, data, exact()).decisions.at(0).scale, 2);
}

// A function of one number: between two samples nothing is hidden.
TEST(Quantize, SamplesSideBySideLeaveNoRoomBeyondThem) {
  ir::Graph graph = ir::parse(
      "graph g\ninput %x : f32[1]\nnode \"d\" \"\" \"\"\n  %d : f32[1] = toy.double(input=%x)\noutput %d\n", "test");
  std::vector<std::vector<float>> lists;
  for (int k = 0; k < 256; ++k) lists.push_back({static_cast<float>(k)});
  const double scale = quantize(graph, samples(lists)).decisions.at(0).scale;
  EXPECT_GE(scale, 2);
  EXPECT_LT(scale, 2.01);
}

TEST(Trial, KnowsWhatASoftmaxReads) {
  const ir::Graph graph = ir::parse(
      "graph g\ninput %x : f32[1,4]\nnode \"s\" \"\" \"\"\n  %s : f32[1,4] = aten.softmax(self=%x, dim=1)\n"
      "output %s\noutput %x\n",
      "test");
  EXPECT_EQ(read_by_softmax(graph.outputs().at(0)), graph.inputs().at(0));
  EXPECT_EQ(read_by_softmax(graph.outputs().at(1)), nullptr);
}

// By all numbers together, the output with the large ones would decide alone.
TEST(Trial, CountsOutputsAlikeHoweverLargeTheirNumbersAre) {
  const ir::Graph real = ir::parse(
      "graph g\ninput %x : f32[2]\ninput %y : f32[2]\n"
      "node \"c\" \"\" \"\"\n  %c : f32[2] = toy.double(input=%x)\n"
      "node \"d\" \"\" \"\"\n  %d : f32[2] = toy.double(input=%y)\noutput %c\noutput %d\n",
      "test");
  const Annotation annotation = annotate(real, {});
  const auto with = [&](double small, double large) {
    Parameters parameters;
    parameters.params.resize(annotation.groups.size());
    for (const auto& [value, group] : annotation.group_of) {
      const double scale = value->name == "x" ? 1 : value->name == "y" ? 1000 : value->name == "c" ? small : large;
      parameters.params[group] = ir::per_tensor_i8(scale, -128);
    }
    return parameters;
  };
  std::vector<Sample> all;
  for (int k = 0; k < 8; ++k) {
    const auto number = static_cast<float>(10 * k);
    all.push_back({evaluate::Tensor({2}, {number, 7}), evaluate::Tensor({2}, {1000 * number, 70'000})});
  }
  const Samples data = samples_of(all);
  const Parameters fair = with(2, 2100), ruins_small = with(0.01, 2000);  // 2000 is exact, 0.01 clips
  EXPECT_EQ(quantize_with_best(real, {fair, ruins_small}, data, {}).chosen, 0U);
  EXPECT_EQ(quantize_with_best(real, {ruins_small, fair}, data, {}).chosen, 1U);
}

TEST(Quantize, LayersMayHaveObserversAndRangesOfTheirOwn) {
  std::vector<float> many(4096);
  for (std::size_t k = 0; k < many.size(); ++k) many[k] = static_cast<float>(k % 256);
  many[0] = 2550;
  QuantizeOptions options;
  options.observer = Observer::percentile;
  options.layers = {{.path = "a", .where = "", .observer = Observer::minmax},
                    {.path = "b", .where = "", .range = std::pair(-128.0, 127.0)}};
  ir::Graph graph = ir::parse(R"(graph g
input %x : f32[4096]
node "a" "a" ""
  %a : f32[4096] = toy.double(input=%x)
node "b" "b" ""
  %b : f32[4096] = toy.double(input=%x)
node "c" "c" ""
  %c : f32[4096] = toy.double(input=%x)
output %a
output %b
output %c
)",
                              "test");
  const QuantizeReport report = quantize(graph, samples({many, many, many}), options);
  EXPECT_EQ(report.decisions.at(0).observer, "minmax");
  EXPECT_EQ(report.decisions.at(0).scale, 20);
  EXPECT_EQ(report.decisions.at(1).observer, "range as requested");
  EXPECT_EQ(report.decisions.at(1).scale, 1);
  EXPECT_EQ(report.decisions.at(1).zero_point, 0);
  EXPECT_EQ(report.decisions.at(2).observer, "percentile");
}

}  // namespace
}  // namespace cormorant::quantizer
