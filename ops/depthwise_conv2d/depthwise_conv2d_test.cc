// SPDX-License-Identifier: Apache-2.0
#include "ops/depthwise_conv2d/depthwise_conv2d.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/diagnostic.h"
#include "kernels/requantize_v6m.h"
#include "ops/depthwise_conv2d/nibbles.h"
#include "ops/depthwise_conv2d/prepack.h"
#include "ops/op.h"
#include "runtime/host.h"
#include "target/parse.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/wild_channels.h"

namespace cormorant::ops {

Operator depthwise_conv2d_operator();

namespace {

using conformance::Case;
using Ints = std::vector<std::int64_t>;

// ---- cases ----------------------------------------------------------------------------------------------------------

struct Layer {
  ir::Shape in;  // N C H W
  std::int64_t multiplier = 1;
  Ints kernel = {3, 3};
  Ints stride = {1, 1};
  Ints padding = {1, 1};
  Ints dilation = {1, 1};
  bool bias = true;
  bool relu = false;
  double output_scale = 0.1;
  std::int32_t input_zero_point = -5;
  std::int8_t weight = 0;           // all weights, unless 0
  double activation_max = 0;        // unless 0
  bool nibbles = false;             // weights of 4 bits
  std::vector<double> slopes = {};  // of a PReLU after it: one, or one per output
  bool withered = false;            // every third channel is next to nothing beside its bias, every third shifts left
  std::int32_t all_biases = 0;      // every other one negative, unless 0
  bool wild = false;                // tests/conformance/wild_channels.h
};

// Results of the dead channels are half way between two steps, so that the weights tip them.
void wither(const Layer& l, const ir::Value* x, ir::Value* w, ir::Value* b) {
  std::vector<std::int32_t> biases;
  for (std::size_t c = 0; c < w->type.quant->scales.size(); ++c) {
    double& scale = w->type.quant->scales[c];
    scale = c % 3 == 0 ? 3e-8 : c % 3 == 1 ? 0.02 : 2;
    const double unit = scale * x->type.quant->scale();
    b->type.quant->scales[c] = unit;
    biases.push_back(
        static_cast<std::int32_t>(c % 3 == 0 ? (static_cast<double>(c) + 0.5) * l.output_scale / unit : 5));
  }
  b->data = ir::Bytes::of(std::span<const std::int32_t>(biases));
}

void set_biases(const Layer& l, const ir::Value* x, ir::Value* w, ir::Value* b) {
  std::vector<std::int32_t> biases;
  for (std::size_t c = 0; c < w->type.quant->scales.size(); ++c) {
    w->type.quant->scales[c] = 0.02;
    b->type.quant->scales[c] = 0.02 * x->type.quant->scale();
    biases.push_back(c % 2 == 0 ? l.all_biases : -l.all_biases);
  }
  b->data = ir::Bytes::of(std::span<const std::int32_t>(biases));
}

ir::Value* build(ir::Graph& graph, const Layer& l) {
  std::mt19937 random(static_cast<unsigned>(l.in[1] * 1000 + l.in[3]));
  const std::int64_t outputs = l.in[1] * l.multiplier;
  ir::Value* x = conformance::int8_input(graph, l.in, 0.05, l.input_zero_point);
  ir::Value* w = conformance::int8_weights(graph, {outputs, 1, l.kernel[0], l.kernel[1]}, 0, random);
  if (l.weight != 0) {
    const std::vector<std::int8_t> same(static_cast<std::size_t>(w->type.elements()), l.weight);
    w->data = ir::Bytes::of(std::span<const std::int8_t>(same));
  }
  if (l.nibbles) {
    std::vector<std::int8_t> few(static_cast<std::size_t>(w->type.elements()));
    for (std::int8_t& value : few) value = static_cast<std::int8_t>(std::uniform_int_distribution<int>(-8, 7)(random));
    w->data = ir::Bytes::of(std::span<const std::int8_t>(few));
  }
  ir::Argument bias;
  if (l.bias) bias = conformance::int32_bias(graph, x, w, random, l.nibbles ? 300 : 3000);
  if (l.withered) wither(l, x, w, std::get<ir::Value*>(bias));
  if (l.wild) conformance::make_wild(l.output_scale, x, w, std::get<ir::Value*>(bias));
  if (l.all_biases != 0) set_biases(l, x, w, std::get<ir::Value*>(bias));
  ir::Shape out = {l.in[0], outputs, 0, 0};
  for (std::size_t i = 0; i < 2; ++i) {
    out[2 + i] = (l.in[2 + i] + 2 * l.padding[i] - l.dilation[i] * (l.kernel[i] - 1) - 1) / l.stride[i] + 1;
  }
  std::vector<ir::NamedArgument> args = {{"input", x},         {"weight", w},          {"bias", bias},
                                         {"stride", l.stride}, {"padding", l.padding}, {"dilation", l.dilation},
                                         {"groups", l.in[1]}};
  if (l.relu) args.push_back({"activation_min", 0.0});
  if (l.activation_max != 0) args.push_back({"activation_max", l.activation_max});
  if (!l.slopes.empty()) args.push_back({"activation_slopes", l.slopes});
  return conformance::add_quantized(graph, "aten.conv2d", std::move(args), out, l.output_scale, l.relu ? -128 : 3);
}

Case case_of(const Layer& l) {
  std::string name;
  for (const auto* list : {&l.in, &l.kernel, &l.stride, &l.padding, &l.dilation}) {
    for (const std::int64_t n : *list) name += (name.empty() ? "" : " ") + std::to_string(n);
    name += ",";
  }
  return {name + " times " + std::to_string(l.multiplier) + (l.relu ? " relu" : "") + (l.nibbles ? " nibbles" : "") +
              (l.slopes.empty() ? "" : " slopes"),
          [l](ir::Graph& graph) { return build(graph, l); }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t channels : {3, 16, 17, 40}) {
    all.push_back(case_of({.in = {1, channels, 5, 7}}));
    all.push_back(case_of({.in = {1, channels, 8, 4}, .relu = true}));
    all.push_back(case_of({.in = {1, channels, 7, 6}, .stride = {2, 2}, .relu = true}));
    all.push_back(case_of({.in = {1, channels, 4, 6}, .kernel = {2, 5}, .padding = {0, 2}, .relu = channels == 16}));
    all.push_back(case_of({.in = {2, channels, 7, 6}, .padding = {2, 3}, .dilation = {2, 3}}));
    all.push_back(case_of({.in = {1, channels, 6, 5}, .kernel = {3, 2}, .padding = {2, 1}, .dilation = {2, 3}}));
  }
  for (const std::int64_t channels : {2, 8, 17, 32}) {
    all.push_back(case_of({.in = {1, channels, 5, 7}, .output_scale = 0.01, .nibbles = true}));
    all.push_back(
        case_of({.in = {2, channels, 8, 4}, .stride = {2, 1}, .relu = true, .output_scale = 0.01, .nibbles = true}));
    all.push_back(case_of(
        {.in = {1, channels, 4, 6}, .kernel = {2, 5}, .padding = {0, 2}, .output_scale = 0.01, .nibbles = true}));
  }
  all.push_back(case_of({.in = {1, 5, 5, 6}, .multiplier = 3, .output_scale = 0.01, .nibbles = true}));
  // Several outputs per input.
  for (const std::int64_t multiplier : {2, 3, 16, 17}) {
    const std::int64_t channels = multiplier > 4 ? 2 : 5;
    all.push_back(case_of({.in = {2, channels, 5, 6}, .multiplier = multiplier, .relu = multiplier == 2}));
    all.push_back(case_of({.in = {1, channels, 9, 8},
                           .multiplier = multiplier,
                           .kernel = {5, 4},
                           .stride = {3, 2},
                           .padding = {2, 1},
                           .dilation = {1, 2}}));
    all.push_back(case_of({.in = {1, 4, 9, 4}, .multiplier = multiplier, .stride = {4, 1}, .dilation = {2, 1}}));
  }
  // Images smaller than the window, single rows and columns, strides beyond it.
  for (const std::int64_t size : {1, 2, 3}) {
    all.push_back(case_of({.in = {1, 16, size, 1}}));
    all.push_back(case_of({.in = {1, 8, 1, size}, .padding = {2, 2}}));
    all.push_back(case_of({.in = {1, 4, 9, 8}, .stride = {size, 4}}));
  }
  all.push_back(case_of({.in = {2, 6, 4, 4}}));
  all.push_back(case_of({.in = {3, 16, 3, 3}, .bias = false, .relu = true}));
  all.push_back(case_of({.in = {1, 5, 9, 9}, .padding = {2, 3}, .dilation = {2, 3}}));
  all.push_back(case_of({.in = {1, 16, 6, 6}, .kernel = {1, 1}, .padding = {0, 0}}));
  all.push_back(case_of({.in = {1, 12, 9, 9}, .kernel = {5, 5}, .stride = {2, 2}, .padding = {2, 2}}));
  all.push_back(case_of({.in = {1, 33, 11, 11}, .kernel = {7, 7}, .padding = {3, 3}}));
  all.push_back(case_of({.in = {1, 16, 1, 12}, .kernel = {1, 9}, .padding = {0, 4}, .relu = true}));
  // Shifts to the left, a clamp from above, zero points at both ends, the largest sums, the lowest weight.
  all.push_back(case_of({.in = {1, 18, 4, 4}, .output_scale = 0.0004}));
  for (const bool relu : {false, true}) {
    all.push_back(case_of({.in = {1, 18, 4, 4}, .relu = relu, .withered = true}));
    all.push_back(case_of({.in = {1, 10, 4, 4}, .kernel = {5, 2}, .relu = relu, .withered = true}));
  }
  all.push_back(case_of({.in = {1, 18, 4, 4}, .relu = true, .activation_max = 6.0}));
  all.push_back(case_of({.in = {1, 18, 4, 4}, .input_zero_point = -128}));
  all.push_back(case_of({.in = {1, 18, 4, 4}, .input_zero_point = 127}));
  all.push_back(case_of({.in = {1, 20, 5, 4}, .kernel = {2, 2}, .output_scale = 2, .weight = -128}));
  for (const int weight : {-128, -127, 127}) {
    all.push_back(case_of({.in = {1, 20, 4, 5}, .output_scale = 2, .weight = static_cast<std::int8_t>(weight)}));
  }
  // Where ARMv6-M begins to requantize with more instructions: large biases, and many taps.
  for (const std::int32_t beyond : {-1, 0}) {
    all.push_back(case_of({.in = {1, 8, 4, 5},
                           .kernel = {1, 2},
                           .padding = {0, 0},
                           .output_scale = 10,
                           .input_zero_point = 0,
                           .weight = 127,
                           .all_biases = kSmallSumV6m - 2 * 128 * 128 + beyond}));
  }
  all.push_back(case_of({.in = {1, 4, 9, 8}, .kernel = {8, 8}, .padding = {0, 0}, .output_scale = 10, .weight = 127}));
  return all;
}

// Slopes of both signs, none, and more than one.
std::vector<Case> sloped_cases() {
  std::vector<Case> all;
  const auto add = [&](Layer layer) {
    constexpr double kSlopes[] = {0.25, 0.0, -0.4, 1.7, 0.01};
    if (layer.slopes.empty()) {
      for (std::int64_t c = 0; c < layer.in[1] * layer.multiplier; ++c) layer.slopes.push_back(kSlopes[c % 5]);
    }
    all.push_back(case_of(layer));
  };
  for (const std::int64_t channels : {3, 8, 16, 17, 40}) {
    add({.in = {1, channels, 5, 7}});
    add({.in = {2, channels, 8, 4}, .kernel = {2, 5}, .stride = {2, 1}, .padding = {0, 2}, .bias = false});
    add({.in = {1, channels, 4, 4}, .slopes = {0.1}});
  }
  for (const std::int64_t multiplier : {2, 3}) add({.in = {1, 5, 6, 5}, .multiplier = multiplier, .dilation = {2, 1}});
  // Shifts to the left; a clamp after the slopes; channels that are constant or only for plain loops; the lowest
  // weight.
  add({.in = {1, 18, 4, 4}, .output_scale = 0.0004});
  add({.in = {1, 18, 4, 4}, .relu = true});
  add({.in = {1, 18, 4, 4}, .activation_max = 6.0});
  for (const bool relu : {false, true}) add({.in = {1, 18, 4, 4}, .relu = relu, .withered = true});
  for (const int weight : {-128, 127}) {
    add({.in = {1, 20, 4, 5}, .output_scale = 2, .weight = static_cast<std::int8_t>(weight)});
  }
  return all;
}

// Far from the float semantics: left shifts wrap, as the reference defines. Marked blocks, and others.
std::vector<Case> wild_cases() {
  std::vector<Case> all;
  for (const bool relu : {false, true}) all.push_back(case_of({.in = {1, 39, 4, 4}, .relu = relu, .wild = true}));
  all.push_back(case_of({.in = {1, 16, 3, 4}, .kernel = {2, 1}, .padding = {0, 0}, .weight = -128, .wild = true}));
  all.push_back(case_of({.in = {1, 10, 4, 4}, .multiplier = 3, .wild = true}));
  std::vector<double> slopes;
  for (int c = 0; c < 39; ++c) slopes.push_back(c % 4 == 3 ? -0.4 : 0.25 * (c % 4) + 0.1);
  all.push_back(case_of({.in = {1, 39, 4, 4}, .slopes = slopes, .wild = true}));
  return all;
}

TEST(DepthwiseConv2d, AnyFactorAndSumGiveTheReferencesBits) {
  conformance::expect_same_bits_everywhere(wild_cases(), 2);
}

// A compilation's time grows faster than its graph, so that some graphs are quicker than one.
TEST(DepthwiseConv2d, EveryVariantEqualsTheReference) {
  const std::vector<Case> all = cases();
  constexpr std::size_t kTogether = 40;
  for (std::size_t i = 0; i < all.size(); i += kTogether) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(i);
    const auto count = static_cast<std::ptrdiff_t>(std::min(kTogether, all.size() - i));
    conformance::expect_same_bits_everywhere({first, first + count}, 2);
  }
}

TEST(DepthwiseConv2d, IsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(cases()); }

TEST(DepthwiseConv2d, EveryVariantWithSlopesEqualsTheReference) {
  conformance::expect_same_bits_everywhere(sloped_cases(), 2);
}

TEST(DepthwiseConv2d, WithSlopesIsWithinOneStepOfTheFloatSemantics) {
  conformance::expect_near_float_semantics(sloped_cases());
}

// ---- lowering and prepacking ----------------------------------------------------------------------------------------

TEST(DepthwiseScratch, EqualsCmsisNn) {
  struct Row {
    std::uint16_t channels, kernel_height, kernel_width, pad_height, pad_width, dilation;
    std::uint32_t mve, dsp;  // as arm_depthwise_conv_wrapper_s8_get_buffer_size answers; 0 without DSP
  };
  const Row rows[] = {{16, 3, 3, 1, 1, 1, 4464, 0},
                      {64, 1, 1, 0, 0, 1, 496, 128},
                      {8, 1, 3, 0, 1, 1, 1488, 48},
                      {8, 3, 3, 2, 1, 1, 4464, 144},
                      {3, 3, 3, 0, 0, 2, 0, 0}};
  for (const Row& r : rows) {
    conv::Geometry g = {.in_height = 8, .in_width = 8, .in_channels = r.channels};
    g.out_channels = r.channels;
    g.kernel_height = r.kernel_height;
    g.kernel_width = r.kernel_width;
    g.pad_top = r.pad_height;
    g.pad_left = r.pad_width;
    g.dilation_height = g.dilation_width = r.dilation;
    EXPECT_EQ(depthwise::upstream_scratch_bytes(Isa::mve, g), r.mve);
    EXPECT_EQ(depthwise::upstream_scratch_bytes(Isa::dsp, g), r.dsp);
    EXPECT_EQ(depthwise::upstream_scratch_bytes(Isa::scalar, g), 0U);
    g.batch = 2;
    EXPECT_EQ(depthwise::upstream_scratch_bytes(Isa::mve, g), 0U);
  }
}

ir::Node* lowered(ir::Graph& graph, const Layer& layer, const Config& config) {
  graph.add_output(build(graph, layer));
  return depthwise_conv2d_operator().lower({graph, graph.nodes().back(), config})->producer;
}

TEST(DepthwiseLower, TheCallIsWhatExecuTorchExpects) {
  ir::Graph graph;
  const ir::Node* node = lowered(graph, {.in = {1, 2, 4, 4}, .multiplier = 2, .kernel = {1, 2}, .bias = false}, {});
  EXPECT_EQ(node->op, "cortex_m.quantized_depthwise_conv2d");
  EXPECT_EQ(node->integer("depth_multiplier"), 2);
  EXPECT_TRUE(node->has("bias"));  // its kernels read one always
  const ir::Value* weight = node->tensor("weight");
  EXPECT_EQ(weight->type.shape, ir::Shape({1, 1, 2, 4}));
  const auto from = graph.nodes().back().tensor("weight")->data.as<std::int8_t>();
  const auto to = weight->data.as<std::int8_t>();
  for (std::size_t o = 0; o < 4; ++o) {
    for (std::size_t x = 0; x < 2; ++x) EXPECT_EQ(to[x * 4 + o], from[o * 2 + x]);
  }
}

TEST(DepthwiseLower, ForExecuTorchSeveralImagesAreAGroupedConvolution) {
  ir::Graph one;
  const Config executorch{.target = {}, .runtime = Runtime::executorch};
  EXPECT_EQ(lowered(one, {.in = {1, 4, 4, 4}}, executorch)->op, "cortex_m.quantized_depthwise_conv2d");
  ir::Graph two;
  EXPECT_EQ(lowered(two, {.in = {2, 4, 4, 4}}, executorch)->op, "cortex_m.quantized_conv2d");
}

std::string packed_variant(const Layer& layer, const Cpu& cpu, Isa isa, Optimize optimize = Optimize::balanced) {
  ir::Graph graph;
  const Config config{.target = {&cpu, isa, optimize}};
  const ir::Value* packed = depthwise::prepack({graph, *lowered(graph, layer, config), config});
  return packed == nullptr ? "" : packed->producer->op;
}

TEST(DepthwisePrepack, TheVariantSuitsTheTargetAndTheWeights) {
  const Layer small = {.in = {1, 16, 4, 4}};
  EXPECT_EQ(packed_variant(small, kCpus[9], Isa::mve), "cormorant.depthwise_conv2d.mve_3x3");
  EXPECT_EQ(packed_variant({.in = {1, 16, 7, 7}, .kernel = {5, 5}}, kCpus[9], Isa::mve),
            "cormorant.depthwise_conv2d.mve_kxk");
  EXPECT_EQ(packed_variant(small, kCpus[3], Isa::dsp), "cormorant.depthwise_conv2d.dsp");
  EXPECT_EQ(packed_variant(small, kCpus[0], Isa::scalar), "cormorant.depthwise_conv2d.scalar");
  // Two products with −128 do not fit 16 bits.
  EXPECT_EQ(packed_variant({.in = {1, 16, 4, 4}, .weight = -128}, kCpus[9], Isa::mve),
            "cormorant.depthwise_conv2d.mve_kxk");
  EXPECT_EQ(packed_variant({.in = {1, 16, 4, 4}, .multiplier = 2}, kCpus[9], Isa::mve),
            "cormorant.depthwise_conv2d.mve_3x3");
  EXPECT_EQ(packed_variant({.in = {1, 8, 4, 4}}, kCpus[9], Isa::mve), "cormorant.depthwise_conv2d.mve_3x3_narrow");
  EXPECT_EQ(packed_variant(small, kCpus[3], Isa::dsp, Optimize::speed), "cormorant.depthwise_conv2d.dsp_wide");
  EXPECT_EQ(packed_variant(small, kCpus[3], Isa::dsp, Optimize::size), "cormorant.depthwise_conv2d.dsp_small");
  EXPECT_EQ(packed_variant(small, kCpus[9], Isa::mve, Optimize::size), "cormorant.depthwise_conv2d.mve_kxk");
  Layer sloped = small;
  sloped.slopes = {0.1};
  EXPECT_EQ(packed_variant(sloped, kCpus[9], Isa::mve), "cormorant.depthwise_conv2d.mve_prelu");
  EXPECT_EQ(packed_variant(sloped, kCpus[3], Isa::dsp, Optimize::size), "cormorant.depthwise_conv2d.dsp_prelu");
  EXPECT_EQ(packed_variant(sloped, kCpus[0], Isa::scalar), "cormorant.depthwise_conv2d.scalar_prelu");
}

TEST(DepthwiseConv2d, EqualsTheReferenceWhereFlashIsSaved) {
  conformance::expect_same_bits_where_flash_is_saved(cases());
}

TEST(DepthwiseLayout, EveryConstantHasAPlaceOfItsOwn) {
  for (const depthwise::Variant* variant : depthwise::kVariants) {
    for (const std::uint16_t channels : std::initializer_list<std::uint16_t>{1, 3, 4, 8, 16, 17, 33}) {
      conv::Geometry g = {.in_channels = channels, .out_channels = channels, .kernel_height = 3, .kernel_width = 3};
      const depthwise::Stream stream(*variant, g);
      std::vector<int> used(stream.bytes());
      for (std::uint32_t c = 0; c < stream.channels; ++c) {
        EXPECT_EQ(stream.bias_index(c) % 4, 0U);
        EXPECT_EQ(stream.multiplier_index(c) % 4, 0U);
        for (std::uint32_t i = 0; i < 4; ++i) {
          ++used.at(stream.bias_index(c) + i);
          ++used.at(stream.multiplier_index(c) + i);
          if (stream.has_slopes) ++used.at(stream.negative_multiplier_index(c) + i);
        }
        ++used.at(stream.right_shift_index(c));
        ++used.at(stream.left_shift_index(c));
        for (std::uint32_t i = 0; i < g.taps() * stream.weight_bytes(); ++i) {
          ++used.at(stream.weight_index(c, i / stream.weight_bytes()) + i % stream.weight_bytes());
        }
      }
      for (const int count : used) ASSERT_LE(count, 1) << variant->name << " " << channels;
    }
  }
}

// ---- damaged programs -----------------------------------------------------------------------------------------------

struct Damaged {
  conv::Header header;
  ir::Shape in = {1, 8, 4, 5};
  ir::Shape out = {1, 8, 4, 5};
  std::int64_t scratch = -1;
  std::size_t missing = 0;  // bytes of the constant
};

depthwise::Stream stream_of(const depthwise::Variant& variant, const conv::Geometry& g) { return {variant, g}; }
std::uint64_t bytes_of(const depthwise::Stream& stream) { return stream.bytes(); }
depthwise::nibbles::Stream stream_of(const depthwise::nibbles::Variant& variant, const conv::Geometry& g) {
  return {variant, g};
}
std::uint64_t bytes_of(const depthwise::nibbles::Stream& stream) { return stream.total(); }

template <class Variant>
void load(const Variant& variant, const std::function<void(Damaged&)>& damage) {
  Damaged d;
  d.header.geometry = {
      .in_height = 4, .in_width = 5, .in_channels = 8, .out_height = 4, .out_width = 5, .out_channels = 8};
  d.header.geometry.kernel_height = d.header.geometry.kernel_width = 3;
  d.header.geometry.pad_top = d.header.geometry.pad_left = 1;
  const std::uint64_t bytes = bytes_of(stream_of(variant, d.header.geometry));
  d.header.stream_bytes = static_cast<std::uint32_t>(bytes);
  const std::int64_t scratch = scratch_bytes(variant, d.header.geometry).value();
  damage(d);
  std::vector<std::int8_t> packed(sizeof d.header + bytes - d.missing);
  std::memcpy(packed.data(), &d.header, sizeof d.header);
  ir::Graph graph;
  const auto i8 = [](ir::Shape shape) {
    return ir::quantized_type(std::move(shape), ir::per_tensor_i8(1.0, 0), ir::kChannelsLast);
  };
  ir::Value* x = graph.add_input("x", i8(d.in));
  ir::Value* constant = graph.add_constant(
      "packed", {.dtype = DType::i8, .shape = {static_cast<std::int64_t>(packed.size())}, .dim_order = {}, .quant = {}},
      ir::Bytes::of(std::span<const std::int8_t>(packed)));
  ir::Value* memory = graph.add_scratch("scratch", d.scratch < 0 ? scratch : d.scratch);
  graph.add_output(graph
                       .add_node("conv", graph_name(variant.name),
                                 {{"input", x}, {"packed", constant}, {"scratch", memory}}, {i8(d.out)})
                       ->result());
  HostProgram program(conformance::program_of(graph), host_kernels());
  const std::vector<std::vector<std::byte>> inputs = {
      std::vector<std::byte>(static_cast<std::size_t>(x->type.bytes()))};
  program.run(inputs);
}

template <class Variant>
void expect_rejected(std::span<const Variant* const> variants) {
  for (const Variant* variant : variants) {
    SCOPED_TRACE(variant->name);
    EXPECT_NO_THROW(load(*variant, [](Damaged&) {}));
    const std::function<void(Damaged&)> damages[] = {
        [](Damaged& d) { d.missing = 1; },
        [](Damaged& d) { d.header.stream_bytes -= 4; },
        [](Damaged& d) { d.in[1] = d.out[1] = 9; },
        [](Damaged& d) { d.in[2] = 5; },
        [](Damaged& d) { d.header.geometry.out_channels = 16; },
        [](Damaged& d) { d.header.geometry.kernel_height = 2; },
        [](Damaged& d) { d.header.geometry.stride_width = 0; },
        [](Damaged& d) { d.header.geometry.pad_top = 0xffff; },
        // Rows of scratch whose size would overflow 32 bits.
        [](Damaged& d) {
          d.out = {1, 8, 1, 65535};
          d.header.geometry.out_height = 1;
          d.header.geometry.out_width = 65535;
          d.header.geometry.stride_width = 4095;
          d.scratch = 16;
        },
        [](Damaged& d) { d.scratch = 16; },
    };
    for (std::size_t i = 0; i < std::size(damages); ++i) EXPECT_THROW(load(*variant, damages[i]), InputError) << i;
  }
}

TEST(DepthwiseLoad, RejectsPackedConstantsThatDoNotFit) {
  expect_rejected(std::span<const depthwise::Variant* const>(depthwise::kVariants));
  expect_rejected(std::span<const depthwise::nibbles::Variant* const>(depthwise::nibbles::kVariants));
}

TEST(DepthwiseNibbles, TakeHalfOfTheFlash) {
  const conv::Geometry g{.in_channels = 64, .out_channels = 64, .kernel_height = 3, .kernel_width = 3};
  EXPECT_EQ(bytes_of(stream_of(depthwise::kMve3x3, g)), 64 * 9 + 64 * 10);
  EXPECT_EQ(bytes_of(stream_of(depthwise::nibbles::kMve3x3, g)), 64 * 9 / 2 + 64 * 10);
}

}  // namespace
}  // namespace cormorant::ops
