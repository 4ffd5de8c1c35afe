// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/diagnostic.h"
#include "ops/host/schema.h"
#include "ops/op.h"
#include "program/program_io.h"
#include "runtime/host.h"
#include "target/parse.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator linear_operator();

namespace {

using conformance::Case;

// ---- cases ----------------------------------------------------------------------------------------------------------

struct Layer {
  ir::Shape rows;  // the input's dimensions but the last
  std::int64_t inputs, outputs;
  bool bias = true;
  bool relu = false;
  double output_scale = 0.5;
  std::int32_t input_zero_point = -5;
  bool per_tensor = false;
  std::int8_t weight = 0;           // all weights, unless 0
  std::vector<double> slopes = {};  // of a PReLU after it: one, or one per output
};

ir::Value* build(ir::Graph& graph, const Layer& layer) {
  std::mt19937 random(static_cast<unsigned>(layer.inputs * 1000 + layer.outputs));
  ir::Shape in = layer.rows;
  in.push_back(layer.inputs);
  ir::Shape out = layer.rows;
  out.push_back(layer.outputs);
  ir::Value* x = conformance::int8_input(graph, in, 0.05, layer.input_zero_point);
  ir::Value* w = conformance::int8_weights(graph, {layer.outputs, layer.inputs}, 0, random);
  if (layer.per_tensor) {
    w->type.quant->axis.reset();
    w->type.quant->scales.resize(1);
    w->type.quant->zero_points.resize(1);
  }
  if (layer.weight != 0) {
    const std::vector<std::int8_t> same(static_cast<std::size_t>(w->type.elements()), layer.weight);
    w->data = ir::Bytes::of(std::span<const std::int8_t>(same));
  }
  ir::Value* b = nullptr;
  if (layer.bias) {
    b = conformance::int32_bias(graph, x, w, random, 3000);
    if (layer.per_tensor) {  // one scale, but still an entry per output
      std::vector<std::int32_t> entries(static_cast<std::size_t>(layer.outputs), 1234);
      b->type.shape = {layer.outputs};
      b->type.quant->axis.reset();
      b->data = ir::Bytes::of(std::span<const std::int32_t>(entries));
    }
  }
  std::vector<ir::NamedArgument> args = {
      {"input", x}, {"weight", w}, {"bias", b == nullptr ? ir::Argument{} : ir::Argument{b}}};
  if (layer.relu) args.push_back({"activation_min", 0.0});
  if (!layer.slopes.empty()) args.push_back({"activation_slopes", layer.slopes});
  return conformance::add_quantized(graph, "aten.linear", std::move(args), out, layer.output_scale,
                                    layer.relu ? -128 : 3);
}

Case case_of(const Layer& layer) {
  return {std::to_string(layer.inputs) + " to " + std::to_string(layer.outputs) + (layer.relu ? " relu" : ""),
          [layer](ir::Graph& graph) { return build(graph, layer); }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t inputs : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 49, 64, 100}) {
    for (const std::int64_t outputs : {1, 3, 4, 8, 13}) {
      all.push_back(case_of({.rows = {1}, .inputs = inputs, .outputs = outputs, .relu = outputs % 2 == 0}));
    }
  }
  for (const std::int64_t inputs : {5, 17, 40}) {  // rows that start anywhere
    all.push_back(case_of({.rows = {3}, .inputs = inputs, .outputs = 17}));
    all.push_back(case_of({.rows = {13}, .inputs = inputs, .outputs = 6, .relu = true}));
    all.push_back(case_of({.rows = {2, 3}, .inputs = inputs, .outputs = 5, .bias = false}));
  }
  all.push_back(case_of({.rows = {2, 1, 2}, .inputs = 16, .outputs = 32}));
  all.push_back(case_of({.rows = {5, 2, 1, 2}, .inputs = 4, .outputs = 3}));
  all.push_back(case_of({.rows = {12}, .inputs = 33, .outputs = 9, .per_tensor = true}));
  all.push_back(case_of({.rows = {12}, .inputs = 33, .outputs = 9, .output_scale = 0.0004}));
  all.push_back(case_of({.rows = {}, .inputs = 20, .outputs = 9}));
  all.push_back(case_of({.rows = {1}, .inputs = 640, .outputs = 16, .relu = true, .output_scale = 2}));
  all.push_back(case_of({.rows = {1}, .inputs = 33, .outputs = 12, .output_scale = 0.0004}));  // shifts to the left
  all.push_back(case_of({.rows = {1}, .inputs = 33, .outputs = 12, .per_tensor = true}));
  all.push_back(case_of({.rows = {1}, .inputs = 21, .outputs = 12, .input_zero_point = -128}));
  all.push_back(case_of({.rows = {1}, .inputs = 21, .outputs = 12, .input_zero_point = 127}));
  // Extremes of the accumulator, and weights that the DSP layout cannot carry.
  for (const int weight : {-128, -127, 127}) {
    for (const std::int64_t inputs : {700, 1283}) {
      all.push_back(case_of({.rows = {1},
                             .inputs = inputs,
                             .outputs = 9,
                             .output_scale = 40,
                             .weight = static_cast<std::int8_t>(weight)}));
    }
  }
  return all;
}

