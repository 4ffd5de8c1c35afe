// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d/conv2d.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "kernels/requantize.h"
#include "kernels/requantize_v6m.h"
#include "ops/conv2d/prepack.h"
#include "ops/op.h"
#include "passes/passes.h"
#include "program/program_io.h"
#include "runtime/host.h"
#include "target/parse.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/wild_channels.h"

namespace cormorant::ops {

Operator conv2d_operator();

namespace {

using conformance::Case;
using Ints = std::vector<std::int64_t>;

// ---- cases ----------------------------------------------------------------------------------------------------------

struct Layer {
  ir::Shape in;  // N C H W
  std::int64_t outputs = 1;
  Ints kernel = {1, 1};
  Ints stride = {1, 1};
  Ints padding = {0, 0};
  Ints dilation = {1, 1};
  std::int64_t groups = 1;
  bool bias = true;
  bool relu = false;
  double output_scale = 0.5;
  std::int32_t input_zero_point = -5;
  std::int8_t weight = 0;  // all weights, unless 0
  // Unless 0 every third channel is next to nothing beside its bias, which is this much beyond a whole step of the
  // output, and every third shifts left.
  double withered = 0;
  std::vector<double> slopes = {};  // of a PReLU after it: one, or one per output
  // Unless 0 biases are such that the largest sum of odd channels is this and of even ones is one less.
  std::int32_t largest_sum = 0;
  bool wild = false;  // tests/conformance/wild_channels.h
};

void wither(const Layer& l, const ir::Value* x, ir::Value* w, ir::Value* b) {
  std::vector<std::int32_t> biases;
  for (std::int64_t c = 0; c < l.outputs; ++c) {
    double& scale = w->type.quant->scales[static_cast<std::size_t>(c)];
    scale = c % 3 == 0 ? 3e-7 : c % 3 == 1 ? 0.02 : 10;
    const double unit = scale * x->type.quant->scale();
    b->type.quant->scales[static_cast<std::size_t>(c)] = unit;
    biases.push_back(
        static_cast<std::int32_t>(c % 3 == 0 ? (static_cast<double>(c) + l.withered) * l.output_scale / unit : 5));
  }
  b->data = ir::Bytes::of(std::span<const std::int32_t>(biases));
}

// Biases of both signs.
void set_largest_sums(const Layer& l, const ir::Value* x, ir::Value* w, ir::Value* b) {
  const auto weights = w->data.as<std::int8_t>();
  const std::size_t patch = weights.size() / static_cast<std::size_t>(l.outputs);
  std::vector<std::int32_t> biases;
  for (std::size_t c = 0; c < static_cast<std::size_t>(l.outputs); ++c) {
    w->type.quant->scales[c] = 0.02;
    b->type.quant->scales[c] = 0.02 * x->type.quant->scale();
    std::int32_t bias = l.largest_sum - (c % 2 == 0 ? 1 : 0);
    for (const std::int8_t weight : weights.subspan(c * patch, patch)) bias -= 128 * std::abs(weight);
    biases.push_back(c % 4 < 2 ? bias : -bias);
  }
  b->data = ir::Bytes::of(std::span<const std::int32_t>(biases));
}

ir::Value* build(ir::Graph& graph, const Layer& l) {
  std::mt19937 random(static_cast<unsigned>(l.in[1] * 1000 + l.outputs));
  ir::Value* x = conformance::int8_input(graph, l.in, 0.05, l.input_zero_point);
  ir::Value* w = conformance::int8_weights(graph, {l.outputs, l.in[1] / l.groups, l.kernel[0], l.kernel[1]}, 0, random);
  if (l.weight != 0) {
    const std::vector<std::int8_t> same(static_cast<std::size_t>(w->type.elements()), l.weight);
    w->data = ir::Bytes::of(std::span<const std::int8_t>(same));
  }
  ir::Argument bias;
  if (l.bias) bias = conformance::int32_bias(graph, x, w, random, 3000);
  if (l.withered != 0) wither(l, x, w, std::get<ir::Value*>(bias));
  if (l.wild) conformance::make_wild(l.output_scale, x, w, std::get<ir::Value*>(bias));
  if (l.largest_sum != 0) set_largest_sums(l, x, w, std::get<ir::Value*>(bias));
  ir::Shape out = {l.in[0], l.outputs, 0, 0};
  for (std::size_t i = 0; i < 2; ++i) {
    out[2 + i] = (l.in[2 + i] + 2 * l.padding[i] - l.dilation[i] * (l.kernel[i] - 1) - 1) / l.stride[i] + 1;
  }
  std::vector<ir::NamedArgument> args = {{"input", x},         {"weight", w},          {"bias", bias},
                                         {"stride", l.stride}, {"padding", l.padding}, {"dilation", l.dilation},
                                         {"groups", l.groups}};
  if (l.relu) args.push_back({"activation_min", 0.0});
  if (!l.slopes.empty()) args.push_back({"activation_slopes", l.slopes});
  return conformance::add_quantized(graph, "aten.conv2d", std::move(args), out, l.output_scale, l.relu ? -128 : 3);
}

Case case_of(const Layer& l) {
  std::string name;
  for (const auto* list : {&l.in, &l.kernel, &l.stride, &l.padding, &l.dilation}) {
    for (const std::int64_t n : *list) name += (name.empty() ? "" : " ") + std::to_string(n);
    name += ",";
  }
  return {name + " to " + std::to_string(l.outputs) + (l.relu ? " relu" : "") + (l.slopes.empty() ? "" : " slopes"),
          [l](ir::Graph& graph) { return build(graph, l); }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  // Channels that fill no vector, word or block, at every alignment a planner leaves them.
  for (const std::int64_t inputs : {1, 3, 16, 17, 40}) {
    for (const std::int64_t outputs : {inputs % 4 + 1, inputs == 17 ? std::int64_t{17} : std::int64_t{8}}) {
      all.push_back(case_of({.in = {1, inputs, 3, 5}, .outputs = outputs, .relu = outputs % 2 == 0}));
    }
    all.push_back(case_of({.in = {1, inputs, 5, 6}, .outputs = 7, .kernel = {3, 3}, .padding = {1, 1}}));
    all.push_back(case_of(
        {.in = {1, inputs, 7, 6}, .outputs = 8, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .relu = true}));
  }
  // Few pixels: blocks of pixels that are not full.
  for (const std::int64_t pixels : {1, 2, 3, 5}) {
    all.push_back(case_of({.in = {1, 20, 1, pixels}, .outputs = 9}));
    all.push_back(case_of({.in = {1, 6, pixels, 1}, .outputs = 6, .kernel = {3, 1}, .padding = {1, 0}}));
  }
  all.push_back(case_of({.in = {2, 5, 4, 4}, .outputs = 6, .kernel = {2, 3}, .padding = {1, 2}, .bias = false}));
  all.push_back(case_of({.in = {2, 16, 5, 5}, .outputs = 8, .stride = {2, 2}}));
  all.push_back(case_of({.in = {3, 12, 3, 3}, .outputs = 5}));
  all.push_back(case_of({.in = {1, 4, 9, 9}, .outputs = 6, .kernel = {3, 3}, .padding = {2, 3}, .dilation = {2, 3}}));
  all.push_back(case_of({.in = {1, 3, 7, 9}, .outputs = 4, .kernel = {3, 2}, .padding = {0, 1}, .dilation = {1, 2}}));
  all.push_back(
      case_of({.in = {1, 2, 2, 2}, .outputs = 4, .kernel = {5, 5}, .padding = {4, 4}}));  // windows beside the input
  all.push_back(case_of({.in = {1, 1, 12, 8}, .outputs = 8, .kernel = {10, 4}, .stride = {2, 2}, .padding = {4, 1}}));
  all.push_back(case_of({.in = {1, 8, 1, 9}, .outputs = 3, .kernel = {1, 3}, .padding = {0, 1}}));
  // Groups that are no depthwise convolution: slices that fill a vector and those that do not, in place and copied.
  using Groups = std::pair<std::int64_t, std::int64_t>;  // and inputs of each
  for (const auto& [groups, inputs] : {Groups{2, 3}, Groups{2, 16}, Groups{3, 4}, Groups{3, 20}, Groups{16, 2}}) {
    const std::int64_t outputs = inputs == 3 ? 5 : inputs == 4 ? 4 : inputs == 20 ? 6 : 3;
    const Layer layer = {.in = {1, groups * inputs, 3, 4}, .outputs = groups * outputs, .groups = groups};
    all.push_back(case_of(layer));
    Layer window = layer;
    window.kernel = {3, 3};
    window.padding = {1, 1};
    window.relu = inputs % 2 == 0;
    all.push_back(case_of(window));
    window.kernel = {1, 3};
    window.stride = {1, 2};
    all.push_back(case_of(window));
  }
  // Groups of two channels: two at a time, or an odd one; windows at the edge and along a row; odd numbers of taps.
  for (const std::int64_t groups : {3, 6}) {
    const Layer layer = {.in = {2, 2 * groups, 5, 6}, .outputs = 2 * groups, .groups = groups};
    all.push_back(case_of(layer));
    Layer window = layer;
    window.kernel = {3, 3};
    window.padding = {1, 1};
    window.relu = groups == 6;
    all.push_back(case_of(window));
    window.stride = {2, 1};
    window.kernel = {2, 3};
    window.dilation = {1, 2};
    window.relu = false;
    all.push_back(case_of(window));
    window.output_scale = 0.0004;  // shifts to the left
    all.push_back(case_of(window));
  }
  all.push_back(case_of({.in = {2, 8, 6, 5},
                         .outputs = 12,
                         .kernel = {2, 3},
                         .stride = {2, 1},
                         .padding = {1, 2},
                         .dilation = {2, 2},
                         .groups = 4}));
  // Windows of one row, in place except for the border; of one column; dilated in either direction; all strides.
  for (const std::int64_t channels : {3, 20}) {
    all.push_back(case_of({.in = {1, channels, 1, 23}, .outputs = 6, .kernel = {1, 5}, .padding = {0, 2}}));
    all.push_back(case_of({.in = {2, channels, 3, 11}, .outputs = 4, .kernel = {1, 4}, .stride = {1, 3}}));
    all.push_back(case_of({.in = {1, channels, 2, 9},
                           .outputs = 4,
                           .kernel = {1, 7},
                           .stride = {2, 1},
                           .padding = {1, 8},
                           .relu = true}));
    all.push_back(
        case_of({.in = {1, channels, 1, 21}, .outputs = 4, .kernel = {1, 3}, .padding = {0, 4}, .dilation = {1, 4}}));
    all.push_back(
        case_of({.in = {1, channels, 13, 2}, .outputs = 4, .kernel = {5, 1}, .padding = {4, 0}, .dilation = {2, 1}}));
    all.push_back(
        case_of({.in = {2, channels, 12, 7}, .outputs = 5, .kernel = {3, 3}, .padding = {3, 1}, .dilation = {3, 2}}));
    all.push_back(
        case_of({.in = {1, channels, 12, 12}, .outputs = 4, .kernel = {11, 11}, .stride = {4, 4}, .padding = {2, 2}}));
    all.push_back(
        case_of({.in = {1, channels, 9, 9}, .outputs = 4, .kernel = {7, 7}, .stride = {2, 3}, .padding = {3, 3}}));
    all.push_back(case_of({.in = {1, channels, 4, 9}, .outputs = 4, .kernel = {4, 3}}));  // one row of output
    all.push_back(case_of({.in = {1, channels, 4, 9}, .outputs = 4, .stride = {2, 2}, .padding = {2, 3}}));
  }
  all.push_back(case_of({.in = {1, 24, 30, 4}, .outputs = 6, .kernel = {3, 3}, .padding = {1, 1}}));  // stretches
  all.push_back(case_of({.in = {1, 4, 3, 3}, .outputs = 6, .groups = 2, .bias = false}));
  // Shifts to the left; zero points at both ends; the largest sums, and the lowest weight.
  all.push_back(case_of({.in = {1, 9, 3, 3}, .outputs = 6, .output_scale = 0.0004}));
  all.push_back(
      case_of({.in = {1, 9, 4, 4}, .outputs = 6, .kernel = {3, 3}, .padding = {1, 1}, .input_zero_point = -128}));
  all.push_back(
      case_of({.in = {1, 9, 4, 4}, .outputs = 6, .kernel = {3, 3}, .padding = {1, 1}, .input_zero_point = 127}));
  for (const double withered : {0.2, 0.5}) {
    for (const bool relu : {false, true}) {
      all.push_back(case_of({.in = {1, 9, 2, 3}, .outputs = 13, .relu = relu, .withered = withered}));
    }
  }
  for (const int weight : {-128, -127, 127}) {
    all.push_back(case_of({.in = {1, 64, 3, 3},
                           .outputs = 5,
                           .kernel = {3, 3},
                           .padding = {1, 1},
                           .output_scale = 40,
                           .weight = static_cast<std::int8_t>(weight)}));
  }
  // Where ARMv6-M begins to requantize with more instructions.
  for (const int weight : {127, -127}) {
    all.push_back(case_of({.in = {1, 4, 5, 5},
                           .outputs = 8,
                           .output_scale = 10,
                           .input_zero_point = 0,
                           .weight = static_cast<std::int8_t>(weight),
                           .largest_sum = kSmallSumV6m}));
  }
  return all;
}

// Slopes of both signs, none, and more than one.
std::vector<double> some_slopes(std::int64_t outputs) {
  constexpr double kSlopes[] = {0.25, 0.0, -0.4, 1.7, 0.01};
  std::vector<double> slopes;
  for (std::int64_t c = 0; c < outputs; ++c) slopes.push_back(kSlopes[c % 5]);
  return slopes;
}

std::vector<Case> sloped_cases() {
  std::vector<Case> all;
  const auto add = [&](Layer layer) {
    if (layer.slopes.empty()) layer.slopes = some_slopes(layer.outputs);
    all.push_back(case_of(layer));
  };
  // Blocks of channels and of pixels that are not full, in every walk.
  for (const std::int64_t inputs : {3, 16, 20}) {
    for (const std::int64_t outputs : {1, 5, 8}) {
      add({.in = {1, inputs, 3, 5}, .outputs = outputs});
      add({.in = {1, inputs, 6, 5}, .outputs = outputs, .kernel = {3, 3}, .padding = {1, 1}});
    }
    add({.in = {1, inputs, 1, 9}, .outputs = 6, .kernel = {1, 3}, .padding = {0, 1}, .slopes = {0.1}});
    add({.in = {1, inputs, 4, 9}, .outputs = 7, .kernel = {4, 3}});
  }
  for (const std::int64_t pixels : {1, 2, 4}) add({.in = {1, 20, 1, pixels}, .outputs = 9});
  add({.in = {2, 5, 7, 4}, .outputs = 6, .kernel = {2, 3}, .stride = {2, 1}, .padding = {1, 2}, .bias = false});
  add({.in = {1, 4, 9, 9}, .outputs = 6, .kernel = {3, 3}, .padding = {2, 3}, .dilation = {2, 3}});
  for (const std::int64_t inputs : {2, 3, 4}) {
    add({.in = {1, 4 * inputs, 4, 4}, .outputs = 12, .kernel = {3, 3}, .padding = {1, 1}, .groups = 4});
  }
  // Shifts to the left; a clamp after the slopes; channels that are constant or only for plain loops; the lowest
  // weight.
  add({.in = {1, 9, 3, 3}, .outputs = 6, .output_scale = 0.0004});
  add({.in = {1, 9, 3, 3}, .outputs = 6, .relu = true});
  for (const double withered : {0.2, 0.5}) add({.in = {1, 9, 2, 3}, .outputs = 13, .withered = withered});
  for (const int weight : {-128, 127}) {
    add({.in = {1, 64, 3, 3},
         .outputs = 5,
         .kernel = {3, 3},
         .padding = {1, 1},
         .output_scale = 40,
         .weight = static_cast<std::int8_t>(weight)});
  }
  return all;
}

// Far from the float semantics: left shifts wrap, as the reference defines.
std::vector<Case> wild_cases() {
  std::vector<Case> all;
  for (const bool sloped : {false, true}) {
    const auto add = [&](Layer layer) {
      layer.wild = true;
      if (sloped) layer.slopes = some_slopes(layer.outputs);
      all.push_back(case_of(layer));
    };
    for (const bool relu : {false, true}) {
      if (sloped && relu) continue;
      add({.in = {1, 9, 2, 3}, .outputs = 15, .relu = relu});
      add({.in = {1, 12, 4, 4}, .outputs = 30, .relu = relu});
    }
    add({.in = {1, 7, 4, 4}, .outputs = 32, .kernel = {3, 3}, .padding = {1, 1}});
    add({.in = {1, 8, 5, 3}, .outputs = 16, .weight = -128});
    add({.in = {1, 4, 4, 4}, .outputs = 60, .kernel = {3, 3}, .padding = {1, 1}, .groups = 2});
  }
  return all;
}

// A residual connection: the layer's result and something else, in either order, which the sum may overwrite.
enum class Residual : std::uint8_t { second, first, subtracted, clamped, also_read };
Case summed(const Layer& l, Residual residual = Residual::second) {
  const auto build_sum = [l, residual](ir::Graph& graph) {
    ir::Value* layer = build(graph, l);
    const ir::Shape shape = layer->type.shape;
    ir::Value* x = conformance::int8_input(graph, shape, 0.3, 7);
    ir::Value* other = conformance::add_quantized(graph, "aten.clamp", {{"self", x}, {"min", -30.0}}, shape, 0.3, 7);
    const bool is_first = residual == Residual::first;
    std::vector<ir::NamedArgument> args = {{"self", is_first ? other : layer},
                                           {"other", is_first ? layer : other},
                                           {"alpha", residual == Residual::subtracted ? -1.0 : 1.0}};
    if (residual == Residual::clamped) args.push_back({"activation_min", -5.0});
    ir::Value* sum = conformance::add_quantized(graph, "aten.add", std::move(args), shape, 0.4, 2);
    if (residual != Residual::also_read) return sum;
    return conformance::add_quantized(graph, "aten.add", {{"self", sum}, {"other", other}, {"alpha", 1.0}}, shape, 0.6,
                                      -3);
  };
  Case c = case_of(l);
  return {c.name + " sum " + std::to_string(static_cast<int>(residual)), build_sum};
}

Layer summed_layer(std::int64_t inputs, std::int64_t outputs, Ints size) {
  return {.in = {1, inputs, size[0], size[1]}, .outputs = outputs, .kernel = {3, 3}, .padding = {1, 1}};
}

std::vector<Case> summed_cases() {
  std::vector<Case> all;
  for (const std::int64_t outputs : {16, 48}) {
    for (const std::int64_t height : {2, 5, 8}) all.push_back(summed(summed_layer(16, outputs, {height, 3})));
  }
  for (const Residual order : {Residual::first, Residual::subtracted, Residual::clamped, Residual::also_read}) {
    all.push_back(summed(summed_layer(3, 16, {4, 4}), order));
  }
  all.push_back(summed(summed_layer(24, 16, {40, 2})));  // stretches
  Layer layer = summed_layer(5, 32, {9, 7});
  layer.stride = {2, 3};
  layer.relu = true;
  all.push_back(summed(layer));
  layer = summed_layer(8, 16, {6, 1});
  layer.kernel = {5, 1};
  layer.padding = {2, 0};
  all.push_back(summed(layer));
  layer = summed_layer(8, 16, {5, 9});
  layer.kernel = {2, 5};
  layer.padding = {0, 4};
  layer.dilation = {1, 2};
  all.push_back(summed(layer));
  layer = summed_layer(4, 16, {5, 5});
  layer.output_scale = 0.0004;
  all.push_back(summed(layer));
  layer.output_scale = 2;  // sums far outside the result's range: another shift
  all.push_back(summed(layer));
  all.push_back(summed(summed_layer(4, 17, {4, 4})));  // not whole vectors: two instructions
  return all;
}

TEST(Conv2d, EveryVariantWithAResidualEqualsTheReference) {
  conformance::expect_same_bits_everywhere(summed_cases(), 2);
}

std::int64_t count_sums(const Case& c, std::string_view cpu) {
  ir::Graph graph;
  graph.add_output(c.build(graph));
  const Config config{.target = parse_target(cpu)};
  passes::lower(graph, config);
  passes::decide_layout(graph, config);
  passes::prepack(graph, config);
  return std::ranges::count(graph.nodes(), "cormorant.conv2d.mve_sum", &ir::Node::op);
}

TEST(Conv2d, DoesTheAdditionAfterItWhereTheSumCanTakeTheResidualsPlace) {
  const Layer layer = summed_layer(16, 16, {8, 8});
  for (const Residual order : {Residual::second, Residual::first, Residual::subtracted}) {
    EXPECT_EQ(count_sums(summed(layer, order), "cortex-m55"), 1);
  }
  EXPECT_EQ(count_sums(summed(layer, Residual::clamped), "cortex-m55"), 0);
  EXPECT_EQ(count_sums(summed(layer, Residual::also_read), "cortex-m55"), 0);
  EXPECT_EQ(count_sums(summed(summed_layer(16, 17, {8, 8})), "cortex-m55"), 0);
  EXPECT_EQ(count_sums(summed(layer), "cortex-m4"), 0);
  const Case twice = {"twice", [&](ir::Graph& graph) {
                        ir::Value* x = build(graph, layer);
                        return conformance::add_quantized(
                            graph, "aten.add", {{"self", x}, {"other", x}, {"alpha", 1.0}}, x->type.shape, 0.4, 2);
                      }};
  EXPECT_EQ(count_sums(twice, "cortex-m55"), 0);
}

// A compilation's time grows faster than its graph, so that some graphs are quicker than one.
TEST(Conv2d, EveryVariantEqualsTheReference) {
  const std::vector<Case> all = cases();
  constexpr std::size_t kTogether = 40;
  for (std::size_t i = 0; i < all.size(); i += kTogether) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(i);
    const auto count = static_cast<std::ptrdiff_t>(std::min(kTogether, all.size() - i));
    conformance::expect_same_bits_everywhere({first, first + count}, 2);
  }
}

TEST(Conv2d, AnyFactorAndSumGiveTheReferencesBits) { conformance::expect_same_bits_everywhere(wild_cases(), 2); }

// Training leaves such channels, and they must not make their layer slow.
TEST(Conv2d, ChannelsWithAnyFactorCostLittle) {
  const char* asked = std::getenv("CORMORANT_CONFORMANCE");
  if (asked != nullptr && std::string_view(asked) == "dialect") return;  // which has no boards
  for (const char* cpu : {"cortex-m4", "cortex-m3", "cortex-m0"}) {
    ir::Graph graph;
    const Layer simple = {.in = {1, 64, 5, 5}, .outputs = 64};
    Layer wild = simple;
    wild.wild = true;
    for (const Layer& layer : {simple, wild}) graph.add_output(build(graph, layer));
    compiler::Options options;
    options.config.target = parse_target(cpu);
    const ProgramFile program = program_from(compiler::compile(graph, options).program, "test");
    Arrays inputs;
    for (const ProgramTensor& input : program.inputs) {
      inputs.push_back({input.dtype, input.shape, std::vector<std::byte>(input.element_count(), std::byte{7})});
    }
    ExecuteOn where;
    where.target = options.config.target;
    where.profile = true;
    const std::vector<StepProfile> steps = execute(program, {inputs}, where).board->steps;
    ASSERT_EQ(steps.size(), 2U);
    EXPECT_LT(static_cast<double>(steps[1].instructions), 1.15 * static_cast<double>(steps[0].instructions)) << cpu;
  }
}

TEST(Conv2d, IsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(cases()); }

TEST(Conv2d, EveryVariantWithSlopesEqualsTheReference) { conformance::expect_same_bits_everywhere(sloped_cases(), 2); }

TEST(Conv2d, WithSlopesIsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(sloped_cases()); }

// Rows with a stride, for ExecuTorch on MVE: zeros beside the weights change nothing but what CMSIS-NN makes of it.
TEST(Conv2d, RowsForExecuTorchAreWithinOneStepOfTheFloatSemantics) {
  std::vector<Case> rows;
  for (const std::int64_t kernel : {1, 2, 3, 4, 7}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t padding : {std::int64_t{0}, std::int64_t{1}, kernel / 2}) {
        rows.push_back(case_of({.in = {1, 8, 1, 20},
                                .outputs = 5,
                                .kernel = {1, kernel},
                                .stride = {1, stride},
                                .padding = {0, padding}}));
      }
    }
  }
  const Config config{.target = {&kCpus[9], Isa::mve}, .runtime = Runtime::executorch};
  conformance::expect_near_float_semantics(rows, 1.0, 1, config);
}

