// SPDX-License-Identifier: Apache-2.0
#include "ops/transpose_conv2d/transpose_conv2d.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "ops/host/schema.h"
#include "ops/op.h"
#include "ops/transpose_conv2d/prepack.h"
#include "program/program_io.h"
#include "runtime/host.h"
#include "target/parse.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator transpose_conv2d_operator();

namespace {

using conformance::Case;
using Ints = std::vector<std::int64_t>;

// ---- cases ----------------------------------------------------------------------------------------------------------

struct Layer {
  ir::Shape in;  // N C H W
  std::int64_t outputs = 1;
  Ints kernel = {3, 3};
  Ints stride = {2, 2};
  Ints padding = {0, 0};
  Ints more = {0, 0};
  Ints dilation = {1, 1};
  std::int64_t groups = 1;
  bool bias = true;
  bool relu = false;
  double output_scale = 0.5;
  std::int32_t input_zero_point = -5;
  std::int8_t weight = 0;  // all weights, unless 0
  bool per_tensor = false;
  bool nibbles = false;  // weights of 4 bits
};

ir::Value* build(ir::Graph& graph, const Layer& l) {
  std::mt19937 random(static_cast<unsigned>(l.in[1] * 1000 + l.outputs));
  ir::Value* x = conformance::int8_input(graph, l.in, 0.05, l.input_zero_point);
  ir::Value* w = conformance::int8_weights(graph, {l.in[1], l.outputs / l.groups, l.kernel[0], l.kernel[1]}, 1, random);
  if (l.weight != 0) {
    const std::vector<std::int8_t> same(static_cast<std::size_t>(w->type.elements()), l.weight);
    w->data = ir::Bytes::of(std::span<const std::int8_t>(same));
  }
  if (l.nibbles) {
    std::vector<std::int8_t> few(static_cast<std::size_t>(w->type.elements()));
    for (std::int8_t& value : few) value = static_cast<std::int8_t>(std::uniform_int_distribution<int>(-8, 7)(random));
    w->data = ir::Bytes::of(std::span<const std::int8_t>(few));
  }
  if (l.per_tensor) w->type.quant = ir::QuantParams{DType::i8, -128, 127, std::nullopt, {0.01}, {0}};
  ir::Argument bias;
  if (l.bias) {
    // The weights' scales are those of a group's outputs, the bias has all of them.
    ir::QuantParams quant = w->type.quant.value_or(ir::QuantParams{});
    std::vector<double> scales;
    for (std::int64_t c = 0; c < l.outputs; ++c) {
      scales.push_back(0.05 * quant.scales[static_cast<std::size_t>(c) % quant.scales.size()]);
    }
    std::vector<std::int32_t> data(scales.size());
    for (std::int32_t& b : data) b = std::uniform_int_distribution<std::int32_t>(-3000, 3000)(random);
    const std::vector<std::int32_t> zeros(scales.size(), 0);
    bias = graph.add_constant(
        "b", ir::quantized_type({l.outputs}, {DType::i32, -2147483647 - 1, 2147483647, 0, scales, zeros}),
        ir::Bytes::of(std::span<const std::int32_t>(data)));
  }
  ir::Shape out = {l.in[0], l.outputs, 0, 0};
  for (std::size_t i = 0; i < 2; ++i) {
    out[2 + i] = (l.in[2 + i] - 1) * l.stride[i] - 2 * l.padding[i] + l.dilation[i] * (l.kernel[i] - 1) + l.more[i] + 1;
  }
  std::vector<ir::NamedArgument> args = {{"input", x},         {"weight", w},           {"bias", bias},
                                         {"stride", l.stride}, {"padding", l.padding},  {"output_padding", l.more},
                                         {"groups", l.groups}, {"dilation", l.dilation}};
  if (l.relu) args.push_back({"activation_min", 0.0});
  return conformance::add_quantized(graph, "aten.conv_transpose2d", std::move(args), out, l.output_scale,
                                    l.relu ? -128 : 3);
}

Case case_of(const Layer& l) {
  std::string name;
  for (const auto* list : {&l.in, &l.kernel, &l.stride, &l.padding, &l.more, &l.dilation}) {
    for (const std::int64_t n : *list) name += (name.empty() ? "" : " ") + std::to_string(n);
    name += ",";
  }
  return {name + " to " + std::to_string(l.outputs) + " in " + std::to_string(l.groups) + (l.relu ? " relu" : "") +
              (l.nibbles ? " nibbles" : ""),
          [l](ir::Graph& graph) { return build(graph, l); }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  // Every remainder of kernel and stride, channels that fill no block.
  for (const std::int64_t stride : {1, 2, 3}) {
    for (const std::int64_t kernel : {1, 2, 3, 4, 5}) {
      const std::int64_t inputs = kernel == 2 ? 16 : kernel == 4 ? 3 : 2 * kernel - 1;
      all.push_back(case_of({.in = {1, inputs, 3, 4},
                             .outputs = stride == 2 ? 4 : 5,
                             .kernel = {kernel, kernel},
                             .stride = {stride, stride},
                             .padding = {kernel / 2, (kernel - 1) / 2},
                             .more = {stride - 1, 0},
                             .relu = kernel % 2 == 0}));
    }
  }
  all.push_back(case_of({.in = {2, 5, 3, 2}, .outputs = 7, .kernel = {2, 3}, .stride = {1, 2}, .bias = false}));
  for (const std::int64_t outputs : {3, 8, 37}) {
    all.push_back(case_of({.in = {1, 2 * outputs + 1, 4, 3},
                           .outputs = outputs,
                           .kernel = {4, 3},
                           .padding = {1, 1},
                           .relu = outputs == 8,
                           .output_scale = 0.05,
                           .nibbles = true}));
  }
  all.push_back(case_of({.in = {2, 5, 3, 2}, .outputs = 7, .dilation = {2, 1}, .output_scale = 0.05, .nibbles = true}));
  all.push_back(case_of({.in = {1, 4, 1, 9}, .outputs = 3, .kernel = {1, 4}, .stride = {1, 2}, .padding = {0, 1}}));
  all.push_back(case_of({.in = {1, 20, 5, 4}, .outputs = 8, .kernel = {4, 4}, .padding = {1, 1}, .relu = true}));
  // Padding so large that windows begin inside the input; a kernel smaller than its stride.
  all.push_back(case_of({.in = {1, 3, 6, 6}, .outputs = 4, .kernel = {2, 2}, .padding = {1, 1}}));
  all.push_back(case_of({.in = {1, 3, 6, 7}, .outputs = 4, .kernel = {3, 2}, .padding = {4, 3}}));
  all.push_back(case_of({.in = {1, 3, 2, 2}, .outputs = 4, .kernel = {2, 1}, .stride = {4, 3}, .more = {3, 1}}));
  // Dilation that shares a factor with the stride, and one that does not.
  for (const std::int64_t dilation : {2, 3}) {
    for (const std::int64_t stride : {1, 2, 4}) {
      all.push_back(case_of({.in = {1, 3, 4, 3},
                             .outputs = 4,
                             .kernel = {3, 2},
                             .stride = {stride, stride},
                             .padding = {2, 1},
                             .dilation = {dilation, dilation}}));
    }
  }
  // Groups, depthwise ones too.
  all.push_back(case_of({.in = {1, 6, 3, 3}, .outputs = 4, .padding = {1, 1}, .groups = 2}));
  all.push_back(case_of({.in = {1, 8, 4, 3}, .outputs = 8, .kernel = {4, 4}, .padding = {1, 1}, .groups = 8}));
  all.push_back(case_of({.in = {1, 5, 4, 3}, .outputs = 10, .kernel = {2, 2}, .groups = 5, .bias = false}));
  all.push_back(case_of({.in = {1, 40, 3, 3}, .outputs = 20, .kernel = {2, 2}, .groups = 2, .per_tensor = true}));
  // Shifts to the left; zero points at both ends; the lowest weight, and one scale for all.
  all.push_back(case_of({.in = {1, 9, 3, 3}, .outputs = 6, .output_scale = 0.0004}));
  all.push_back(case_of({.in = {1, 9, 3, 3}, .outputs = 6, .input_zero_point = -128}));
  all.push_back(case_of({.in = {1, 9, 3, 3}, .outputs = 6, .input_zero_point = 127}));
  all.push_back(case_of({.in = {1, 9, 3, 3}, .outputs = 5, .output_scale = 8, .weight = -128, .per_tensor = true}));
  return all;
}

TEST(TransposeConv2d, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases(), 2); }

TEST(TransposeConv2d, IsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(cases()); }

// A program for any target is not prepacked: the definition itself on the host, the same loop on every board.
TEST(TransposeConv2d, ProgramsForAnyTargetGiveTheSameBits) {
  const auto compiled = [](const Target& target) {
    ir::Graph graph;
    for (const Case& c : cases()) graph.add_output(c.build(graph));
    compiler::Options options;
    options.config.target = target;
    return program_from(compiler::compile(graph, options).program, "test");
  };
  const ProgramFile any = compiled(parse_target("any"));
  const ProgramFile packed = compiled(parse_target("cortex-m55"));
  std::mt19937 random(5);
  Arrays inputs;
  for (const ProgramTensor& tensor : any.inputs) {
    std::int64_t count = 1;
    for (const std::int64_t n : tensor.shape) count *= n;
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random() & 255U);
    inputs.push_back({tensor.dtype, tensor.shape, std::move(bytes)});
  }
  const Arrays wanted = execute(any, {inputs}, {}).outputs.at(0);
  std::vector<Arrays> got = {execute(packed, {inputs}, {}).outputs.at(0)};
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m0"}) {
    ExecuteOn board;
    board.target = parse_target(cpu);
    got.push_back(execute(any, {inputs}, board).outputs.at(0));
  }
  for (const Arrays& arrays : got) {
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(arrays.at(i).data, wanted[i].data) << cases()[i].name;
  }
}