TEST(Linear, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(Linear, IsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1.0); }

// They are convolutions, of single pixels, of several, or of the images that a view turned into rows.
std::vector<Case> sloped_cases() {
  std::vector<Case> all = {case_of({.rows = {1}, .inputs = 33, .outputs = 3, .slopes = {0.25, -0.5, 1.5}}),
                           case_of({.rows = {}, .inputs = 20, .outputs = 9, .relu = true, .slopes = {0.1}}),
                           case_of({.rows = {5}, .inputs = 16, .outputs = 2, .bias = false, .slopes = {0.25, -0.5}}),
                           case_of({.rows = {2, 3}, .inputs = 17, .outputs = 8, .slopes = {0.1}})};
  all.push_back(
      {"of images", [](ir::Graph& graph) {
         std::mt19937 random(7);
         ir::Value* x = conformance::int8_input(graph, {2, 4, 3, 2}, 0.05, -5);
         ir::Value* flat = conformance::add_quantized(
             graph, "aten.view", {{"self", x}, {"size", std::vector<std::int64_t>{2, 24}}}, {2, 24}, 0.05, -5);
         ir::Value* w = conformance::int8_weights(graph, {3, 24}, 0, random);
         ir::Value* b = conformance::int32_bias(graph, x, w, random, 3000);
         return conformance::add_quantized(
             graph, "aten.linear",
             {{"input", flat}, {"weight", w}, {"bias", b}, {"activation_slopes", std::vector<double>{0.25, 1.5, -0.5}}},
             {2, 3}, 0.5, 3);
       }});
  return all;
}

TEST(Linear, EveryVariantWithSlopesEqualsTheReference) { conformance::expect_same_bits_everywhere(sloped_cases()); }

TEST(Linear, WithSlopesIsWithinOneStepOfTheFloatSemantics) {
  conformance::expect_near_float_semantics(sloped_cases(), 1.0);
}

// ---- variants -------------------------------------------------------------------------------------------------------

std::string packed_variant(const Layer& layer, const Cpu& cpu, Optimize optimize = Optimize::balanced) {
  ir::Graph graph;
  graph.add_output(build(graph, layer));
  const Operator op = linear_operator();
  const Config config{.target = {&cpu, cpu.isa, optimize}};
  ir::Node& aten = graph.nodes().back();
  ir::Value* lowered = op.lower({graph, aten, config});
  return op.prepack({graph, *lowered->producer, config})->producer->op;
}