// A high column is computed in stretches.
TEST(Conv2d, HighColumnsAreComputedToo) {
  const Layer high = {.in = {1, 8, 700, 3}, .outputs = 3, .kernel = {3, 3}, .padding = {1, 1}};
  conv::Geometry g = {.in_height = 700, .in_width = 3, .in_channels = 8, .out_height = 700, .out_width = 3};
  g.kernel_height = g.kernel_width = 3;
  ASSERT_LT(conv2d::Stretch(g).outputs, 100U);
  conformance::expect_same_bits_everywhere({case_of(high)}, 1, {{Target{}, "gcc"}});
}

// ---- aten -----------------------------------------------------------------------------------------------------------

const ir::Node* import_call(ir::Graph& graph, std::string_view target, const std::vector<ir::NamedArgument>& given,
                            const ir::Shape& shape) {
  return conformance::import_call(graph, target, given, shape).front()->producer;
}

struct Images {
  ir::Graph graph;
  ir::Value* x;
  ir::Value* w;
  explicit Images(ir::Shape in = {1, 2, 8, 9}, ir::Shape weight = {3, 2, 3, 4})
      : x(graph.add_input("x", ir::float_type(std::move(in)))),
        w(graph.add_input("w", ir::float_type(std::move(weight)))) {}
};