// ---- aten -----------------------------------------------------------------------------------------------------------

struct Imported {
  ir::Graph graph;
  const ir::Node* node = nullptr;

  Imported(std::string_view target, const ir::Shape& in, const ir::Shape& weight, std::vector<ir::NamedArgument> given,
           ir::Shape out) {
    given.push_back({"input", graph.add_input("x", ir::float_type(in))});
    given.push_back({"weight", graph.add_input("w", ir::float_type(weight))});
    const Operator op = transpose_conv2d_operator();
    ir::Node call;
    call.name = "call";
    for (const AtenForm& form : op.forms) {
      const Schema schema = parse_schema(form.schema);
      if (schema.target() != target) continue;
      call.args = given;
      for (const SchemaArgument& argument : schema.arguments) {
        const auto known = [&](const ir::NamedArgument& arg) { return arg.name == argument.name; };
        if (std::ranges::none_of(given, known))
          call.args.push_back({argument.name, argument.fallback.value_or(ir::None{})});
      }
      Importer importer{&graph, &call, {ir::float_type(std::move(out))}};
      node = form.import(importer).front()->producer;
      return;
    }
  }
};

TEST(TransposeConv2dImport, PlanesLinesAndSingleImages) {
  const Imported plane("aten.conv_transpose2d.input", {1, 2, 5, 6}, {2, 3, 3, 3},
                       {{"stride", Ints{2, 2}}, {"output_padding", Ints{1, 0}}}, {1, 3, 12, 13});
  ASSERT_NE(plane.node, nullptr);
  EXPECT_EQ(plane.node->op, "aten.conv_transpose2d");
  EXPECT_EQ(plane.node->integers("output_padding"), Ints({1, 0}));
  EXPECT_EQ(plane.node->integers("dilation"), Ints({1, 1}));
  EXPECT_EQ(transpose_conv2d_operator().infer(*plane.node).front().shape, ir::Shape({1, 3, 12, 13}));
  const Imported line("aten.conv_transpose1d.default", {1, 2, 6}, {2, 3, 4},
                      {{"stride", Ints{2}}, {"padding", Ints{1}}}, {1, 3, 12});
  ASSERT_EQ(line.node->op, "aten.view");
  const ir::Node* inner = line.node->tensor("self")->producer;
  EXPECT_EQ(inner->integers("stride"), Ints({1, 2}));
  EXPECT_EQ(inner->result()->type.shape, ir::Shape({1, 3, 1, 12}));
  EXPECT_EQ(transpose_conv2d_operator().infer(*inner).front().shape, ir::Shape({1, 3, 1, 12}));
  const Imported single("aten.conv_transpose2d.input", {2, 5, 6}, {2, 3, 2, 2}, {}, {3, 6, 7});
  EXPECT_EQ(single.node->tensor("self")->type.shape, ir::Shape({1, 3, 6, 7}));
  EXPECT_THROW(Imported("aten.conv_transpose3d.input", {1, 2, 5, 6, 7}, {2, 3, 2, 2, 2}, {}, {1}), InputError);
}