TEST(LinearPrepack, TheVariantSuitsTheTargetAndTheWeights) {
  const Cpu& m0 = kCpus[0];
  const Cpu& m4 = kCpus[3];
  const Cpu& m55 = kCpus[9];
  const Layer plain = {.rows = {1}, .inputs = 64, .outputs = 8};
  EXPECT_EQ(packed_variant(plain, m0), "cormorant.linear.scalar");
  EXPECT_EQ(packed_variant(plain, m4), "cormorant.linear.dsp_pairs");
  EXPECT_EQ(packed_variant(plain, m55), "cormorant.linear.mve");
  // −128 leaves no room for the borrow of its neighbour.
  const Layer lowest = {.rows = {1}, .inputs = 64, .outputs = 8, .weight = -128};
  EXPECT_EQ(packed_variant(lowest, m4), "cormorant.linear.dsp_wide");
  EXPECT_EQ(packed_variant(lowest, m4, Optimize::size), "cormorant.linear.dsp_rows");
  // 700 · 127 · 128 needs more than 24 bits, half of it does not.
  EXPECT_EQ(packed_variant({.rows = {1}, .inputs = 700, .outputs = 8, .weight = 127}, m4),
            "cormorant.linear.dsp_pairs");
  // A shift to the left.
  EXPECT_EQ(packed_variant({.rows = {1}, .inputs = 64, .outputs = 8, .output_scale = 0.0004}, m55),
            "cormorant.linear.mve");
  EXPECT_EQ(packed_variant(plain, m4, Optimize::speed), "cormorant.linear.dsp_pairs");
}

// With a convolution in the firmware anyway, a linear layer needs no kernel of its own.
TEST(LinearLower, ToSaveFlashItIsAConvolutionWhereThereIsOne) {
  const auto is_convolution = [](bool beside_one) {
    ir::Graph graph;
    graph.add_output(build(graph, {.rows = {1}, .inputs = 8, .outputs = 4}));
    ir::Node& linear = graph.nodes().back();
    if (beside_one) {
      graph.add_node("conv", "cortex_m.quantized_conv2d", {}, {ir::quantized_type({1}, ir::per_tensor_i8(1.0, 0))});
    }
    const Config config{.target = {&kCpus[3], Isa::dsp, Optimize::size}};
    return linear_operator().lower({graph, linear, config})->producer->op == "cormorant.relayout";
  };
  EXPECT_TRUE(is_convolution(true));
  EXPECT_FALSE(is_convolution(false));
}

// Rows that fill the blocks of a convolution's kernel are quicker there; one row is not.
TEST(LinearLower, ManyRowsAreAConvolution) {
  const auto lowered = [](std::int64_t rows, const Cpu& cpu, Runtime runtime) {
    ir::Graph graph;
    graph.add_output(build(graph, {.rows = {1, rows}, .inputs = 8, .outputs = 4, .per_tensor = true}));
    const Config config{.target = {&cpu, cpu.isa}, .runtime = runtime};
    ir::Value* result = linear_operator().lower({graph, graph.nodes().back(), config});
    EXPECT_EQ(result->type.shape, ir::Shape({1, rows, 4}));
    return result->producer->op == "cormorant.relayout";
  };
  for (const std::size_t cpu : {0U, 2U, 3U, 9U}) {
    EXPECT_FALSE(lowered(1, kCpus[cpu], Runtime::cormorant)) << kCpus[cpu].name;
    EXPECT_TRUE(lowered(12, kCpus[cpu], Runtime::cormorant)) << kCpus[cpu].name;
    EXPECT_TRUE(lowered(65, kCpus[cpu], Runtime::cormorant)) << kCpus[cpu].name;
    EXPECT_FALSE(lowered(12, kCpus[cpu], Runtime::executorch)) << kCpus[cpu].name;
  }
  EXPECT_FALSE(lowered(2, kCpus[3], Runtime::cormorant));
}