TEST(Conv2dImport, DefaultsAndSingleNumbersBecomePairs) {
  Images i;
  const ir::Node* node =
      import_call(i.graph, "aten.conv2d.default", {{"input", i.x}, {"weight", i.w}, {"stride", Ints{2}}}, {1, 3, 3, 3});
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->op, "aten.conv2d");
  EXPECT_EQ(node->integers("stride"), Ints({2, 2}));
  EXPECT_EQ(node->integers("padding"), Ints({0, 0}));
  EXPECT_EQ(node->integers("dilation"), Ints({1, 1}));
  EXPECT_EQ(node->integer("groups"), 1);
  EXPECT_FALSE(node->has("bias"));
}

TEST(Conv2dImport, TheGeneralOperatorIsAConvolutionUnlessTransposed) {
  Images i;
  const auto args = [&](bool transposed) {
    return std::vector<ir::NamedArgument>{{"input", i.x},
                                          {"weight", i.w},
                                          {"bias", ir::None{}},
                                          {"stride", Ints{1, 1}},
                                          {"padding", Ints{1, 2}},
                                          {"dilation", Ints{1, 1}},
                                          {"transposed", transposed},
                                          {"output_padding", Ints{0, 0}},
                                          {"groups", std::int64_t{1}}};
  };
  EXPECT_EQ(import_call(i.graph, "aten.convolution.default", args(false), {1, 3, 8, 10})->integers("padding"),
            Ints({1, 2}));
  EXPECT_EQ(import_call(i.graph, "aten.convolution.default", args(true), {1, 3, 8, 10})->op, "aten.conv_transpose2d");
}