ir::Node* node_of(ir::Graph& graph, const Layer& layer) { return build(graph, layer)->producer; }

TEST(TransposeConv2dInfer, ShapesThatDoNotFitAreRejected) {
  const Operator op = transpose_conv2d_operator();
  const auto infer = [&](const Layer& layer, const char* argument, const ir::Argument& value) {
    ir::Graph graph;
    ir::Node* node = node_of(graph, layer);
    node->set("bias", ir::None{});  // which would have to fit the groups
    node->set(argument, value);
    return op.infer(*node);
  };
  const Layer layer = {.in = {1, 4, 3, 3}, .outputs = 2};
  EXPECT_EQ(infer(layer, "groups", std::int64_t{1}).front().shape, ir::Shape({1, 2, 7, 7}));
  EXPECT_EQ(infer(layer, "groups", std::int64_t{2}).front().shape, ir::Shape({1, 4, 7, 7}));
  EXPECT_THROW(infer(layer, "groups", std::int64_t{3}), InputError);
  EXPECT_THROW(infer(layer, "output_padding", Ints{2, 0}), InputError);
  EXPECT_THROW(infer(layer, "padding", Ints{4, 0}), InputError);
  EXPECT_THROW(infer(layer, "stride", Ints{0, 1}), InputError);
}