TEST(LinearLayout, EveryWeightHasAPlaceOfItsOwn) {
  for (const linear::Variant& variant : linear::kVariants) {
    for (const std::uint32_t inputs : {1U, 3U, 8U, 16U, 17U, 37U, 64U}) {
      for (const std::uint32_t outputs : {1U, 4U, 8U, 13U, 19U}) {
        const linear::PackedGeometry geometry{variant.layout, inputs, outputs};
        std::vector<int> used(geometry.bytes());
        for (std::size_t i = 0; i < sizeof(linear::PackedHeader); ++i) ++used[i];
        for (std::uint32_t n = 0; n < outputs; ++n) {
          const auto place = geometry.place(n);
          EXPECT_EQ(geometry.bias_offset(place) % 4, 0U);
          EXPECT_EQ(geometry.multiplier_offset(place) % 4, 0U);
          for (std::uint32_t i = 0; i < 4; ++i) ++used.at(geometry.bias_offset(place) + i);
          for (std::uint32_t i = 0; i < 4; ++i) ++used.at(geometry.multiplier_offset(place) + i);
          ++used.at(geometry.shift_offset(place));
          const std::uint32_t bytes = place.grouped ? linear::weight_bytes_of(variant.layout) : 1;
          for (std::uint32_t i = 0; i < inputs * bytes; ++i) {
            ++used.at(geometry.weight_offset(place, i / bytes) + i % bytes);
          }
        }
        for (const int count : used) ASSERT_LE(count, 1) << variant.name << " " << inputs << " to " << outputs;
      }
    }
  }
}

// ---- programs of other compilers, damaged programs ------------------------------------------------------------------

std::vector<std::byte> run(const ir::Graph& graph, const std::vector<std::byte>& input) {
  HostProgram program(conformance::program_of(graph), host_kernels());
  return program.run({&input, 1}).front();
}

// cortex_m.quantized_linear with weights {1, 2, 3 | −4, 5, −6}, bias {10, −20}, factor 1/2, by hand:
// inputs {1, −2, 3} + 1 = {2, −1, 4}: 2 − 2 + 12 + 10 = 22 -> 11; −8 − 5 − 24 − 20 = −57 -> −28.5,
// which the doubling multiply rounds up to −28; + 7 gives 18 and −21.
ir::Graph upstream_call(bool kernel_sum, std::int64_t multipliers = 1) {
  ir::Graph graph;
  const auto i32 = [&](const char* name, ir::Shape shape, std::vector<std::int32_t> data) {
    return graph.add_constant(name, {.dtype = DType::i32, .shape = std::move(shape), .dim_order = {}, .quant = {}},
                              ir::Bytes::of(std::span<const std::int32_t>(data)));
  };
  const std::vector<std::int8_t> weights = {1, 2, 3, -4, 5, -6};
  const auto i8 = [](ir::Shape shape) { return ir::quantized_type(std::move(shape), ir::per_tensor_i8(1.0, 0)); };
  ir::Value* x = graph.add_input("x", i8({1, 3}));
  ir::Value* w = graph.add_constant("w", i8({2, 3}), ir::Bytes::of(std::span<const std::int8_t>(weights)));
  ir::Value* bias = kernel_sum ? nullptr : i32("bias", {2}, {10, -20});
  ir::Value* sum = kernel_sum ? i32("sum", {1, 2}, {10 + 6, -20 - 5}) : nullptr;
  const auto optional = [](ir::Value* value) { return value == nullptr ? ir::Argument{} : ir::Argument{value}; };
  const std::vector<std::int64_t> half(static_cast<std::size_t>(multipliers), 1 << 30);
  const std::vector<std::int64_t> shifts(static_cast<std::size_t>(multipliers), 0);
  graph.add_output(graph
                       .add_node("linear", "cortex_m.quantized_linear",
                                 {{"input", x},
                                  {"weights", w},
                                  {"bias", optional(bias)},
                                  {"kernel_sum", optional(sum)},
                                  {"input_offset", std::int64_t{1}},
                                  {"filter_offset", std::int64_t{0}},
                                  {"output_offset", std::int64_t{7}},
                                  {"requantize_multipliers", half},
                                  {"requantize_shifts", shifts},
                                  {"activation_max", std::int64_t{127}},
                                  {"activation_min", std::int64_t{-128}}},
                                 {i8({1, 2})})
                       ->result());
  return graph;
}

TEST(LinearUpstream, BothFormsOfTheBiasGiveTheSame) {
  const std::vector<std::byte> input = {std::byte{1}, std::byte{0xfe}, std::byte{3}};  // 1, −2, 3
  const std::vector<std::byte> expected = {std::byte{18}, std::byte{0xeb}};            // 18, −21
  EXPECT_EQ(run(upstream_call(false), input), expected);
  EXPECT_EQ(run(upstream_call(true), input), expected);
}