TEST(Conv2dImport, PaddingByNameIsWrittenOut) {
  const auto import = [](Images& i, const char* padding) {
    return import_call(i.graph, "aten.conv2d.padding",
                       {{"input", i.x}, {"weight", i.w}, {"padding", std::string(padding)}}, {1, 3, 8, 9});
  };
  Images odd({1, 2, 8, 9}, {3, 2, 3, 5});
  EXPECT_EQ(import(odd, "same")->integers("padding"), Ints({1, 2}));
  EXPECT_EQ(import(odd, "valid")->integers("padding"), Ints({0, 0}));
  EXPECT_THROW(import(odd, "reflect"), InputError);
  Images even({1, 2, 8, 9}, {3, 2, 3, 4});  // three columns: one on the left, two on the right
  const ir::Node* node = import(even, "same");
  EXPECT_EQ(node->integers("padding"), Ints({0, 0}));
  const ir::Node* pad = node->tensor("input")->producer;
  ASSERT_NE(pad, nullptr);
  EXPECT_EQ(pad->op, "aten.pad");
  EXPECT_EQ(pad->integers("pad"), Ints({1, 2, 1, 1}));
  EXPECT_EQ(pad->result()->type.shape, ir::Shape({1, 2, 10, 12}));
}

// A view of the convolution in four dimensions.
void expect_planes(const ir::Node* view, const ir::Shape& in, const ir::Shape& weight, const ir::Shape& out) {
  ASSERT_NE(view, nullptr);
  ASSERT_EQ(view->op, "aten.view");
  const ir::Node* node = view->tensor("self")->producer;
  EXPECT_EQ(node->op, "aten.conv2d");
  EXPECT_EQ(node->name, "call");
  EXPECT_EQ(node->tensor("input")->type.shape, in);
  EXPECT_EQ(node->tensor("input")->producer->op, "aten.view");
  EXPECT_EQ(node->tensor("weight")->type.shape, weight);
  EXPECT_EQ(node->result()->type.shape, out);
  EXPECT_EQ(conv2d_operator().infer(*node).front().shape, out);
}

TEST(Conv2dImport, LinesAndSingleImagesAreSeenAsBatchesOfPlanes) {
  Images unbatched({2, 8, 9});
  expect_planes(
      import_call(unbatched.graph, "aten.conv2d.default", {{"input", unbatched.x}, {"weight", unbatched.w}}, {3, 6, 6}),
      {1, 2, 8, 9}, {3, 2, 3, 4}, {1, 3, 6, 6});
  Images line({4, 2, 9}, {3, 2, 3});
  const ir::Node* view =
      import_call(line.graph, "aten.conv1d.default",
                  {{"input", line.x}, {"weight", line.w}, {"stride", Ints{2}}, {"padding", Ints{1}}}, {4, 3, 5});
  expect_planes(view, {4, 2, 1, 9}, {3, 2, 1, 3}, {4, 3, 1, 5});
  EXPECT_EQ(view->result()->type.shape, ir::Shape({4, 3, 5}));
  EXPECT_EQ(view->tensor("self")->producer->integers("stride"), Ints({1, 2}));
  EXPECT_EQ(view->tensor("self")->producer->integers("padding"), Ints({0, 1}));
  Images single({2, 9}, {3, 2, 4});
  expect_planes(import_call(single.graph, "aten.conv1d.padding",
                            {{"input", single.x}, {"weight", single.w}, {"padding", std::string("valid")}}, {3, 6}),
                {1, 2, 1, 9}, {3, 2, 1, 4}, {1, 3, 1, 6});
}

TEST(Conv2dImport, PaddingALineByNameMayNeedOneMoreOnTheRight) {
  Images line({1, 2, 9}, {3, 2, 4});
  const ir::Node* view =
      import_call(line.graph, "aten.conv1d.padding",
                  {{"input", line.x}, {"weight", line.w}, {"padding", std::string("same")}}, {1, 3, 9});
  const ir::Node* pad = view->tensor("self")->producer->tensor("input")->producer;
  EXPECT_EQ(pad->op, "aten.pad");
  EXPECT_EQ(pad->integers("pad"), Ints({1, 2, 0, 0}));
}

TEST(Conv2dImport, ALinesWeightsStayConstant) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({1, 2, 9}));
  const std::vector<float> numbers(18, 1.0F);
  ir::Value* w = graph.add_constant("w", ir::float_type({3, 2, 3}), ir::Bytes::of(std::span<const float>(numbers)));
  const ir::Node* view = import_call(graph, "aten.conv1d.default", {{"input", x}, {"weight", w}}, {1, 3, 7});
  const ir::Value* weight = view->tensor("self")->producer->tensor("weight");
  EXPECT_EQ(weight->kind, ir::ValueKind::constant);
  EXPECT_EQ(weight->data.as<float>().size(), 18U);
}

// One convolution, in which all that is summed is rounded once; with groups one for each plane of the weights.
TEST(Conv2dImport, AVolumeIsImagesWithMoreChannels) {
  struct {
    ir::Shape input, weight, output;
    std::vector<ir::NamedArgument> arguments;
    ir::Shape image, images;  // in front of a convolution and after it
    int convolutions;
  } rows[] = {
      {{1, 2, 4, 8, 9}, {3, 2, 3, 3, 3}, {1, 3, 2, 6, 7}, {}, {2, 6, 8, 9}, {2, 3, 6, 7}, 1},
      {{2, 2, 4, 8, 9}, {3, 2, 3, 3, 3}, {2, 3, 2, 6, 7}, {}, {4, 6, 8, 9}, {4, 3, 6, 7}, 1},
      {{1, 2, 4, 8, 9},
       {3, 2, 3, 3, 3},
       {1, 3, 2, 8, 9},
       {{"stride", Ints{2, 1, 1}}, {"padding", Ints{1, 1, 1}}},
       {2, 6, 8, 9},
       {2, 3, 8, 9},
       1},
      {{1, 2, 4, 8, 9}, {3, 2, 2, 3, 3}, {1, 3, 2, 4, 5}, {{"dilation", Ints{2, 2, 2}}}, {2, 4, 8, 9}, {2, 3, 4, 5}, 1},
      {{1, 2, 4, 8, 9}, {4, 1, 3, 3, 3}, {1, 4, 2, 6, 7}, {{"groups", std::int64_t{2}}}, {2, 2, 8, 9}, {2, 4, 6, 7}, 3},
  };
  for (const auto& row : rows) {
    Images volume(row.input, row.weight);
    std::vector<ir::NamedArgument> arguments = {{"input", volume.x}, {"weight", volume.w}};
    arguments.insert(arguments.end(), row.arguments.begin(), row.arguments.end());
    import_call(volume.graph, "aten.conv3d.default", arguments, row.output);
    int convolutions = 0;
    for (const ir::Node& node : volume.graph.nodes()) {
      if (node.op != "aten.conv2d") continue;
      ++convolutions;
      EXPECT_EQ(node.tensor("input")->type.shape, row.image);
      EXPECT_EQ(node.result()->type.shape, row.images);
    }
    EXPECT_EQ(convolutions, row.convolutions);
  }
}

// Each product, against their definition: y[o, d, h, w] = Σ x[i, d·s + k·dilation − pad, …] · weight[o, i, k, …].
TEST(Conv2dImport, AVolumeIsItsDefinition) {
  struct {
    std::int64_t batch, groups, stride, padding, dilation;
  } rows[] = {{1, 1, 1, 0, 1}, {1, 1, 2, 1, 1}, {2, 1, 1, 1, 2}, {1, 2, 1, 1, 1}, {2, 2, 2, 1, 1}};
  for (const auto& row : rows) {
    const std::int64_t in = 2, out = 4, size = 5, kernel = 2, inputs = in / row.groups;
    const std::int64_t results = (size + 2 * row.padding - row.dilation * (kernel - 1) - 1) / row.stride + 1;
    Images volume({row.batch, in, size, size, size}, {out, inputs, kernel, kernel, kernel});
    const Ints each(3, row.stride), around(3, row.padding), apart(3, row.dilation);
    const ir::Node* last = import_call(volume.graph, "aten.conv3d.default",
                                       {{"input", volume.x},
                                        {"weight", volume.w},
                                        {"stride", each},
                                        {"padding", around},
                                        {"dilation", apart},
                                        {"groups", row.groups}},
                                       {row.batch, out, results, results, results});
    volume.graph.add_output(last->result());
    std::vector<float> x(static_cast<std::size_t>(row.batch * in * size * size * size));
    std::vector<float> w(static_cast<std::size_t>(out * inputs * kernel * kernel * kernel));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 11) - 5;
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i * 5 % 13) - 6;
    const std::vector<evaluate::Tensor> given = {{volume.x->type.shape, x}, {volume.w->type.shape, w}};
    const evaluate::Tensor got = evaluate::evaluate_graph(volume.graph, given).at(0);
    std::vector<float> expected;
    for (std::int64_t at = 0; at < row.batch * out * results * results * results; ++at) {
      const std::int64_t p[] = {at / (results * results) % results, at / results % results, at % results};
      const std::int64_t o = at / (results * results * results) % out, n = at / (out * results * results * results);
      float sum = 0;
      for (std::int64_t t = 0; t < inputs * kernel * kernel * kernel; ++t) {
        const std::int64_t k[] = {t / (kernel * kernel) % kernel, t / kernel % kernel, t % kernel};
        std::int64_t from = n * in + o / (out / row.groups) * inputs + t / (kernel * kernel * kernel);
        bool is_inside = true;
        for (std::size_t d = 0; d < 3; ++d) {
          const std::int64_t place = p[d] * row.stride + k[d] * row.dilation - row.padding;
          is_inside = is_inside && place >= 0 && place < size;
          from = from * size + place;
        }
        if (is_inside) {
          sum += x[static_cast<std::size_t>(from)] *
                 w[static_cast<std::size_t>(o * inputs * kernel * kernel * kernel + t)];
        }
      }
      expected.push_back(sum);
    }
    EXPECT_EQ(std::vector<float>(got.values().begin(), got.values().end()), expected)
        << row.batch << row.groups << row.stride << row.padding << row.dilation;
  }
}

