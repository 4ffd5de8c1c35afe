// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/op.h"
#include "tests/conformance/broadcast_cases.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator prelu_operator();

namespace {

using conformance::Case;

struct Scales {
  double input, out;
  std::int32_t input_zero, out_zero;
};

constexpr Scales kUsual = {0.05, 0.04, -5, 17};

// Slopes of both signs, small and large.
ir::Value* slopes(ir::Graph& graph, std::int64_t channels) {
  std::vector<float> numbers;
  for (std::int64_t c = 0; c < channels; ++c)
    numbers.push_back(0.25F * static_cast<float>(c + 1) * (c % 3 == 2 ? -0.3F : 1.0F));
  if (channels > 1) numbers[1] = 0;
  return graph.add_constant("w", ir::float_type({channels}), ir::Bytes::of(std::span<const float>(numbers)));
}

Case prelu_case(const ir::Shape& shape, const Scales& s = kUsual, bool contiguous = false,
                const std::vector<ir::NamedArgument>& more = {}) {
  return {"rank " + std::to_string(shape.size()) + ", last " + std::to_string(shape.back()), [=](ir::Graph& g) {
            ir::Value* x = broadcast_input(g, shape, contiguous, s.input, s.input_zero);
            std::vector<ir::NamedArgument> args = {{"self", x}, {"weight", slopes(g, shape.size() < 2 ? 1 : shape[1])}};
            args.insert(args.end(), more.begin(), more.end());
            return conformance::add_quantized(g, "aten.prelu", args, shape, s.out, s.out_zero);
          }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t channels : {1, 3, 5, 17}) {
    all.push_back(prelu_case({2, channels, 3, 5}));
    all.push_back(prelu_case({2, channels, 3, 5}, kUsual, true));
    all.push_back(prelu_case({3, channels}));
  }
  all.push_back(prelu_case({9}));
  all.push_back(prelu_case({1, 5, 13}));
  all.push_back(prelu_case({2, 3, 2, 3, 2}));
  const Scales table[] = {{0.05, 0.05, 0, 0}, {0.05, 0.05, -128, 127}, {0.05, 0.05, 127, -128},    {1.0, 0.001, 3, 4},
                          {0.001, 1.0, 3, 4}, {0.0412, 0.0983, -7, 9}, {0.02, 0.02 * 0.5, 64, -64}};
  for (const Scales& s : table) all.push_back(prelu_case({1, 6, 10, 4}, s));
  all.push_back(prelu_case({1, 6, 5, 4}, kUsual, false, {{"activation_min", -1.0}, {"activation_max", 1.5}}));
  return all;
}

TEST(Prelu, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

// Only results next to a tie can go the other way.
TEST(Prelu, IsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1.0); }

TEST(Prelu, IsWhatPyTorchComputes) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({1, 2, 1, 2}));
  const float numbers[] = {0.5F, -2};
  ir::Value* w = graph.add_constant("w", ir::float_type({2}), ir::Bytes::of(std::span<const float>(numbers)));
  graph.add_output(graph.add_node("p", "aten.prelu", {{"self", x}, {"weight", w}}, {x->type})->result());
  EXPECT_EQ(prelu_operator().infer(graph.nodes().back()).front().shape, x->type.shape);
  const evaluate::Tensor inputs[] = {{{1, 2, 1, 2}, {-1, 2, -3, 4}}};
  const auto result = evaluate::evaluate_graph(graph, inputs);
  EXPECT_EQ(std::vector<float>(result[0].values().begin(), result[0].values().end()),
            std::vector<float>({-0.5F, 2, 6, 4}));
}

TEST(PreluImport, OneSlopeIsALeakyRelu) {
  for (const AtenForm& form : prelu_operator().forms) {
    ir::Graph graph;
    ir::Value* x = graph.add_input("x", ir::float_type({1, 3, 4, 4}));
    ir::Node call;
    call.name = "call";
    Importer importer{&graph, &call, {x->type}};
    call.args = {{"self", x}, {"weight", slopes(graph, 1)}};
    const ir::Node* leaky = form.import(importer).front()->producer;
    EXPECT_EQ(leaky->op, "aten.leaky_relu");
    EXPECT_EQ(leaky->number("negative_slope"), 0.25);
    call.args = {{"self", x}, {"weight", slopes(graph, 3)}};
    EXPECT_EQ(form.import(importer).front()->producer->op, "aten.prelu");
  }
}

TEST(PreluImport, OneSlopeThatIsComputedIsForAllChannels) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({1, 3}));
  ir::Node call;
  call.name = "call";
  call.args = {{"self", x}, {"weight", graph.add_input("slope", ir::float_type({}))}};
  Importer importer{&graph, &call, {x->type}};
  graph.add_output(prelu_operator().forms.front().import(importer).front());
  const evaluate::Tensor inputs[] = {evaluate::Tensor({1, 3}, {-2, 0, 3}), evaluate::Tensor({}, {0.25F})};
  const auto result = evaluate::evaluate_graph(graph, inputs);
  EXPECT_EQ(std::vector<float>(result[0].values().begin(), result[0].values().end()),
            std::vector<float>({-0.5F, 0, 3}));
}

TEST(PreluLower, SaysWhatItCannotDo) {
  const auto lower = [](const Scales& s, Runtime runtime) {
    ir::Graph graph;
    const ir::Value* y = prelu_case({1, 3, 4, 4}, s).build(graph);
    const Config config{.target = {}, .runtime = runtime};
    return prelu_operator().lower({graph, *y->producer, config})->producer->op;
  };
  EXPECT_EQ(lower(kUsual, Runtime::cormorant), "cormorant.prelu.mve");
  EXPECT_THROW(lower(kUsual, Runtime::executorch), InputError);
  EXPECT_THROW(lower({1e6, 1e-3, 0, 0}, Runtime::cormorant), InputError);
}

TEST(PreluLoad, RejectsCallsThatAreNotSound) {
  struct {
    const char* what;
    ir::Shape factors;
    std::int64_t zero_point, shift, max;
    bool sound = false;
  } table[] = {
      {"sound", {1, 3, 1, 1}, 0, 22, 127, true},        {"too few factors", {1, 2, 1, 1}, 0, 22, 127},
      {"more dimensions", {1, 1, 3, 1, 1}, 0, 22, 127}, {"a zero point beyond int8", {1, 3, 1, 1}, 128, 22, 127},
      {"a shift of 32", {1, 3, 1, 1}, 0, 32, 127},      {"a bound beyond int8", {1, 3, 1, 1}, 0, 22, 128}};
  for (const auto& t : table) {
    ir::Graph graph;
    const ir::TensorType i8 = ir::quantized_type({1, 3, 2, 2}, ir::per_tensor_i8(1.0, 0));
    ir::TensorType type{DType::i32, t.factors, {}, std::nullopt};
    const std::vector<std::int32_t> data(static_cast<std::size_t>(type.elements()), 1 << 22);
    graph.add_output(
        graph
            .add_node("prelu", "cormorant.prelu.mve",
                      {{"input", graph.add_input("a", i8)},
                       {"factors", graph.add_constant("f", type, ir::Bytes::of(std::span<const std::int32_t>(data)))},
                       {"positive_factor", std::int64_t{1 << 22}},
                       {"input_zero_point", t.zero_point},
                       {"offset", std::int64_t{0}},
                       {"shift", t.shift},
                       {"activation_min", std::int64_t{-128}},
                       {"activation_max", t.max}},
                      {i8})
            ->result());
    EXPECT_EQ(conformance::loads(graph), t.sound) << t.what;
  }
}

}  // namespace
}  // namespace cormorant::ops
