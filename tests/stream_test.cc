// SPDX-License-Identifier: Apache-2.0
//
// Networks over a window and the same streamed: fed with a signal hop by hop, the streamed program gives what the
// window network gives for the last window, to the bit, once the window is full.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "evaluate/sqnr.h"
#include "ir/text.h"
#include "program/program_io.h"
#include "target/parse.h"
#include "tests/conformance/conformance.h"

namespace cormorant {
namespace {

using conformance::add_quantized;
using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kWindow = 24;
constexpr std::int64_t kBands = 5;

class Network {
 public:
  Network() { value = conformance::int8_input(graph, {1, 2, kWindow, kBands}, 0.05, -3); }

  // Along time and bands.
  void conv(std::int64_t outputs, Ints kernel, Ints stride = {1, 1}, Ints dilation = {1, 1}, Ints padding = {0, 0},
            bool depthwise = false) {
    const ir::Shape in = value->type.shape;
    ir::Value* weight =
        conformance::int8_weights(graph, {outputs, depthwise ? 1 : in[1], kernel[0], kernel[1]}, 0, random_);
    ir::Value* bias = conformance::int32_bias(graph, value, weight, random_, 2000);
    ir::Shape out = {1, outputs, 0, 0};
    for (std::size_t i = 0; i < 2; ++i) {
      out[2 + i] = (in[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
    }
    add("aten.conv2d",
        {{"input", value},
         {"weight", weight},
         {"bias", bias},
         {"stride", stride},
         {"padding", padding},
         {"dilation", dilation},
         {"groups", depthwise ? outputs : std::int64_t{1}},
         {"activation_min", 0.0}},
        out, 0.4, -128);
  }
  void max_pool(Ints kernel, Ints stride) {
    const ir::Shape in = value->type.shape;
    const ir::QuantParams quant = *value->type.quant;
    add("aten.max_pool2d",
        {{"self", value},
         {"kernel_size", kernel},
         {"stride", stride},
         {"padding", Ints{0, 0}},
         {"dilation", Ints{1, 1}},
         {"ceil_mode", false}},
        {1, in[1], (in[2] - kernel[0]) / stride[0] + 1, (in[3] - kernel[1]) / stride[1] + 1}, quant.scale(),
        quant.zero_point());
  }
  // The convolution's result and the part of its input that is below it.
  void residual() {
    ir::Value* before = value;
    const ir::QuantParams quant = *before->type.quant;
    conv(before->type.shape[1], {3, 1});
    ir::Value* after = value;
    ir::Shape shape = after->type.shape;
    value = before;
    add("aten.slice",
        {{"self", before},
         {"dim", std::int64_t{2}},
         {"start", std::int64_t{1}},
         {"end", before->type.shape[2] - 1},
         {"step", std::int64_t{1}}},
        shape, quant.scale(), quant.zero_point());
    add("aten.add", {{"self", value}, {"other", after}, {"alpha", 1.0}}, shape, 0.5, -10);
  }
  void pad(std::int64_t before, std::int64_t after) {
    ir::Shape shape = value->type.shape;
    const ir::QuantParams quant = *value->type.quant;
    shape[2] += before + after;
    add("aten.pad", {{"self", value}, {"pad", Ints{0, 0, before, after}}, {"value", 0.0}}, shape, quant.scale(),
        quant.zero_point());
  }
  void padded_residual() {
    ir::Value* before = value;
    conv(before->type.shape[1], {3, 1}, {1, 1}, {1, 1}, {1, 0});
    add("aten.add", {{"self", before}, {"other", value}, {"alpha", 1.0}}, value->type.shape, 0.5, -10);
  }
  void mean(const Ints& dims = {2, 3}) {
    ir::Shape shape = value->type.shape;
    for (const std::int64_t dim : dims) shape[static_cast<std::size_t>(dim)] = 1;
    add("aten.mean", {{"self", value}, {"dim", dims}}, shape, 0.1, -20);
  }
  void avg_pool(const Ints& kernel) {
    const ir::Shape in = value->type.shape;
    add("aten.avg_pool2d",
        {{"self", value},
         {"kernel_size", kernel},
         {"stride", kernel},
         {"padding", Ints{0, 0}},
         {"ceil_mode", false},
         {"count_include_pad", false},
         {"divisor_override", ir::None{}}},
        {1, in[1], in[2] / kernel[0], in[3] / kernel[1]}, 0.1, -20);
  }
  void head(std::int64_t outputs) {
    const std::int64_t features = value->type.elements();
    const ir::QuantParams quant = *value->type.quant;
    add("aten.view", {{"self", value}, {"size", Ints{1, features}}}, {1, features}, quant.scale(), quant.zero_point());
    ir::Value* weight = conformance::int8_weights(graph, {outputs, features}, 0, random_);
    ir::Value* bias = conformance::int32_bias(graph, value, weight, random_, 2000);
    add("aten.linear", {{"input", value}, {"weight", weight}, {"bias", bias}}, {1, outputs}, 0.2, 5);
  }

  // One slope for each channel, each with a scale of its own.
  void prelu() {
    const std::int64_t channels = value->type.shape[1];
    ir::TensorType type{.dtype = DType::i8, .shape = {channels}, .dim_order = {}, .quant = ir::QuantParams{}};
    type.quant->axis = 0;
    type.quant->qmin = -127;
    std::vector<std::int8_t> slopes(static_cast<std::size_t>(channels), 127);
    for (std::int64_t c = 0; c < channels; ++c) {
      type.quant->scales.push_back(0.001 * static_cast<double>(c + 1));
      type.quant->zero_points.push_back(0);
    }
    ir::Value* weight = graph.add_constant("slopes", type, ir::Bytes::of(std::span<const std::int8_t>(slopes)));
    add("aten.prelu", {{"self", value}, {"weight", weight}}, value->type.shape, 0.4, -20);
  }
  void div(ir::Value* other) { add("aten.div", {{"self", value}, {"other", other}}, value->type.shape, 0.05, 3); }
  void flip(std::int64_t dim) { moved("aten.flip", {{"self", value}, {"dims", Ints{dim}}}, value->type.shape); }
  void expand(std::size_t dim, std::int64_t count) {
    ir::Shape shape = value->type.shape;
    shape[dim] = count;
    moved("aten.expand", {{"self", value}, {"size", shape}}, shape);
  }
  void repeat(const Ints& repeats) {
    ir::Shape shape = value->type.shape;
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] *= repeats[d];
    moved("aten.repeat_interleave", {{"self", value}, {"repeats", repeats}}, shape);
  }
  void select(std::int64_t dim, const std::vector<std::int32_t>& places) {
    ir::Shape shape = value->type.shape;
    shape[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(places.size());
    ir::Value* index = graph.add_constant(
        "places", {.dtype = DType::i32, .shape = {shape[static_cast<std::size_t>(dim)]}, .dim_order = {}, .quant = {}},
        ir::Bytes::of(std::span<const std::int32_t>(places)));
    moved("aten.index_select", {{"self", value}, {"dim", dim}, {"index", index}}, shape);
  }
  // Over the last dimension.
  void layer_norm() {
    add("aten.layer_norm",
        {{"input", value},
         {"groups", std::int64_t{1}},
         {"channels", value->type.shape.back()},
         {"inner", std::int64_t{1}},
         {"weight", ir::None{}},
         {"bias", ir::None{}},
         {"eps", 1e-5},
         {"subtracts_mean", true}},
        value->type.shape, 0.02, 0);
  }

  // A buffer that keeps the value, clamped; what it kept before is added, or all that is read.
  void remember(bool reads = true) {
    const ir::TensorType type = value->type;
    ir::Value* kept =
        graph.add_state("kept", type, ir::Bytes::own(std::vector<std::byte>(static_cast<std::size_t>(type.bytes()))));
    ir::Value* now = value;
    add("aten.clamp", {{"self", now}, {"min", 0.0}, {"max", ir::None{}}}, type.shape, type.quant->scale(),
        type.quant->zero_point());
    graph.add_update(kept, value);
    if (reads) {
      add("aten.add", {{"self", now}, {"other", kept}, {"alpha", 1.0}}, type.shape, 0.5, -10);
    } else {
      value = kept;
    }
  }

  ir::Graph graph;
  ir::Value* value = nullptr;

 private:
  void moved(std::string op, std::vector<ir::NamedArgument> args, ir::Shape shape) {
    const ir::QuantParams quant = *value->type.quant;
    add(std::move(op), std::move(args), std::move(shape), quant.scale(), quant.zero_point());
  }
  void add(std::string op, std::vector<ir::NamedArgument> args, ir::Shape shape, double scale, std::int32_t zero) {
    value = add_quantized(graph, std::move(op), std::move(args), std::move(shape), scale, zero);
  }
  std::mt19937 random_{7};
};

using Build = void (*)(Network&);

struct Built {
  ProgramFile program;
  compiler::Facts facts;
};
Built compile(Build build, std::optional<passes::StreamOptions> stream) {
  Network network;
  build(network);
  network.graph.add_output(network.value);
  compiler::Options options;
  options.stream = stream;
  compiler::Compiled compiled = compiler::compile(network.graph, options);
  return {program_from(std::move(compiled.program), "test.pte"), std::move(compiled.facts)};
}

// Entries [first, first + count) of a signal that has any length.
npy::Array entries(std::int64_t first, std::int64_t count) {
  npy::Array array{DType::i8, {1, 2, count, kBands}, {}};
  for (std::int64_t c = 0; c < 2; ++c) {
    for (std::int64_t t = first; t < first + count; ++t) {
      for (std::int64_t b = 0; b < kBands; ++b) {
        std::minstd_rand random(static_cast<unsigned>((t * 2 + c) * kBands + b + 1));
        random.discard(3);
        array.data.push_back(static_cast<std::byte>(random() % 256));
      }
    }
  }
  return array;
}

// The last `count` entries of an output [1, channels, time, bands].
std::vector<std::byte> last_entries(const npy::Array& array, std::int64_t count) {
  if (array.shape.size() != 4 || array.shape[2] == 1) return array.data;
  std::vector<std::byte> bytes;
  const std::int64_t time = array.shape[2], bands = array.shape[3];
  for (std::int64_t c = 0; c < array.shape[1]; ++c) {
    const auto from = array.data.begin() + (c * time + time - count) * bands;
    bytes.insert(bytes.end(), from, from + count * bands);
  }
  return bytes;
}

void expect_same(Build build, std::int64_t hop, std::int64_t hops_after = 4) {
  SCOPED_TRACE(hop);
  const Built window = compile(build, std::nullopt);
  const Built streamed = compile(build, passes::StreamOptions{2, hop});
  EXPECT_TRUE(streamed.program.has_state);
  EXPECT_LT(streamed.facts.macs, window.facts.macs);
  EXPECT_EQ(streamed.facts.window_macs, window.facts.macs);
  const std::int64_t filling = (kWindow + hop - 1) / hop;
  std::vector<Arrays> hops, windows;
  for (std::int64_t k = 0; k < filling + hops_after; ++k) {
    hops.push_back({entries(k * hop, hop)});
    if (k + 1 >= filling) windows.push_back({entries((k + 1) * hop - kWindow, kWindow)});
  }
  ExecuteOn where;
  where.steps = hops.size();
  const std::vector<Arrays> got = execute(streamed.program, hops, where).outputs;
  const std::vector<Arrays> wanted = execute(window.program, windows, {}).outputs;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const npy::Array& y = got[static_cast<std::size_t>(filling) - 1 + k][0];
    EXPECT_EQ(y.data, last_entries(wanted[k][0], y.shape.size() == 4 ? y.shape[2] : 1)) << k;
  }
}

std::string error_of(Build build, passes::StreamOptions stream) {
  try {
    (void)compile(build, stream);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Stream, ConvolutionsGiveTheirNewEntries) {
  const Build build = [](Network& n) {
    n.conv(4, {3, 3}, {1, 1}, {1, 1}, {0, 1});
    n.conv(4, {2, 1}, {1, 1}, {3, 1});
    n.conv(4, {3, 3}, {1, 1}, {1, 1}, {0, 1}, true);
  };
  for (const std::int64_t hop : {1, 2, 5}) expect_same(build, hop);
}

// A model's own buffer holds what the window's network would keep of the last window.
TEST(Stream, BuffersOfTheModelKeepTheWholeWindow) {
  const Build build = [](Network& n) {
    n.conv(3, {3, 1});
    n.remember();
    n.conv(2, {1, 5});
  };
  for (const std::int64_t hop : {2, 5}) {
    SCOPED_TRACE(hop);
    const Built window = compile(build, std::nullopt), streamed = compile(build, passes::StreamOptions{2, hop});
    const std::int64_t filling = (kWindow + hop - 1) / hop, count = filling + 4;
    std::vector<Arrays> hops, windows;
    for (std::int64_t k = 0; k < count; ++k) {
      hops.push_back({entries(k * hop, hop)});
      if (k + 1 >= filling) windows.push_back({entries((k + 1) * hop - kWindow, kWindow)});
    }
    ExecuteOn where;
    where.steps = hops.size();
    const std::vector<Arrays> got = execute(streamed.program, hops, where).outputs;
    where.steps = windows.size();
    const std::vector<Arrays> wanted = execute(window.program, windows, where).outputs;
    // From the second full window on, the one before it was full, too.
    for (std::size_t k = 1; k < wanted.size(); ++k) {
      const npy::Array& y = got[static_cast<std::size_t>(filling) - 1 + k][0];
      EXPECT_EQ(y.data, last_entries(wanted[k][0], y.shape[2])) << k;
    }
  }
  const Build padded = [](Network& n) {
    n.pad(2, 0);
    n.remember(false);
    n.mean();
  };
  EXPECT_NE(error_of(padded, {2, 1}).find("the buffer 'kept' reads the result"), std::string::npos);
}

// Wide kernels along time: an entry is all bands of all channels, and the ring is as long as the second layer looks
// back, so it comes round before the window is full.
TEST(Stream, DilatedConvolutionsReadFromRings) {
  const Build build = [](Network& n) {
    n.conv(32, {1, 3}, {1, 1}, {1, 1}, {0, 1});
    n.conv(4, {3, 3}, {1, 1}, {8, 1}, {0, 1});
    n.conv(4, {2, 1}, {1, 1}, {3, 1}, {0, 0}, true);
  };
  for (const std::int64_t hop : {1, 2}) {
    expect_same(build, hop, 20);
    const auto& operators = compile(build, passes::StreamOptions{2, hop}).facts.operators;
    EXPECT_EQ(operators.contains("cormorant::update_ring.mve"), hop == 1);
    EXPECT_TRUE(operators.contains("cormorant::update_shift.mve"));
  }
}

TEST(Stream, StridesAndPoolingKeepTheirPlaces) {
  const Build build = [](Network& n) {
    n.conv(3, {4, 1}, {2, 1});  // of 24 entries the last is not used
    n.max_pool({2, 1}, {1, 1});
    n.conv(3, {3, 1}, {2, 1});
  };
  for (const std::int64_t hop : {4, 8}) expect_same(build, hop);
}

// Layers that do the same to each entry: nothing is computed over the window after them, either.
TEST(Stream, WhatIsTheSameAtEveryEntryComputesOnlyNewOnes) {
  struct {
    const char* what;
    Build build;
  } table[] = {{"a PReLU", [](Network& n) { n.prelu(); }},
               {"a division of two streams",
                [](Network& n) {
                  ir::Value* before = n.value;
                  n.conv(2, {1, 1});
                  n.div(before);
                }},
               {"flipped bands", [](Network& n) { n.flip(3); }},
               {"repeated bands", [](Network& n) { n.repeat({1, 1, 1, 2}); }},
               {"selected channels", [](Network& n) { n.select(1, {1, 0, 1}); }},
               {"a mean over bands, expanded",
                [](Network& n) {
                  n.mean({3});
                  n.expand(3, 4);
                }},
               {"a norm over bands", [](Network& n) { n.layer_norm(); }}};
  for (const auto& [what, build] : table) {
    SCOPED_TRACE(what);
    static Build layer;
    layer = build;
    const Build whole = [](Network& n) {
      n.conv(2, {3, 1});
      layer(n);
      n.conv(3, {3, 1});
    };
    for (const std::int64_t hop : {1, 3}) expect_same(whole, hop);
    EXPECT_FALSE(compile(whole, passes::StreamOptions{2, 1}).facts.whole_window);
    // Of the second convolution, too: a hop of one is a 22nd part of the first.
    const auto macs = [&](std::optional<passes::StreamOptions> stream) { return compile(whole, stream).facts.macs; };
    EXPECT_LT(20 * macs(passes::StreamOptions{2, 1}), macs(std::nullopt) + 20 * 24);
  }
}

TEST(Stream, TheFirstLayerOverTheWholeWindowIsNamed) {
  const Build flips = [](Network& n) {
    n.conv(2, {3, 1});
    n.flip(2);
    n.conv(3, {3, 1});
    n.conv(3, {1, 1});
    n.head(4);
  };
  const compiler::Facts facts = compile(flips, passes::StreamOptions{2, 2}).facts;
  ASSERT_TRUE(facts.whole_window);
  EXPECT_NE(facts.whole_window->node.find("flip"), std::string::npos) << facts.whole_window->node;
  EXPECT_EQ(facts.whole_window->nodes, 3U);
  ASSERT_EQ(facts.warnings.size(), 1U);
  EXPECT_NE(facts.warnings[0].find("and 2 layers after it are computed over the whole window"), std::string::npos)
      << facts.warnings[0];
  expect_same(flips, 2);
  // What reads a window to give one result is not a layer that could do with less.
  const Build reduces = [](Network& n) {
    n.conv(2, {3, 1});
    n.head(4);
  };
  EXPECT_FALSE(compile(reduces, passes::StreamOptions{2, 2}).facts.whole_window);
}

TEST(Stream, SkipsFitTheBranchTheySkip) {
  const Build build = [](Network& n) {
    n.conv(4, {1, 1});
    n.residual();
    n.residual();
  };
  for (const std::int64_t hop : {1, 3}) expect_same(build, hop);
  EXPECT_EQ(compile(build, passes::StreamOptions{2, 3}).program.outputs[0].shape[2], 3);
}

TEST(Stream, WhatNeedsTheWholeWindowGetsIt) {
  const Build over_mean = [](Network& n) {
    n.conv(4, {3, 3}, {1, 1}, {1, 1}, {0, 1});
    n.conv(6, {3, 1}, {2, 1});
    n.mean();
    n.head(3);
  };
  expect_same(over_mean, 2);
  const Build over_all = [](Network& n) {
    n.conv(2, {3, 5});
    n.head(4);
  };
  expect_same(over_all, 3);
}

// The parts of a window are as long as what is new where that divides it (22 entries here), else as both allow.
TEST(Stream, MeansAddWhatIsNewAndSubtractWhatIsOldest) {
  struct {
    const char* what;
    Build build;
  } table[] = {{"over time and bands",
                [](Network& n) {
                  n.conv(4, {3, 3}, {1, 1}, {1, 1}, {0, 1});
                  n.mean();
                  n.head(3);
                }},
               {"over time",
                [](Network& n) {
                  n.conv(4, {3, 3}, {1, 1}, {1, 1}, {0, 1});
                  n.mean({2});
                }},
               {"as PyTorch's global pooling is imported",
                [](Network& n) {
                  n.conv(4, {3, 3}, {1, 1}, {1, 1}, {0, 1});
                  n.avg_pool({22, 5});
                  n.head(3);
                }},
               {"over time, by pooling", [](Network& n) {
                  n.conv(4, {3, 3}, {1, 1}, {1, 1}, {0, 1});
                  n.avg_pool({22, 1});
                }}};
  for (const auto& t : table) {
    SCOPED_TRACE(t.what);
    for (const std::int64_t hop : {1, 2, 3, 4}) {
      expect_same(t.build, hop, 30);
      const Built streamed = compile(t.build, passes::StreamOptions{2, hop});
      int means = 0;
      for (const auto& [name, count] : streamed.facts.operators) {
        if (name.starts_with("cormorant::moving_mean.")) means += count;
        EXPECT_FALSE(name.starts_with("cormorant::mean.") || name.starts_with("cormorant::avg_pool2d.")) << name;
        EXPECT_NE(name, "aten::clone.out") << "sums are kept where they are";
      }
      EXPECT_EQ(means, 1) << hop;
    }
  }
}

// With 16-bit activations as well: a part's sums have 32 bits, or 16 if a part is one entry.
TEST(Stream, MeansOf16BitsAddAndSubtractToo) {
  constexpr std::int64_t kLength = 12;
  const auto compile_mean = [&](std::int64_t bands, std::int64_t hop) {
    ir::Graph graph =
        ir::parse(fmt::format("graph g\ninput %x : f32[1,2,{0},{1}]\n"
                              "node \"n\" \"\" \"\"\n  %y : f32[1,2,1,1] = aten.mean(self=%x, dim=[2, 3])\n"
                              "output %y\n",
                              kLength, bands),
                  "test");
    compiler::Options options;
    options.quantize = true;
    options.io = compiler::Io::int16;
    options.scheme = ops::Precision::w8a16;
    if (hop != 0) options.stream = passes::StreamOptions{2, hop};
    compiler::Compiled compiled = compiler::compile(graph, options);
    const auto& operators = compiled.facts.operators;
    EXPECT_EQ(operators.size(), 1U);
    EXPECT_EQ(operators.begin()->first, hop == 0 ? "cormorant::mean.words" : "cormorant::moving_mean.words");
    return program_from(std::move(compiled.program), "test.pte");
  };
  for (const auto& [bands, hop] : {std::pair{1, 1}, {1, 3}, {4, 2}, {4, 4}}) {
    // Entries of both channels from one moment on; `bands` of each.
    const auto entries = [&](std::int64_t first, std::int64_t count) {
      npy::Array array{DType::i16, {1, 2, count, bands}, {}};
      for (std::int64_t channel = 0; channel < 2; ++channel) {
        for (std::int64_t k = first * bands; k < (first + count) * bands; ++k) {
          const auto level = static_cast<std::int16_t>((k + 1) * (channel + 3) * 7919);
          const auto bytes = std::as_bytes(std::span(&level, 1));
          array.data.insert(array.data.end(), bytes.begin(), bytes.end());
        }
      }
      return array;
    };
    std::vector<std::vector<npy::Array>> hops;
    for (std::int64_t k = 0; k < 2 * kLength / hop; ++k) hops.push_back({entries(k * hop, hop)});
    ExecuteOn where;
    where.steps = hops.size();
    const auto streamed = execute(compile_mean(bands, hop), hops, where).outputs;
    const ProgramFile window = compile_mean(bands, 0);
    for (std::int64_t k = kLength / hop - 1; k < 2 * kLength / hop; ++k) {
      const auto expected = execute(window, {{entries((k + 1) * hop - kLength, kLength)}}, {}).outputs[0][0].data;
      EXPECT_EQ(streamed.at(static_cast<std::size_t>(k))[0].data, expected) << "hop " << hop << ", after " << k;
    }
  }
}

// From the window's first entry on, as with causal padding: by a pad of its own, or by a convolution whose stride
// leaves the window's end alone.
TEST(Stream, PaddingOfTheBeginningHarmsNobodyAfterIt) {
  const Build causal = [](Network& n) {
    n.pad(2, 0);
    n.conv(4, {3, 3}, {1, 1}, {1, 1}, {0, 1});
    n.pad(4, 0);
    n.conv(3, {3, 1}, {1, 1}, {2, 1});
  };
  for (const std::int64_t hop : {1, 4}) expect_same(causal, hop);
  const Build strided = [](Network& n) {
    n.conv(4, {3, 3}, {2, 1}, {1, 1}, {1, 1});
    n.conv(4, {2, 1}, {2, 1});
  };
  expect_same(strided, 4);
}

// Where a stream continues despite padding, it is the window's network without it: what the window computes of entries
// that are far enough from both of its edges, so many entries later.
void expect_later(Build build, std::int64_t hop, std::int64_t lag, std::int64_t reach) {
  SCOPED_TRACE(hop);
  const Built window = compile(build, std::nullopt);
  const Built streamed = compile(build, passes::StreamOptions{2, hop, true});
  std::vector<Arrays> hops;
  const std::int64_t count = 2 * kWindow / hop;
  for (std::int64_t k = 0; k < count; ++k) hops.push_back({entries(k * hop, hop)});
  ExecuteOn where;
  where.steps = hops.size();
  const std::vector<Arrays> got = execute(streamed.program, hops, where).outputs;
  const npy::Array wanted = execute(window.program, {{entries(count * hop - kWindow, kWindow)}}, {}).outputs[0][0];
  int compared = 0;
  for (std::int64_t k = count - kWindow / hop; k < count; ++k) {
    const npy::Array& y = got[static_cast<std::size_t>(k)][0];
    // The window's entry that the newest one is.
    const std::int64_t at = wanted.shape[2] - 1 - (count - 1 - k) * y.shape[2] - lag;
    if (at - y.shape[2] + 1 < reach) continue;
    npy::Array part = wanted;  // up to that one
    part.shape[2] = at + 1;
    part.data.clear();
    for (std::int64_t c = 0; c < wanted.shape[1]; ++c) {
      const auto begin = wanted.data.begin() + c * wanted.shape[2] * wanted.shape[3];
      part.data.insert(part.data.end(), begin, begin + (at + 1) * wanted.shape[3]);
    }
    EXPECT_EQ(y.data, last_entries(part, y.shape[2])) << k;
    ++compared;
  }
  EXPECT_GT(compared, 2) << got[0][0].shape[2] << " of " << wanted.shape[2];
}

TEST(StreamCausal, GivesTheWindowsInnerEntriesLater) {
  const Build chain = [](Network& n) {
    n.conv(4, {3, 3}, {1, 1}, {1, 1}, {1, 1});
    n.conv(4, {5, 1}, {1, 1}, {1, 1}, {2, 0});
  };
  expect_later(chain, 1, 3, 3);
  expect_later(chain, 4, 3, 3);
  const Build skip = [](Network& n) {
    n.conv(4, {1, 1});
    n.padded_residual();
    n.padded_residual();
  };
  expect_later(skip, 2, 2, 2);
  const Build strided = [](Network& n) {
    n.conv(3, {3, 1}, {2, 1}, {1, 1}, {1, 0});  // of 24 entries the last three end with the window
    n.conv(3, {3, 1}, {1, 1}, {1, 1}, {1, 0});
  };
  expect_later(strided, 2, 1, 2);
}

// Each sample follows another; inner entries of the window are equal, and what a layer makes of all of it is not.
TEST(StreamCausal, ItsSqnrIsThatOfTheLastEntries) {
  const auto values = [](const npy::Array& array, double scale, int zero) {
    std::vector<float> all;
    for (const std::byte byte : array.data) {
      all.push_back(static_cast<float>(scale * (static_cast<std::int8_t>(byte) - zero)));
    }
    return all;
  };
  constexpr std::int64_t kHop = 4, kSamples = 3;
  const auto sample = [](std::int64_t k) { return entries(100 * k, kWindow); };
  compiler::Options options;
  options.stream = passes::StreamOptions{2, kHop, true};
  options.calibration =
      quantizer::Samples{.count = kSamples, .load = [&](std::size_t k) {
                           const npy::Array array = sample(static_cast<std::int64_t>(k));
                           return quantizer::Sample{evaluate::Tensor(array.shape, values(array, 0.05, -3))};
                         }};
  const Build inner = [](Network& n) { n.conv(4, {3, 3}, {1, 1}, {1, 1}, {1, 1}); };
  const Build over_all = [](Network& n) {
    n.conv(4, {3, 3}, {1, 1}, {1, 1}, {1, 1});
    n.head(6);
  };
  const auto causal_db = [&](Build build) {
    Network network;
    build(network);
    network.graph.add_output(network.value);
    return compiler::compile(network.graph, options).facts.causal_db;
  };
  ASSERT_EQ(causal_db(inner).size(), 1U);
  EXPECT_TRUE(std::isinf(causal_db(inner)[0]));

  const Built window = compile(over_all, std::nullopt), streamed = compile(over_all, options.stream);
  evaluate::Sqnr expected;
  for (std::int64_t k = 0; k < kSamples; ++k) {
    std::vector<Arrays> hops;
    for (const std::int64_t of : {(k + kSamples - 1) % kSamples, k}) {
      for (std::int64_t at = 0; at < kWindow; at += kHop) hops.push_back({entries(100 * of + at, kHop)});
    }
    ExecuteOn where;
    where.steps = hops.size();
    const npy::Array got = execute(streamed.program, hops, where).outputs.back()[0];
    const npy::Array wanted = execute(window.program, {{sample(k)}}, {}).outputs[0][0];
    expected.add(values(wanted, 0.2, 5), values(got, 0.2, 5));
  }
  const std::vector<double> db = causal_db(over_all);
  ASSERT_EQ(db.size(), 1U);
  EXPECT_TRUE(std::isfinite(db[0]));
  EXPECT_NEAR(db[0], expected.db(), 0.1);
}

// Two units over six steps.
std::string recurrent(const std::string& kind, int rows, bool is_projected) {
  const auto numbers = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("{}{:.2f}", i == 0 ? "" : ", ", (i * 37 % 101) / 50.0 - 1);
    return text;
  };
  return fmt::format(
      "graph g\ninput %x : f32[6,1,2]\nconst %w : f32[{0},2] = [{1}]\nconst %v : f32[{0},{3}] = [{4}]\n"
      "const %p : f32[1,2] = [0.7, -0.6]\n"
      "node \"layer\" \"\" \"\"\n  %y : f32[6,1,{3}]{5} = aten.recurrent(input=%x, h=none, c=none, "
      "w_ih=%w, w_hh=%v, b_ih=none, b_hh=none, kind=\"{2}\", backwards=false{6})\noutput %y\n",
      rows, numbers(2 * rows), kind, is_projected ? 1 : 2, numbers(is_projected ? rows : 2 * rows),
      kind == "rnn_relu" ? "" : ", %kept : f32[1,2]", is_projected ? ", w_hr=%p" : "");
}

// From its beginning on, a stream of two hops is the sequence of both.
TEST(StreamCausal, RecurrentLayersGoOn) {
  struct {
    const char* kind;
    int rows;
    ops::Precision scheme;
    DType dtype;
    bool is_projected = false;
  } table[] = {
      {"lstm", 8, ops::Precision::w8a8, DType::i8},       {"gru", 6, ops::Precision::w8a8, DType::i8},
      {"rnn_relu", 2, ops::Precision::w8a8, DType::i8},   {"lstm", 8, ops::Precision::w8a8, DType::i8, true},
      {"lstm", 8, ops::Precision::w8a16, DType::i16},     {"gru", 6, ops::Precision::w8a16, DType::i16},
      {"rnn_relu", 2, ops::Precision::w8a16, DType::i16}, {"lstm", 8, ops::Precision::w8a16, DType::i16, true}};
  for (const auto& [kind, rows, scheme, dtype, is_projected] : table) {
    const bool is_wide = dtype == DType::i16;
    std::vector<ProgramFile> programs;
    for (const bool streams : {false, true}) {
      ir::Graph graph = ir::parse(recurrent(kind, rows, is_projected), "test");
      compiler::Options options;
      options.quantize = true;
      options.io = is_wide ? compiler::Io::int16 : compiler::Io::int8;
      options.scheme = scheme;
      if (streams) options.stream = passes::StreamOptions{0, 3, true};
      compiler::Compiled compiled = compiler::compile(graph, options);
      EXPECT_EQ(std::ranges::count_if(compiled.facts.operators,
                                      [](const auto& op) {
                                        return op.first.starts_with("cormorant::recurrent.") &&
                                               op.first.find("_words") != std::string::npos;
                                      }),
                is_wide ? 1 : 0);
      programs.push_back(program_from(std::move(compiled.program), "test.pte"));
    }
    npy::Array all{dtype, {6, 1, 2}, {}};
    for (int i = 0; i < (is_wide ? 24 : 12); ++i) all.data.push_back(static_cast<std::byte>(i * 97));
    const auto half = static_cast<std::ptrdiff_t>(all.data.size() / 2);
    const std::vector<std::byte> first(all.data.begin(), all.data.begin() + half),
        last(all.data.begin() + half, all.data.end());
    ExecuteOn where;
    where.steps = 2;
    const auto hops =
        execute(programs[1], {{npy::Array{dtype, {3, 1, 2}, first}}, {npy::Array{dtype, {3, 1, 2}, last}}}, where)
            .outputs;
    std::vector<std::byte> got = hops[0][0].data;
    got.insert(got.end(), hops[1][0].data.begin(), hops[1][0].data.end());
    EXPECT_EQ(got, execute(programs[0], {{all}}, {}).outputs[0][0].data) << kind;
  }
}

// Delay lines that take several entries at a time, a mean's sums, and a state for what needs the whole window.
TEST(Stream, SeveralEntriesAtATimeHaveTheHostsBitsOnBoards) {
  const Build build = [](Network& n) {
    n.conv(4, {3, 3}, {1, 1}, {1, 1}, {0, 1});
    n.conv(4, {3, 3}, {1, 1}, {2, 1}, {0, 1}, true);
    n.max_pool({2, 1}, {2, 1});
    n.mean({3});
    n.head(3);
  };
  for (const char* board : {"cortex-m4", "cortex-m0"}) {
    for (const std::int64_t hop : {2, 6}) {
      SCOPED_TRACE(fmt::format("{}, {} entries", board, hop));
      Network network;
      build(network);
      network.graph.add_output(network.value);
      compiler::Options options;
      options.config.target = parse_target(board);
      options.stream = passes::StreamOptions{2, hop};
      const ProgramFile program = program_from(compiler::compile(network.graph, options).program, "test.pte");
      std::vector<Arrays> hops;
      for (std::int64_t k = 0; k < kWindow / hop + 3; ++k) hops.push_back({entries(k * hop, hop)});
      ExecuteOn where;
      where.steps = hops.size();
      const Execution host = execute(program, hops, where);
      where.target = options.config.target;
      const Execution on_board = execute(program, hops, where);
      ASSERT_EQ(on_board.outputs.size(), host.outputs.size());
      for (std::size_t k = 0; k < hops.size(); ++k)
        EXPECT_EQ(on_board.outputs[k][0].data, host.outputs[k][0].data) << k;
    }
  }
}

TEST(Stream, SaysWhatCannotBeStreamed) {
  const Build padded = [](Network& n) { n.conv(2, {3, 3}, {1, 1}, {1, 1}, {1, 1}); };
  EXPECT_NE(error_of(padded, {2, 1}).find("pads the window's edge"), std::string::npos);
  EXPECT_NE(error_of(padded, {2, 1}).find("--stream-causal"), std::string::npos);
  EXPECT_EQ(error_of(padded, {2, 1, true}), "");
  const Build seen = [](Network& n) {
    n.pad(2, 0);
    n.conv(2, {3, 3});
    n.mean();
  };
  EXPECT_NE(error_of(seen, {2, 1}).find("reads the result"), std::string::npos);
  EXPECT_EQ(error_of(seen, {2, 1, true}), "");
  const Build strided = [](Network& n) { n.conv(2, {3, 1}, {2, 1}); };
  EXPECT_NE(error_of(strided, {2, 3}).find("are not a multiple of its stride of 2"), std::string::npos);
  EXPECT_NE(error_of(strided, {4, 2}).find("no axis 4"), std::string::npos);
  EXPECT_NE(error_of(strided, {2, 25}).find("does not fit a window of 24"), std::string::npos);
  EXPECT_EQ(error_of(strided, {-2, 2}), "");
  ir::Graph nothing;
  try {
    (void)passes::stream(nothing, {0, 1});
    ADD_FAILURE() << "a model without inputs was streamed";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("without inputs"), std::string::npos);
  }
}

}  // namespace
}  // namespace cormorant