// The input's offset is added on the way, in every element of a row.
TEST(LinearUpstream, BoardsGiveTheSame) {
  if (const char* kind = std::getenv("CORMORANT_CONFORMANCE"); kind != nullptr && std::string_view(kind) == "dialect") {
    return;
  }
  const ProgramFile program = program_from(conformance::program_of(upstream_call(false)), "upstream");
  const std::vector<Arrays> inputs = {{{DType::i8, {1, 3}, {std::byte{1}, std::byte{0xfe}, std::byte{3}}}}};
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m3", "cortex-m0"}) {
    ExecuteOn board;
    board.target = parse_target(cpu);
    EXPECT_EQ(execute(program, inputs, board).outputs.at(0).at(0).data,
              (std::vector<std::byte>{std::byte{18}, std::byte{0xeb}}))
        << cpu;
  }
}

TEST(LinearUpstream, MoreThanOneMultiplierIsRejected) {
  EXPECT_THROW(run(upstream_call(false, 2), std::vector<std::byte>(3)), InputError);
}

ir::Value* constant(ir::Graph& graph, DType type, ir::Shape shape) {
  const ir::TensorType of{type, std::move(shape), {}, std::nullopt};
  return graph.add_constant("c", of, ir::Bytes::own(std::vector<std::byte>(static_cast<std::size_t>(of.bytes()))));
}

TEST(LinearUpstream, WhatDoesNotFitIsRejected) {
  using Damage = void (*)(ir::Graph&, ir::Node&);
  const std::pair<const char*, Damage> table[] = {
      {"nothing", [](ir::Graph&, ir::Node&) {}},
      {"more outputs than rows", [](ir::Graph&, ir::Node& n) { n.result()->type.shape = {1, 3}; }},
      {"more outputs and biases than rows",
       [](ir::Graph& g, ir::Node& n) {
         n.result()->type.shape = {1, 3};
         n.set("bias", constant(g, DType::i32, {3}));
       }},
      {"fewer outputs than rows", [](ir::Graph&, ir::Node& n) { n.result()->type.shape = {1, 1}; }},
      {"more rows of outputs", [](ir::Graph&, ir::Node& n) { n.result()->type.shape = {2, 2}; }},
      {"more inputs", [](ir::Graph&, ir::Node& n) { n.tensor("input")->type.shape = {1, 4}; }},
      {"no inputs",
       [](ir::Graph& g, ir::Node& n) {
         n.tensor("input")->type.shape = {1, 0};
         n.set("weights", constant(g, DType::i8, {2, 0}));
       }},
      {"a shorter bias", [](ir::Graph& g, ir::Node& n) { n.set("bias", constant(g, DType::i32, {1})); }},
      {"a longer bias", [](ir::Graph& g, ir::Node& n) { n.set("bias", constant(g, DType::i32, {3})); }},
      {"a bias of bytes", [](ir::Graph& g, ir::Node& n) { n.set("bias", constant(g, DType::i8, {2})); }},
      {"shorter sums", [](ir::Graph& g, ir::Node& n) { n.set("kernel_sum", constant(g, DType::i32, {1})); }},
      {"weights in a row", [](ir::Graph& g, ir::Node& n) { n.set("weights", constant(g, DType::i8, {6})); }},
      {"weights of words", [](ir::Graph& g, ir::Node& n) { n.set("weights", constant(g, DType::i16, {2, 3})); }},
      {"an offset of weights", [](ir::Graph&, ir::Node& n) { n.set("filter_offset", std::int64_t{1}); }},
      {"a large input offset", [](ir::Graph&, ir::Node& n) { n.set("input_offset", std::int64_t{129}); }},
      {"a large output offset", [](ir::Graph&, ir::Node& n) { n.set("output_offset", std::int64_t{128}); }},
      {"a low bound", [](ir::Graph&, ir::Node& n) { n.set("activation_min", std::int64_t{-129}); }},
      {"a high bound", [](ir::Graph&, ir::Node& n) { n.set("activation_max", std::int64_t{128}); }},
      {"a negative factor",
       [](ir::Graph&, ir::Node& n) { n.set("requantize_multipliers", std::vector<std::int64_t>{-1}); }},
      {"a far shift to the left",
       [](ir::Graph&, ir::Node& n) { n.set("requantize_shifts", std::vector<std::int64_t>{32}); }},
      {"a far shift to the right",
       [](ir::Graph&, ir::Node& n) { n.set("requantize_shifts", std::vector<std::int64_t>{-32}); }},
      {"two shifts", [](ir::Graph&, ir::Node& n) { n.set("requantize_shifts", std::vector<std::int64_t>{0, 0}); }},
  };
  for (const auto& [what, damage] : table) {
    ir::Graph graph = upstream_call(false);
    damage(graph, *graph.snapshot().front());
    EXPECT_EQ(conformance::loads(graph), std::string_view(what) == "nothing") << what;
  }
}