TEST(TransposeConv2dQuantize, ChannelsAreDimensionOneUnlessThereAreGroups) {
  ir::Graph graph;
  const Operator op = transpose_conv2d_operator();
  EXPECT_EQ(op.quantize(*node_of(graph, {.in = {1, 4, 3, 3}, .outputs = 2})).weights.at(0).axis, 1);
  const QuantRule grouped = op.quantize(*node_of(graph, {.in = {1, 4, 3, 3}, .outputs = 2, .groups = 2}));
  EXPECT_EQ(grouped.weights.at(0).axis, std::nullopt);
  EXPECT_TRUE(grouped.weights.at(1).is_bias);
}

// ---- lowering -------------------------------------------------------------------------------------------------------

TEST(TransposeConv2dScratch, EqualsCmsisNn) {
  const auto of = [](Isa isa, const transpose_conv2d::UpstreamShape& shape) {
    const auto [a, b] = transpose_conv2d::upstream_scratch_bytes(isa, shape);
    return std::pair(a, b);
  };
  // {in_width, in_channels, out_channels, kernel_height, kernel_width, stride_height, stride_width}
  EXPECT_EQ(of(Isa::mve, {5, 16, 4, 3, 3, 2, 2}), std::pair(4U * 11 * 4 * 3, 0U));
  EXPECT_EQ(of(Isa::dsp, {5, 17, 4, 3, 3, 2, 2}), std::pair(4U * 156, 9U * 17 * 4));
  EXPECT_EQ(of(Isa::mve, {5, 17, 4, 3, 3, 2, 2}), std::pair(4U * 160, 9U * 17 * 4));
  EXPECT_EQ(of(Isa::scalar, {5, 17, 4, 2, 3, 1, 3}), std::pair(4U * 15 * 4 * 2, 0U));
}

// With borders of zeros as CMSIS-NN needs them, it is the same convolution.
TEST(TransposeConv2d, ForExecuTorchIsWithinOneStepOfTheFloatSemanticsToo) {
  conformance::expect_near_float_semantics(cases(), 1.0, 2, {.target = {}, .runtime = Runtime::executorch});
}