TEST(Conv2dImport, OtherRanksAreRejected) {
  Images flat({8, 9}, {3, 2, 3, 4});
  EXPECT_THROW(import_call(flat.graph, "aten.conv2d.default", {{"input", flat.x}, {"weight", flat.w}}, {1}),
               InputError);
  Images lists;
  EXPECT_THROW(import_call(lists.graph, "aten.conv2d.default",
                           {{"input", lists.x}, {"weight", lists.w}, {"stride", Ints{1, 1, 1}}}, {1, 3, 6, 6}),
               InputError);
}

ir::Node* aten_node(Images& i, Ints stride, Ints padding, Ints dilation, std::int64_t groups) {
  return i.graph.add_node("conv", "aten.conv2d",
                          {{"input", i.x},
                           {"weight", i.w},
                           {"bias", ir::None{}},
                           {"stride", std::move(stride)},
                           {"padding", std::move(padding)},
                           {"dilation", std::move(dilation)},
                           {"groups", groups}},
                          {ir::float_type({1})});
}

TEST(Conv2dInfer, ShapesFollowPyTorch) {
  struct Row {
    ir::Shape in, weight;
    Ints stride, padding, dilation;
    std::int64_t groups;
    ir::Shape out;  // as torch.nn.functional.conv2d says
  };
  const Row rows[] = {{{1, 3, 96, 96}, {8, 3, 3, 3}, {2, 2}, {1, 1}, {1, 1}, 1, {1, 8, 48, 48}},
                      {{2, 1, 49, 10}, {64, 1, 10, 4}, {2, 2}, {5, 1}, {1, 1}, 1, {2, 64, 25, 5}},
                      {{1, 4, 7, 9}, {6, 2, 3, 2}, {1, 3}, {0, 2}, {2, 3}, 2, {1, 6, 3, 4}}};
  for (const Row& row : rows) {
    Images i(row.in, row.weight);
    EXPECT_EQ(conv2d_operator().infer(*aten_node(i, row.stride, row.padding, row.dilation, row.groups)).front().shape,
              row.out);
  }
}

TEST(Conv2dInfer, ShapesThatDoNotFitAreRejected) {
  Images channels({1, 3, 8, 8}, {4, 2, 3, 3});
  EXPECT_THROW(conv2d_operator().infer(*aten_node(channels, {1, 1}, {0, 0}, {1, 1}, 1)), InputError);
  Images outputs({1, 4, 8, 8}, {3, 2, 3, 3});
  EXPECT_THROW(conv2d_operator().infer(*aten_node(outputs, {1, 1}, {0, 0}, {1, 1}, 2)), InputError);
  Images large({1, 2, 3, 3}, {3, 2, 3, 3});
  EXPECT_THROW(conv2d_operator().infer(*aten_node(large, {1, 1}, {0, 0}, {2, 1}, 1)), InputError);
  EXPECT_NO_THROW(conv2d_operator().infer(*aten_node(large, {1, 1}, {1, 0}, {2, 1}, 1)));
}

TEST(Conv2dAccepts, AllButOneChannelPerGroup) {
  const Operator op = conv2d_operator();
  Images i({1, 6, 8, 8}, {6, 1, 3, 3});
  EXPECT_FALSE(op.accepts(*aten_node(i, {1, 1}, {0, 0}, {1, 1}, 6)));
  EXPECT_TRUE(op.accepts(*aten_node(i, {1, 1}, {0, 0}, {1, 1}, 2)));
  Images one({1, 1, 8, 8}, {6, 1, 3, 3});
  EXPECT_TRUE(op.accepts(*aten_node(one, {1, 1}, {0, 0}, {1, 1}, 1)));
}

// ---- lowering and prepacking ----------------------------------------------------------------------------------------

// Load compares it with what the program has planned: a size that wrapped would pass.
TEST(Conv2dScratch, OfARowDoesNotWrap) {
  conv::Geometry g;
  g.in_height = g.kernel_height = 32;
  g.in_channels = g.inputs_per_group = 0x8000;
  g.out_width = 8;
  g.stride_width = 2048;
  ASSERT_TRUE(conv2d::is_computable(conv2d::kMveRow, g));
  EXPECT_FALSE(conv2d::row_scratch_bytes(conv2d::kMveRow, g).fits());
  g.stride_width = 1;
  EXPECT_TRUE(conv2d::row_scratch_bytes(conv2d::kMveRow, g).fits());
}

TEST(Conv2dScratch, EqualsCmsisNn) {
  struct Row {
    std::uint16_t height, width, inputs, kernel_height, kernel_width, stride, pad_height, pad_width, dilation;
    std::uint16_t out_width;
    std::uint32_t mve, dsp, scalar;  // as arm_convolve_wrapper_s8_get_buffer_size answers on each
  };
  const Row rows[] = {{8, 8, 16, 3, 3, 1, 1, 1, 1, 8, 576, 576, 576}, {8, 8, 64, 1, 1, 1, 0, 0, 1, 8, 0, 0, 0},
                      {8, 8, 64, 1, 1, 2, 0, 0, 1, 4, 0, 0, 0},       {49, 10, 1, 10, 4, 2, 1, 1, 1, 5, 192, 160, 160},
                      {1, 20, 8, 1, 3, 1, 0, 1, 1, 20, 32, 96, 96},   {1, 20, 8, 1, 3, 2, 0, 0, 1, 9, 24, 96, 96},
                      {1, 20, 3, 1, 3, 1, 0, 1, 1, 20, 64, 48, 48},   {8, 8, 3, 3, 3, 2, 0, 0, 2, 2, 128, 112, 112}};
  for (const Row& r : rows) {
    conv::Geometry g = {.in_height = r.height, .in_width = r.width, .in_channels = r.inputs};
    g.out_width = r.out_width;
    g.kernel_height = r.kernel_height;
    g.kernel_width = r.kernel_width;
    g.stride_height = g.stride_width = r.stride;
    g.dilation_height = g.dilation_width = r.dilation;
    g.pad_top = r.pad_height;
    g.pad_left = r.pad_width;
    EXPECT_EQ(conv2d::upstream_scratch_bytes(Isa::mve, g, r.inputs), r.mve) << r.height << "x" << r.width;
    EXPECT_EQ(conv2d::upstream_scratch_bytes(Isa::dsp, g, r.inputs), r.dsp) << r.height << "x" << r.width;
    EXPECT_EQ(conv2d::upstream_scratch_bytes(Isa::scalar, g, r.inputs), r.scalar) << r.height << "x" << r.width;
  }
}

ir::Node* lowered(ir::Graph& graph, const Layer& layer, const Config& config) {
  graph.add_output(build(graph, layer));
  return conv2d_operator().lower({graph, graph.nodes().back(), config})->producer;
}

TEST(Conv2dLower, TheCallIsWhatExecuTorchExpects) {
  ir::Graph graph;
  const Layer layer = {.in = {1, 2, 4, 4}, .outputs = 3, .kernel = {1, 2}, .relu = true, .output_scale = 0.25};
  const ir::Node* node = lowered(graph, layer, {.target = {}, .runtime = Runtime::executorch});
  EXPECT_EQ(node->op, "cortex_m.quantized_conv2d");
  EXPECT_EQ(node->integer("input_offset"), 5);
  EXPECT_EQ(node->integer("output_offset"), -128);
  EXPECT_EQ(node->integer("activation_min"), -128);
  EXPECT_EQ(node->integer("activation_max"), 127);
  const ir::Value* aten = graph.nodes().back().tensor("weight");
  const ir::Value* weight = node->tensor("weight");
  EXPECT_EQ(weight->type.shape, ir::Shape({3, 1, 2, 2}));
  const auto from = aten->data.as<std::int8_t>();
  const auto to = weight->data.as<std::int8_t>();
  for (std::size_t o = 0; o < 3; ++o) {
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t x = 0; x < 2; ++x) EXPECT_EQ(to[o * 4 + x * 2 + c], from[o * 4 + c * 2 + x]);
    }
  }
  const double factor = 0.05 * aten->type.quant.value_or(ir::QuantParams{}).scales.at(1) / 0.25;
  const auto multiplier = node->tensor("requantize_multipliers")->data.as<std::int32_t>()[1];
  const auto shift = node->tensor("requantize_shifts")->data.as<std::int32_t>()[1];
  EXPECT_NEAR(static_cast<double>(multiplier) * std::exp2(shift - 31), factor, factor * 1e-9);
  EXPECT_EQ(node->tensor("scratch")->type.bytes(), 64);  // four patches of 4 bytes, in whole vectors
}