TEST(LinearLoad, RejectsPackedConstantsThatDoNotFit) {
  const auto load = [](const char* op, auto damage, std::size_t bytes = 0, ir::Shape out = {1, 8}) {
    ir::Graph graph;
    const auto layout = std::string_view(op).ends_with("mve") ? linear::Layout::mve : linear::Layout::scalar;
    const linear::PackedGeometry geometry{layout, 20, 8};
    std::vector<std::int8_t> packed(bytes == 0 ? geometry.bytes() : bytes, -1);  // shifts to the right by 1
    linear::PackedHeader header{20, 8, 0, -128, 127, static_cast<std::uint8_t>(layout), linear::kSimpleRequantize, 0};
    damage(header);
    std::memcpy(packed.data(), &header, std::min(packed.size(), sizeof(header)));
    const auto i8 = [](ir::Shape shape) { return ir::quantized_type(std::move(shape), ir::per_tensor_i8(1.0, 0)); };
    ir::Value* x = graph.add_input("x", i8({1, 20}));
    ir::Value* constant = graph.add_constant("packed",
                                             {.dtype = DType::i8,
                                              .shape = {static_cast<std::int64_t>(packed.size())},
                                              .dim_order = {},
                                              .quant = std::nullopt},
                                             ir::Bytes::of(std::span<const std::int8_t>(packed)));
    graph.add_output(
        graph.add_node("linear", op, {{"input", x}, {"packed", constant}}, {i8(std::move(out))})->result());
    HostProgram program(conformance::program_of(graph), host_kernels());
  };
  using Header = linear::PackedHeader;
  const auto sound = [](Header&) {};
  const linear::PackedGeometry geometry{linear::Layout::scalar, 20, 8};
  EXPECT_NO_THROW(load("cormorant.linear.scalar", sound));
  EXPECT_NO_THROW(load("cormorant.linear.mve", sound));
  EXPECT_THROW(load("cormorant.linear.scalar", sound, 8), InputError);
  EXPECT_THROW(load("cormorant.linear.scalar", sound, geometry.bytes() - 1), InputError);
  EXPECT_THROW(load("cormorant.linear.scalar", sound, geometry.bytes() + 1), InputError);
  EXPECT_THROW(load("cormorant.linear.scalar", sound, 0, {1, 9}), InputError);
  EXPECT_THROW(load("cormorant.linear.scalar", sound, 0, {2, 8}), InputError);
  EXPECT_THROW(load("cormorant.linear.scalar", [](Header& h) { h.inputs = 21; }), InputError);
  EXPECT_THROW(load("cormorant.linear.scalar", [](Header& h) { h.inputs = 0; }), InputError);
  EXPECT_THROW(load("cormorant.linear.scalar", [](Header& h) { h.outputs = 0xffffffff; }), InputError);
  EXPECT_THROW(load("cormorant.linear.scalar", [](Header& h) { h.layout = 3; }), InputError);
}

}  // namespace
}  // namespace cormorant::ops