TEST(TransposeConv2dLower, ForExecuTorchPaddingIsInWholeStridesAndWithinTheKernel) {
  const auto lowered = [](const Layer& layer) {
    ir::Graph graph;
    const ir::Node* node = transpose_conv2d_operator()
                               .lower({graph, *node_of(graph, layer), {.target = {}, .runtime = Runtime::executorch}})
                               ->producer;
    return std::tuple(node->integers("padding"), node->integers("output_padding"), node->tensor("weight")->type.shape);
  };
  // A ring of rows: one row of padding becomes a stride of two.
  EXPECT_EQ(lowered({.in = {1, 3, 4, 4}, .outputs = 2, .kernel = {3, 3}, .padding = {1, 1}}),
            std::tuple(Ints{2, 1}, Ints{1, 0}, ir::Shape({2, 4, 3, 3})));
  // More rows after the output than padding: they are zeros of the kernel.
  EXPECT_EQ(lowered({.in = {1, 3, 4, 4}, .outputs = 2, .kernel = {3, 3}, .more = {1, 1}}),
            std::tuple(Ints{0, 0}, Ints{0, 0}, ir::Shape({2, 4, 4, 3})));
  // Turned weights: no padding beyond the kernel.
  EXPECT_EQ(lowered({.in = {1, 17, 6, 6}, .outputs = 2, .kernel = {2, 2}, .padding = {2, 3}}),
            std::tuple(Ints{2, 3}, Ints{-1, -2}, ir::Shape({2, 3, 4, 17})));
}

TEST(TransposeConv2dLower, TheCallIsWhatExecuTorchExpects) {
  ir::Graph graph;
  const Layer layer = {.in = {1, 2, 4, 4}, .outputs = 3, .kernel = {2, 2}, .relu = true};
  ir::Node* aten = node_of(graph, layer);
  const Config config{.target = {}, .runtime = Runtime::executorch};
  const ir::Node* node = transpose_conv2d_operator().lower({graph, *aten, config})->producer;
  EXPECT_EQ(node->op, "cortex_m.quantized_transpose_conv2d");
  EXPECT_EQ(node->integers("output_padding"), Ints({0, 0}));
  EXPECT_EQ(node->integer("input_offset"), 5);
  EXPECT_EQ(node->integer("activation_min"), -128);
  const ir::Value* weight = node->tensor("weight");
  ASSERT_EQ(weight->type.shape, ir::Shape({3, 2, 2, 2}));
  const auto from = aten->tensor("weight")->data.as<std::int8_t>();  // [2, 3, 2, 2]
  const auto to = weight->data.as<std::int8_t>();
  for (std::size_t o = 0; o < 3; ++o) {
    for (std::size_t p = 0; p < 4; ++p) {
      for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(to[o * 8 + p * 2 + i], from[i * 12 + o * 4 + p]);
    }
  }
  EXPECT_EQ(node->tensor("scratch")->type.bytes(), 4 * 8 * 3 * 2);
  EXPECT_EQ(node->tensor("output_scratch")->type.bytes(), 0);
}

TEST(TransposeConv2dLower, ForExecuTorchGroupsAndDilationAreFilledWithZeros) {
  ir::Graph graph;
  const Layer layer = {.in = {1, 4, 4, 4}, .outputs = 2, .kernel = {2, 2}, .dilation = {3, 1}, .groups = 2};
  ir::Node* aten = node_of(graph, layer);
  const Config config{.target = {}, .runtime = Runtime::executorch};
  const ir::Node* node = transpose_conv2d_operator().lower({graph, *aten, config})->producer;
  EXPECT_EQ(node->integers("dilation"), Ints({1, 1}));
  const ir::Value* weight = node->tensor("weight");
  ASSERT_EQ(weight->type.shape, ir::Shape({2, 4, 2, 4}));
  const auto data = weight->data.as<std::int8_t>();
  EXPECT_EQ(std::ranges::count_if(data, [](std::int8_t w) { return w != 0; }), 2 * 2 * 2 * 2);
  EXPECT_EQ(data[0], aten->tensor("weight")->data.as<std::int8_t>()[0]);
  EXPECT_EQ(data[2], 0);  // of the second group
}