TEST(Conv2dLower, RowsForExecuTorchEndAsFarBehindAsTheyBeginBefore) {
  const auto geometry = [](std::int64_t stride, std::int64_t padding, Isa isa) {
    ir::Graph graph;
    const Layer layer = {
        .in = {1, 8, 1, 39}, .outputs = 4, .kernel = {1, 4}, .stride = {1, stride}, .padding = {0, padding}};
    const ir::Node* node = lowered(graph, layer, {.target = {&kCpus[9], isa}, .runtime = Runtime::executorch});
    return std::pair(node->integers("padding")[1], node->tensor("weight")->type.shape[2]);
  };
  // 19 outputs: the last window ends at 2 · 18 + 4 − 1 = 39, one before the end that would match the padding of 1.
  EXPECT_EQ(geometry(2, 1, Isa::mve), std::pair(std::int64_t{1}, std::int64_t{5}));
  EXPECT_EQ(geometry(2, 1, Isa::dsp), std::pair(std::int64_t{1}, std::int64_t{4}));
  EXPECT_EQ(geometry(1, 0, Isa::mve), std::pair(std::int64_t{0}, std::int64_t{4}));
}

TEST(Conv2dLower, OurOwnRuntimeNeedsNoScratch) {
  ir::Graph graph;
  const Layer layer = {.in = {1, 16, 4, 4}, .outputs = 3, .kernel = {3, 3}};
  EXPECT_EQ(lowered(graph, layer, {})->tensor("scratch")->type.bytes(), 0);
}

TEST(Conv2dLower, AnyTargetIsRefusedWhereExecuTorchsScratchDiffers) {
  const Config any = {.target = {.cpu = nullptr, .isa = Isa::mve}, .runtime = Runtime::executorch};
  ir::Graph differs;
  EXPECT_THROW(lowered(differs, {.in = {1, 3, 4, 4}, .outputs = 3, .kernel = {3, 3}}, any), InputError);
  ir::Graph same;
  EXPECT_NO_THROW(lowered(same, {.in = {1, 3, 4, 4}, .outputs = 3}, any));
}

std::string packed_variant(const Layer& layer, const Cpu& cpu, Isa isa, Optimize optimize = Optimize::balanced) {
  ir::Graph graph;
  const Config config{.target = {&cpu, isa, optimize}};
  const ir::Value* packed = conv2d::prepack({graph, *lowered(graph, layer, config), config});
  return packed == nullptr ? "" : packed->producer->op;
}

conv::Rounding packed_rounding(const Layer& layer) {
  ir::Graph graph;
  const Config config{.target = parse_target("cortex-m4")};
  const ir::Value* packed = conv2d::prepack({graph, *lowered(graph, layer, config), config});
  conv::Header header;
  std::memcpy(&header, packed->producer->tensor("packed")->data.bytes.data(), sizeof header);
  return header.rounding;
}

// ARMv6-M requantizes small sums with fewer instructions: the compiler says where that is exact.
TEST(Conv2dPrepack, MarksChannelsWithSmallSums) {
  const auto marks_of = [](const Layer& layer) {
    ir::Graph graph;
    const Config config{.target = parse_target("cortex-m0")};
    const ir::Value* packed = conv2d::prepack({graph, *lowered(graph, layer, config), config});
    const std::span<const std::byte> bytes = packed->producer->tensor("packed")->data.bytes;
    conv::Header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    const conv2d::Stream stream(conv2d::Layout::halves, header.geometry);
    std::string marks;
    for (std::uint32_t c = 0; c < header.geometry.out_channels; ++c) {
      marks += std::to_string(std::to_integer<int>(bytes[sizeof header + stream.small_index(c)]));
    }
    return marks;
  };
  Layer l = {.in = {1, 4, 3, 3}, .outputs = 6, .output_scale = 10, .input_zero_point = 0, .weight = 127};
  EXPECT_EQ(marks_of(l), "111111");
  l.largest_sum = kSmallSumV6m;
  EXPECT_EQ(marks_of(l), "101010");
  l = {.in = {1, 9, 3, 3}, .outputs = 6, .output_scale = 0.0004};
  EXPECT_EQ(marks_of(l), "000000");  // shifts to the left
}

// A channel whose weights change nothing is a constant.
TEST(Conv2d, OneChannelDoesNotMakeItsLayerSlow) {
  Layer l = {.in = {1, 9, 2, 3}, .outputs = 13, .withered = 0.2};
  EXPECT_EQ(packed_rounding(l), conv::Rounding::general);  // every third shifts left
  l.outputs = 2;
  EXPECT_EQ(packed_rounding(l), conv::Rounding::right);
  l.relu = true;
  EXPECT_EQ(packed_rounding(l), conv::Rounding::positive);
  l.withered = 0.5;  // the weights may tip it
  EXPECT_EQ(packed_rounding(l), conv::Rounding::general);
}

TEST(Conv2dPrepack, TheVariantSuitsTheTarget) {
  const Layer pixel = {.in = {1, 16, 4, 4}, .outputs = 8};
  const Layer window = {.in = {1, 16, 4, 4}, .outputs = 8, .kernel = {3, 3}};
  const Layer padded = {.in = {1, 16, 4, 4}, .outputs = 8, .padding = {1, 1}};
  EXPECT_EQ(packed_variant(pixel, kCpus[9], Isa::mve), "cormorant.conv2d.mve_1x1");
  EXPECT_EQ(packed_variant(window, kCpus[9], Isa::mve), "cormorant.conv2d.mve_kxk");
  EXPECT_EQ(packed_variant(padded, kCpus[9], Isa::mve), "cormorant.conv2d.mve_kxk");
  EXPECT_EQ(packed_variant(pixel, kCpus[9], Isa::dsp), "cormorant.conv2d.dsp");
  EXPECT_EQ(packed_variant(pixel, kCpus[9], Isa::scalar), "cormorant.conv2d.halves");
  EXPECT_EQ(packed_variant(pixel, kCpus[2], Isa::scalar), "cormorant.conv2d.halves");
  EXPECT_EQ(packed_variant(pixel, kCpus[0], Isa::scalar), "cormorant.conv2d.halves");
  EXPECT_EQ(packed_variant({.in = {1, 16, 3, 3}, .outputs = 8}, kCpus[2], Isa::scalar), "cormorant.conv2d.scalar");
  EXPECT_EQ(packed_variant({.in = {1, 16, 3, 3}, .outputs = 8}, kCpus[0], Isa::scalar), "cormorant.conv2d.halves");
  EXPECT_EQ(packed_variant({.in = {1, 16, 3, 3}, .outputs = 8}, kCpus[2], Isa::scalar, Optimize::size),
            "cormorant.conv2d.halves");
  const Layer groups = {.in = {1, 4, 4, 4}, .outputs = 4, .groups = 2};
  EXPECT_EQ(packed_variant(groups, kCpus[3], Isa::dsp), "cormorant.conv2d.dsp_groups");
  EXPECT_EQ(packed_variant(groups, kCpus[2], Isa::scalar), "cormorant.conv2d.halves_groups");
  // Two products of −128 and −128 do not fit 16 bits.
  Layer lowest = pixel;
  lowest.weight = -128;
  EXPECT_EQ(packed_variant(lowest, kCpus[2], Isa::scalar), "cormorant.conv2d.scalar");
  EXPECT_EQ(packed_variant(lowest, kCpus[0], Isa::scalar), "cormorant.conv2d.v6m");
  EXPECT_EQ(packed_variant(lowest, kCpus[5], Isa::scalar), "cormorant.conv2d.v6m");  // cortex-m23
  EXPECT_EQ(packed_variant({.in = {1, 4, 4, 4}, .outputs = 4, .groups = 2}, kCpus[9], Isa::mve),
            "cormorant.conv2d.mve_1x1");
  EXPECT_EQ(packed_variant(pixel, kCpus[3], Isa::dsp, Optimize::speed), "cormorant.conv2d.dsp_wide");
  EXPECT_EQ(packed_variant(pixel, kCpus[4], Isa::dsp, Optimize::speed), "cormorant.conv2d.dsp");  // cortex-m7
  EXPECT_EQ(packed_variant(pixel, kCpus[3], Isa::dsp, Optimize::size), "cormorant.conv2d.dsp_small");
  EXPECT_EQ(packed_variant(pixel, kCpus[9], Isa::mve, Optimize::size), "cormorant.conv2d.mve_kxk");
  Layer sloped = pixel;
  sloped.slopes = {0.1};
  EXPECT_EQ(packed_variant(sloped, kCpus[9], Isa::mve), "cormorant.conv2d.mve_prelu");
  EXPECT_EQ(packed_variant(sloped, kCpus[3], Isa::dsp), "cormorant.conv2d.dsp_prelu");
  EXPECT_EQ(packed_variant(sloped, kCpus[2], Isa::scalar), "cormorant.conv2d.halves_prelu");
  sloped.in = {1, 16, 3, 3};
  EXPECT_EQ(packed_variant(sloped, kCpus[2], Isa::scalar), "cormorant.conv2d.scalar_prelu");
  sloped.weight = -128;
  EXPECT_EQ(packed_variant(sloped, kCpus[0], Isa::scalar), "cormorant.conv2d.v6m_prelu");
}

TEST(Conv2d, EqualsTheReferenceWhereFlashIsSaved) { conformance::expect_same_bits_where_flash_is_saved(cases()); }

// A 3×3 convolution after an explicit pad of rows and columns.
struct Padded {
  ir::Graph graph;
  ir::Node* pad = nullptr;
  ir::Node* conv = nullptr;

  Padded(Ints pre, Ints post, std::int64_t value) {
    const Layer layer = {.in = {1, 4, 7, 7}, .outputs = 3, .kernel = {3, 3}, .stride = {2, 2}};
    conv = lowered(graph, layer, {});
    const ir::TensorType inner = ir::quantized_type({1, 4, 6, 6}, ir::per_tensor_i8(0.05, -5));
    ir::Value* x = graph.add_input("inner", inner);
    pad =
        graph.add_node("pad", "cortex_m.pad",
                       {{"input", x}, {"pre_pad", std::move(pre)}, {"post_pad", std::move(post)}, {"pad_value", value}},
                       {conv->tensor("input")->type}, {}, conv);
    conv->set("input", pad->result());
  }
  ir::Node* pack() { return conv2d::prepack({graph, *conv, {}})->producer; }
};

TEST(Conv2dPrepack, APadBeforeItBecomesPartOfIt) {
  Padded p({0, 0, 0, 0}, {0, 1, 1, 0}, -5);
  const ir::Node* packed = p.pack();
  EXPECT_EQ(packed->tensor("input"), p.pad->tensor("input"));
  const conv::Header header = packed->tensor("packed")->data.as<conv::Header>()[0];
  EXPECT_EQ(header.geometry.in_height, 6);
  EXPECT_EQ(header.geometry.out_height, 3);
  EXPECT_EQ(header.geometry.pad_top, 0);
  EXPECT_EQ(header.pad_value, -5);
  Padded before({0, 1, 1, 0}, {0, 0, 0, 0}, -5);
  EXPECT_EQ(before.pack()->tensor("packed")->data.as<conv::Header>()[0].geometry.pad_left, 1);
}

TEST(Conv2dPrepack, APadThatMeansSomethingElseStays) {
  Padded other_value({0, 0, 0, 0}, {0, 1, 1, 0}, 0);
  EXPECT_EQ(other_value.pack()->tensor("input"), other_value.pad->result());
  Padded channels({0, 0, 0, 1}, {0, 0, 0, 0}, -5);
  EXPECT_EQ(channels.pack()->tensor("input"), channels.pad->result());
  Padded seen({0, 0, 0, 0}, {0, 1, 1, 0}, -5);
  seen.graph.add_output(seen.pad->result());
  EXPECT_EQ(seen.pack()->tensor("input"), seen.pad->result());
}

TEST(Conv2dLayout, EveryConstantHasAPlaceOfItsOwn) {
  for (const conv2d::Variant* variant : conv2d::kVariants) {
    for (const std::uint16_t inputs : std::initializer_list<std::uint16_t>{1, 3, 16, 17}) {
      for (const std::uint16_t outputs : std::initializer_list<std::uint16_t>{1, 2, 5, 8}) {
        const conv::Geometry g = {
            .in_channels = inputs, .out_channels = outputs, .kernel_height = 2, .kernel_width = 3};
        const conv2d::Stream stream(variant->layout, g);
        std::vector<int> used(stream.bytes());
        for (std::uint32_t c = 0; c < outputs; ++c) {
          EXPECT_EQ(stream.bias_index(c) % 4, 0U);
          EXPECT_EQ(stream.multiplier_index(c) % 4, 0U);
          for (std::uint32_t i = 0; i < 4; ++i) {
            ++used.at(stream.bias_index(c) + i);
            ++used.at(stream.multiplier_index(c) + i);
            if (stream.is_sloped()) ++used.at(stream.negative_multiplier_index(c) + i);
          }
          ++used.at(stream.right_shift_index(c));
          ++used.at(stream.left_shift_index(c));
          for (std::uint32_t i = 0; i < g.patch() * stream.weight_bytes(); ++i) {
            ++used.at(stream.weight_index(c, i / stream.weight_bytes()) + i % stream.weight_bytes());
          }
        }
        for (const int count : used) ASSERT_LE(count, 1) << variant->name << " " << inputs << " to " << outputs;
      }
    }
  }
}

// ---- arithmetic -----------------------------------------------------------------------------------------------------

TEST(Requantize, TheHighMultiplyInPiecesIsExact) {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int32_t> any(std::numeric_limits<std::int32_t>::min(),
                                                  std::numeric_limits<std::int32_t>::max());
  const auto expect = [](std::int32_t value, std::int32_t multiplier) {
    ASSERT_EQ(doubling_high_multiply_in_pieces(value, multiplier), doubling_high_multiply(value, multiplier))
        << value << " · " << multiplier;
  };
  const std::int32_t edges[] = {0,      1,       -1,       0x7fff,     0x8000,         -0x8000,
                                0xffff, 0x10000, -0x10000, 0x7fffffff, -0x7fffffff - 1};
  for (const std::int32_t value : edges) {
    for (const std::int32_t multiplier : {0, 1, 0xffff, 1 << 30, (1 << 30) + 0xffff, 0x7fff0000, 0x7fffffff}) {
      expect(value, multiplier);
    }
  }
  for (int i = 0; i < 100000; ++i) expect(any(random) >> (i % 32), any(random) & 0x7fffffff);
  for (int i = 0; i < 100000; ++i) expect(any(random) >> (i % 32), any(random) | -0x7fffffff);
}

// ---- damaged programs -----------------------------------------------------------------------------------------------

struct Damaged {
  conv::Header header;
  ir::Shape in = {1, 3, 4, 5};
  ir::Shape out = {1, 6, 4, 5};
  std::int64_t missing = 0;  // bytes of the constant
  std::int64_t scratch = -1;
  std::int8_t right_shift = -3;
  // Where there is a residual connection.
  ir::Shape residual;
  std::int64_t factor = 1 << 21, shift = 22;
};

void load(const conv2d::Variant& variant, const std::function<void(Damaged&)>& damage) {
  Damaged d;
  const bool sums = &variant == &conv2d::kMveSum;
  const std::uint16_t channels = sums ? 16 : 6;
  d.header.geometry = {
      .in_height = 4, .in_width = 5, .in_channels = 3, .out_height = 4, .out_width = 5, .out_channels = channels};
  d.out[1] = channels;
  d.residual = d.out;
  if (!variant.pointwise) {
    d.header.geometry.kernel_height = d.header.geometry.kernel_width = 3;
    d.header.geometry.pad_top = d.header.geometry.pad_left = 1;
  }
  const conv2d::Stream stream(variant.layout, d.header.geometry);
  d.header.stream_bytes = static_cast<std::uint32_t>(stream.bytes());
  CheckedSize scratch = conv2d::scratch_bytes(variant, d.header.geometry);
  if (sums) scratch = scratch + conv2d::summed_bytes(d.header.geometry);
  std::vector<std::int8_t> packed(sizeof d.header + stream.bytes());
  const std::size_t shift_at = sizeof d.header + stream.right_shift_index(5);
  damage(d);
  std::memcpy(packed.data(), &d.header, sizeof d.header);
  packed.at(shift_at) = d.right_shift;
  packed.resize(static_cast<std::size_t>(static_cast<std::int64_t>(packed.size()) - d.missing));
  ir::Graph graph;
  const auto i8 = [](ir::Shape shape) {
    return ir::quantized_type(std::move(shape), ir::per_tensor_i8(1.0, 0), ir::kChannelsLast);
  };
  ir::Value* x = graph.add_input("x", i8(d.in));
  ir::Value* constant = graph.add_constant(
      "packed", {.dtype = DType::i8, .shape = {static_cast<std::int64_t>(packed.size())}, .dim_order = {}, .quant = {}},
      ir::Bytes::of(std::span<const std::int8_t>(packed)));
  ir::Value* memory = graph.add_scratch("scratch", d.scratch < 0 ? std::int64_t{scratch.value()} : d.scratch);
  std::vector<ir::NamedArgument> args = {{"input", x}, {"packed", constant}};
  if (sums) {
    args.push_back({"residual", graph.add_input("residual", i8(d.residual))});
    for (const char* name : {"self_factor", "other_factor"}) args.push_back({name, d.factor});
    args.push_back({"offset", std::int64_t{0}});
    args.push_back({"shift", d.shift});
  }
  args.push_back({"scratch", memory});
  graph.add_output(graph.add_node("conv", graph_name(variant.name), std::move(args), {i8(d.out)})->result());
  HostProgram program(conformance::program_of(graph), host_kernels());
  std::vector<std::vector<std::byte>> inputs;
  for (const ir::Value* input : graph.inputs()) {
    inputs.emplace_back(static_cast<std::size_t>(input->type.bytes()));
  }
  program.run(inputs);
}