TEST(TransposeConv2dLower, WeightsAlongTheInputsOrWithZeroPointsAreRefused) {
  const auto lower = [](const std::function<void(ir::QuantParams&)>& change) {
    ir::Graph graph;
    ir::Node* aten = node_of(graph, {.in = {1, 3, 4, 4}, .outputs = 3});
    ir::QuantParams quant = aten->tensor("weight")->type.quant.value_or(ir::QuantParams{});
    change(quant);
    aten->tensor("weight")->type.quant = quant;
    transpose_conv2d_operator().lower({graph, *aten, {}});
  };
  EXPECT_NO_THROW(lower([](ir::QuantParams&) {}));
  EXPECT_THROW(lower([](ir::QuantParams& q) { q.axis = 0; }), InputError);
  EXPECT_THROW(lower([](ir::QuantParams& q) { q.zero_points[1] = 1; }), InputError);
}

// ---- phases ---------------------------------------------------------------------------------------------------------

// Every output sees every tap that the definition gives it, from the right input, and no other.
TEST(TransposeConv2dPhases, TogetherAreTheTransposedConvolution) {
  std::mt19937 random(3);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random); };
  for (int i = 0; i < 500; ++i) {
    const std::int64_t in = draw(1, 6);
    const std::int64_t kernel = draw(1, 5);
    const std::int64_t stride = draw(1, 4);
    const std::int64_t dilation = draw(1, 4);
    const std::int64_t padding = draw(0, 5);
    const std::int64_t out = (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1 + draw(0, 1);
    if (out < 1) continue;
    std::vector<std::pair<std::int64_t, std::int64_t>> wanted;  // output · 1000 + tap, input
    for (std::int64_t x = 0; x < in; ++x) {
      for (std::int64_t k = 0; k < kernel; ++k) {
        const std::int64_t y = x * stride + k * dilation - padding;
        if (y >= 0 && y < out) wanted.emplace_back(y * 1000 + k, x);
      }
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> got;
    std::int64_t outputs = 0;
    for (std::int64_t phase = 0; phase < stride; ++phase) {
      const auto t = transpose_conv2d::phase_taps(phase, out, kernel, stride, padding, dilation);
      outputs += t.count;
      ASSERT_GE(t.pad, 0);
      for (std::int64_t y = 0; y < t.count; ++y) {
        for (std::size_t j = 0; j < t.taps.size(); ++j) {
          const std::int64_t x = y + static_cast<std::int64_t>(j) * t.dilation - t.pad;
          if (t.taps[j] && x >= 0 && x < in) got.emplace_back((t.first + y * stride) * 1000 + *t.taps[j], x);
        }
      }
    }
    std::ranges::sort(wanted);
    std::ranges::sort(got);
    ASSERT_EQ(wanted, got) << in << " " << kernel << " " << stride << " " << dilation << " " << padding;
    ASSERT_EQ(outputs, out);
  }
}

// ---- damaged programs -----------------------------------------------------------------------------------------------

// A packed program whose constant is changed before it is written.
void load(const transpose_conv2d::Variant& variant, const std::function<void(std::vector<std::byte>&)>& damage,
          std::int64_t more_scratch = 0) {
  ir::Graph graph;
  const std::string_view name = variant.name;
  const auto is_for = [&](const char* isa) { return name.find(std::string(".") + isa) != std::string_view::npos; };
  const Cpu* cpu = is_for("v6m") ? &kCpus[0] : &kCpus[9];
  const Isa isa = is_for("mve") ? Isa::mve : is_for("dsp") ? Isa::dsp : Isa::scalar;
  const Config config{.target = {cpu, isa}};
  const std::int64_t groups = variant.depthwise_phase != nullptr ? 3 : 1;
  ir::Node* aten =
      node_of(graph, {.in = {1, 3, 4, 5}, .outputs = 6, .groups = groups, .nibbles = variant.nibbles_phase != nullptr});
  ir::Node* lowered = transpose_conv2d_operator().lower({graph, *aten, config})->producer;
  ir::Node* packed = transpose_conv2d::prepack({graph, *lowered, config})->producer;
  ASSERT_EQ(packed->op, graph_name(variant.name));
  ir::Value* constant = packed->tensor("packed");
  std::vector<std::byte> bytes(constant->data.bytes.begin(), constant->data.bytes.end());
  damage(bytes);
  constant->type.shape = {static_cast<std::int64_t>(bytes.size())};
  constant->data = ir::Bytes::own(std::move(bytes));
  if (more_scratch != 0) {
    packed->set("scratch", graph.add_scratch("other", packed->tensor("scratch")->type.bytes() + more_scratch));
  }
  packed->tensor("input")->type.dim_order = ir::kChannelsLast;
  packed->result()->type.dim_order = ir::kChannelsLast;
  graph.add_output(packed->result());
  graph.erase_unused();
  HostProgram program(conformance::program_of(graph), host_kernels());
  const std::vector<std::vector<std::byte>> inputs = {std::vector<std::byte>(60)};
  program.run(inputs);
}

template <class T>
void change(std::vector<std::byte>& bytes, std::size_t at, const std::function<void(T&)>& how) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  how(value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

TEST(TransposeConv2dLoad, RejectsPackedConstantsThatDoNotFit) {
  using transpose_conv2d::Header;
  using transpose_conv2d::Phase;
  constexpr std::size_t kFirst = sizeof(Header);
  constexpr std::size_t kConvolution = kFirst + sizeof(Phase);
  const auto header = [](std::function<void(Header&)> how) {
    return [how](std::vector<std::byte>& bytes) { change<Header>(bytes, 0, how); };
  };
  const auto phase = [](std::function<void(Phase&)> how) {
    return [how](std::vector<std::byte>& bytes) { change<Phase>(bytes, kFirst, how); };
  };
  const auto convolution = [](std::function<void(conv::Header&)> how) {
    return [how](std::vector<std::byte>& bytes) { change<conv::Header>(bytes, kConvolution, how); };
  };
  const std::function<void(std::vector<std::byte>&)> damages[] = {
      [](std::vector<std::byte>& bytes) { bytes.pop_back(); },
      [](std::vector<std::byte>& bytes) { bytes.resize(bytes.size() + 16); },
      [](std::vector<std::byte>& bytes) { bytes.resize(8); },
      [](std::vector<std::byte>& bytes) { bytes.resize(sizeof(Header) + 8); },
      header([](Header& h) { h.phases = 0; }),
      header([](Header& h) { ++h.phases; }),
      header([](Header& h) { --h.phases; }),
      header([](Header& h) { ++h.out_width; }),
      header([](Header& h) { h.stride_height = 0; }),
      header([](Header& h) { ++h.stride_width; }),
      phase([](Phase& p) { p.y += 2; }),
      phase([](Phase& p) { p.x = 0xffff; }),
      phase([](Phase& p) { p.bytes += 16; }),
      phase([](Phase& p) { p.bytes = 0; }),
      phase([](Phase& p) { p.bytes = 0xfffffff0; }),
      phase([](Phase& p) { p.bytes += 1; }),
      convolution([](conv::Header& c) { c.geometry.in_channels = 4; }),
      convolution([](conv::Header& c) { ++c.geometry.out_height; }),
      convolution([](conv::Header& c) { c.geometry.out_channels = 5; }),
      convolution([](conv::Header& c) { c.geometry.batch = 2; }),
      convolution([](conv::Header& c) { c.geometry.groups = 2; }),
      convolution([](conv::Header& c) { c.geometry.kernel_width = 0xffff; }),
      convolution([](conv::Header& c) { c.stream_bytes -= 4; }),
      convolution([](conv::Header& c) { std::memset(&c.rounding, 3, 1); }),
  };
  for (const transpose_conv2d::Variant* variant : transpose_conv2d::kVariants) {
    SCOPED_TRACE(variant->name);
    EXPECT_NO_THROW(load(*variant, [](std::vector<std::byte>&) {}));
    for (std::size_t i = 0; i < std::size(damages); ++i) EXPECT_THROW(load(*variant, damages[i]), InputError) << i;
    EXPECT_THROW(load(*variant, [](std::vector<std::byte>&) {}, -4), InputError);
  }
}

}  // namespace
}  // namespace cormorant::ops