TEST(Conv2dLoad, RejectsPackedConstantsThatDoNotFit) {
  for (const conv2d::Variant* variant : conv2d::kVariants) {
    if (variant->by_columns) continue;  // takes one row only: tests/rows_test.cc
    SCOPED_TRACE(variant->name);
    EXPECT_NO_THROW(load(*variant, [](Damaged&) {}));
    const std::function<void(Damaged&)> damages[] = {
        [](Damaged& d) { d.missing = 1; },
        [](Damaged& d) { d.missing = static_cast<std::int64_t>(d.header.stream_bytes) + 1; },
        [](Damaged& d) { d.header.stream_bytes -= 4; },
        [](Damaged& d) { d.in[1] = 4; },
        [](Damaged& d) { d.in[2] = 3; },
        [](Damaged& d) { d.out[3] = 6; },
        [](Damaged& d) { d.out[0] = 2; },
        [](Damaged& d) { d.header.geometry.in_channels = 2; },
        [](Damaged& d) { d.header.geometry.out_channels = 0xffff; },
        [](Damaged& d) { d.header.geometry.batch = 0; },
        [](Damaged& d) { d.header.geometry.groups = 0; },
        [](Damaged& d) { d.header.geometry.groups = 2; },
        [](Damaged& d) { d.header.geometry.groups = 3; },
        [](Damaged& d) { d.header.geometry.kernel_height = 0; },
        [](Damaged& d) { d.header.geometry.kernel_width = 0xffff; },
        [](Damaged& d) { d.header.geometry.stride_width = 0; },
        [](Damaged& d) { d.header.geometry.stride_height = 0xffff; },
        [](Damaged& d) { d.header.geometry.dilation_height = 0; },
        [](Damaged& d) { d.header.geometry.pad_left = 0xffff; },
        [](Damaged& d) { std::memset(&d.header.rounding, 3, 1); },
        [](Damaged& d) { d.right_shift = -32; },
        [](Damaged& d) { d.right_shift = 1; },
        [](Damaged& d) { d.scratch = 4; },
        // As long as the same layer's without slopes, or with them.
        [&](Damaged& d) {
          const std::uint32_t slopes = 4 * conv2d::Stream(variant->layout, d.header.geometry).blocks() *
                                       conv2d::Stream(variant->layout, d.header.geometry).block();
          d.header.stream_bytes += conv2d::has_slopes(variant->layout) ? -slopes : slopes;
          d.missing = conv2d::has_slopes(variant->layout) ? slopes : -std::int64_t{slopes};
        },
    };
    for (std::size_t i = 0; i < std::size(damages); ++i) EXPECT_THROW(load(*variant, damages[i]), InputError) << i;
  }
}

TEST(Conv2dLoad, RejectsResidualsThatDoNotFit) {
  const std::function<void(Damaged&)> damages[] = {
      [](Damaged& d) { d.residual[1] = 15; },
      [](Damaged& d) { d.residual[3] = 4; },
      [](Damaged& d) { d.factor = 1 << 24; },
      [](Damaged& d) { d.shift = 0; },
      [](Damaged& d) { d.shift = 31; },
      // What only other convolutions can be.
      [](Damaged& d) { d.header.geometry.batch = d.in[0] = d.out[0] = d.residual[0] = 2; },
      [](Damaged& d) { d.header.geometry.out_channels = d.out[1] = d.residual[1] = 15; },
      [](Damaged& d) { d.header.geometry.dilation_height = 2; },
  };
  for (std::size_t i = 0; i < std::size(damages); ++i) {
    EXPECT_THROW(load(conv2d::kMveSum, damages[i]), InputError) << i;
  }
}

// A program of another compiler: nothing is packed, and everything is an argument.
TEST(Conv2dLoad, RejectsCallsThatDoNotFit) {
  struct Direct {
    ir::Shape in = {1, 4, 5, 6}, weight = {6, 3, 3, 4}, out = {1, 6, 5, 6};
    std::int64_t bias = 6, multipliers = 6, shifts = 6;  // how many
    std::int32_t multiplier = 1 << 30, shift = -3;       // the last of them
    std::vector<std::int64_t> stride = {1, 1}, padding = {1, 1}, dilation = {1, 1};
    std::int64_t input_offset = 0, output_offset = 0, low = -128, high = 127;
    bool is_given = false;  // the weight is an input
  };
  const auto loads = [](const std::function<void(Direct&)>& damage) {
    Direct d;
    damage(d);
    ir::Graph graph;
    const auto i8 = [](ir::Shape shape) {
      return ir::quantized_type(std::move(shape), ir::per_tensor_i8(1.0, 0), ir::kChannelsLast);
    };
    const auto numbers = [&](const char* name, std::int64_t count, std::int32_t last) {
      std::vector<std::int32_t> data(static_cast<std::size_t>(count), 0);
      if (!data.empty()) data.back() = last;
      return graph.add_constant(name, {DType::i32, {count}, {}, std::nullopt},
                                ir::Bytes::of(std::span<const std::int32_t>(data)));
    };
    const ir::TensorType weights{DType::i8, d.weight, {}, std::nullopt};
    ir::Value* x = graph.add_input("x", i8(d.in));
    ir::Value* w = d.is_given ? graph.add_input("w", weights)
                              : graph.add_constant(
                                    "w", weights,
                                    ir::Bytes::own(std::vector<std::byte>(static_cast<std::size_t>(weights.bytes()))));
    graph.add_output(graph
                         .add_node("conv", "cortex_m.quantized_conv2d",
                                   {{"input", x},
                                    {"weight", w},
                                    {"bias", numbers("bias", d.bias, 0)},
                                    {"stride", d.stride},
                                    {"padding", d.padding},
                                    {"dilation", d.dilation},
                                    {"input_offset", d.input_offset},
                                    {"output_offset", d.output_offset},
                                    {"requantize_multipliers", numbers("m", d.multipliers, d.multiplier)},
                                    {"requantize_shifts", numbers("s", d.shifts, d.shift)},
                                    {"activation_min", d.low},
                                    {"activation_max", d.high},
                                    {"scratch", graph.add_scratch("scratch", 0)}},
                                   {i8(d.out)})
                         ->result());
    return conformance::loads(graph);
  };
  EXPECT_TRUE(loads([](Direct&) {}));
  EXPECT_TRUE(loads([](Direct& d) { d.weight[3] = 2; }));  // two groups
  const std::function<void(Direct&)> damages[] = {
      [](Direct& d) { d.is_given = true; },
      [](Direct& d) { d.multipliers = 5; },
      [](Direct& d) { d.multipliers = 7; },
      [](Direct& d) { d.shifts = 5; },
      [](Direct& d) { d.bias = 5; },
      [](Direct& d) { d.multiplier = -1; },
      [](Direct& d) { d.shift = -32; },
      [](Direct& d) { d.shift = 32; },
      [](Direct& d) { d.weight[3] = 3; },
      [](Direct& d) { d.weight[3] = 5; },
      [](Direct& d) { d.weight = {7, 3, 3, 4}; },
      [](Direct& d) { d.weight = {6, 3, 12}; },
      [](Direct& d) { d.weight[1] = 0; },
      [](Direct& d) {  // two groups of inputs, three and a half outputs each
        d.weight = {7, 3, 3, 2};
        d.out[1] = d.bias = d.multipliers = d.shifts = 7;
      },
      [](Direct& d) { d.in[1] = 8191 * 9, d.weight[3] = 8191 * 9; },
      [](Direct& d) { d.out[0] = 2; },
      [](Direct& d) { d.out[1] = 5; },
      [](Direct& d) { d.stride = {0, 1}; },
      [](Direct& d) { d.stride = {1}; },
      [](Direct& d) { d.stride = {1, 4096}; },
      [](Direct& d) { d.padding = {-1, 0}; },
      [](Direct& d) { d.padding = {0, 0, 0}; },
      [](Direct& d) { d.dilation = {1, 0}; },
      [](Direct& d) { d.dilation = {65536, 1}; },
      [](Direct& d) { d.input_offset = 129; },
      [](Direct& d) { d.output_offset = -129; },
      [](Direct& d) { d.low = 1, d.high = 0; },
      [](Direct& d) { d.high = 128; },
  };
  for (std::size_t i = 0; i < std::size(damages); ++i) EXPECT_FALSE(loads(damages[i])) << i;
}

TEST(Conv2dLoad, OnlyTheVariantForSinglePixelsRejectsWindows) {
  const auto strided = [](Damaged& d) {  // reads beyond the input's last row
    d.header.geometry.stride_height = 2;
    d.header.geometry.stride_width = 2;
  };
  EXPECT_THROW(load(conv2d::kMve1x1, strided), InputError);
  EXPECT_NO_THROW(load(conv2d::kDsp, strided));
}

}  // namespace
}  // namespace cormorant::ops
