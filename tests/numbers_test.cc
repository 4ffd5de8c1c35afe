// SPDX-License-Identifier: Apache-2.0
//
// Numbers at the edge: infinity in a mask, NaN and infinity where they mean nothing, scales of 0 or close to it, data
// that never changes. Each gives a program or an error that says what is wrong.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "evaluate/graph.h"
#include "runtime/host.h"
#include "target/parse.h"

namespace cormorant::tests {
namespace {

constexpr std::size_t kTokens = 4, kWidth = 8;

// Scores of up to `scale` times sixty, a causal mask, softmax.
std::string attention(double scale, const char* masked) {
  std::string mask;
  for (std::size_t r = 0; r < kTokens; ++r) {
    for (std::size_t c = 0; c < kTokens; ++c) mask += (mask.empty() ? "" : ", ") + std::string(c > r ? masked : "0.0");
  }
  return "graph forward\ninput %x : f32[1,4,8]\nconst %m : f32[4,4] = [" + mask +
         "]\nnode \"scores\" \"\" \"\"\n  %s : f32[1,4,4] = aten.bmm(self=%x, mat2=%x, transposed=true, scale=" +
         std::to_string(scale) +
         ")\nnode \"masked\" \"\" \"\"\n  %a : f32[1,4,4] = aten.add(self=%s, other=%m, alpha=1.0)\n"
         "node \"softmax\" \"\" \"\"\n  %y : f32[1,4,4] = aten.softmax(self=%a, dim=2)\noutput %y\n";
}

std::vector<float> sample(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(kTokens * kWidth);
  for (float& value : values) value = static_cast<float>(random() % 2001) / 1000.0F - 1.0F;
  return values;
}

std::vector<float> run(const std::string& text, bool quantize, const std::vector<float>& input) {
  ir::Graph graph = compiler::import_text(text, "attention.txt");
  compiler::Options options;
  options.config.target = parse_target("cortex-m55", "");
  options.quantize = quantize;
  options.calibration = {
      16, [](std::size_t i) {
        return quantizer::Sample{evaluate::Tensor({1, kTokens, kWidth}, sample(static_cast<unsigned>(i)))};
      }};
  HostProgram program(compiler::compile(graph, options).program, ops::host_kernels());
  std::vector<std::vector<std::byte>> inputs(1, std::vector<std::byte>(input.size() * sizeof(float)));
  std::memcpy(inputs[0].data(), input.data(), inputs[0].size());
  const std::vector<std::byte> output = program.run(inputs).at(0);
  std::vector<float> values(output.size() / sizeof(float));
  std::memcpy(values.data(), output.data(), output.size());
  return values;
}

TEST(Mask, ScoresThatMustNotCountDoNot) {
  for (const double scale : {0.1, 1.0, 20.0}) {
    for (const char* masked : {"-inf", "-1e9"}) {
      const std::vector<float> exact = run(attention(scale, masked), false, sample(3));
      const std::vector<float> rounded = run(attention(scale, masked), true, sample(3));
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const bool is_masked = i % kTokens > i / kTokens;
        if (is_masked) {
          EXPECT_EQ(exact[i], 0.0F) << scale << " " << i;
        }
        if (is_masked) {
          EXPECT_EQ(rounded[i], 0.0F) << scale << " " << i;
        }
        // The scores' step is a 255th of their range, which a softmax of large ones magnifies.
        EXPECT_NEAR(rounded[i], exact[i], scale > 1 ? 0.6 : 0.05) << scale << " " << i;
      }
    }
  }
}

// Which tokens count is computed, as of a sentence's padding; the numbers that say so are moved to where they are
// added, in two layers whose scores reach differently far.
TEST(Mask, ComputedOnesServeSeveralLayers) {
  std::string text = R"(graph forward
input %x : f32[1,4,8]
const %t : f32[] = [-0.5]
const %m : f32[] = [-inf]
const %z : f32[1,4] = [0.0, 0.0, 0.0, 0.0]
node "first" "" ""
  %f : f32[1,4,1] = aten.slice(self=%x, dim=2, start=0, end=1, step=1)
node "flat" "" ""
  %g : f32[1,4] = aten.view(self=%f, size=[1, 4])
node "empty" "" ""
  %e : bool[1,4] = aten.lt.Tensor_out(self=%g, other=%t)
node "mask" "" ""
  %n : f32[1,4] = aten.where.self_out(condition=%e, self=%m, other=%z)
)";
  for (const auto& [name, scale] : {std::pair("far", "20.0"), std::pair("near", "0.1")}) {
    const std::string n = name;
    text += "node \"line\" \"\" \"\"\n  %l" + n + " : f32[1,1,4] = aten.view(self=%n, size=[1, 1, 4])\n" +
            "node \"each\" \"\" \"\"\n  %h" + n + " : f32[1,4,4] = aten.expand(self=%l" + n + ", size=[1, 4, 4])\n" +
            "node \"scores\" \"\" \"\"\n  %s" + n +
            " : f32[1,4,4] = aten.bmm(self=%x, mat2=%x, transposed=true, scale=" + scale +
            ")\nnode \"masked\" \"\" \"\"\n  %a" + n + " : f32[1,4,4] = aten.add(self=%s" + n + ", other=%h" + n +
            ", alpha=1.0)\nnode \"softmax\" \"\" \"\"\n  %y" + n + " : f32[1,4,4] = aten.softmax(self=%a" + n +
            ", dim=2)\n";
  }
  text += "node \"both\" \"\" \"\"\n  %y : f32[1,8,4] = aten.cat(tensors={%ynear, %yfar}, dim=1)\noutput %y\n";
  std::size_t masked = 0;
  for (const unsigned seed : {0U, 2U, 7U}) {
    const std::vector<float> x = sample(seed);
    const std::vector<float> exact = run(text, false, x);
    const std::vector<float> rounded = run(text, true, x);
    ASSERT_EQ(rounded.size(), 2 * kTokens * kTokens);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_NEAR(rounded[i], exact[i], i < kTokens * kTokens ? 0.05 : 0.6) << seed << " " << i;
      if (x[i % kTokens * kWidth] >= -0.5F) continue;
      EXPECT_EQ(exact[i], 0.0F) << seed << " " << i;
      EXPECT_EQ(rounded[i], 0.0F) << seed << " " << i;
      ++masked;
    }
  }
  EXPECT_GT(masked, 0U);
}

// One linear layer with this weight, first bias and calibration data; the error of compiling it.
std::string said_of(const std::string& weight, const std::string& bias, const std::vector<float>& data,
                    bool quantize = true) {
  const std::string text =
      "graph forward\ninput %x : f32[1,2]\nconst %w : f32[1,2] = [" + weight + ", 0.5]\nconst %b : f32[1] = [" + bias +
      "]\nnode \"layer\" \"head\" \"net.py:3\"\n  %y : f32[1,1] = aten.linear(input=%x, weight=%w, "
      "bias=%b)\noutput %y\n";
  try {
    ir::Graph graph = compiler::import_text(text, "layer.txt");
    compiler::Options options;
    options.config.target = parse_target("cortex-m55", "");
    options.quantize = quantize;
    options.calibration = {data.size() / 2, [&](std::size_t i) {
                             return quantizer::Sample{evaluate::Tensor({1, 2}, {data[2 * i], data[2 * i + 1]})};
                           }};
    HostProgram(compiler::compile(graph, options).program, ops::host_kernels()).run({});
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(Numbers, OddOnesGiveAProgramOrAReason) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> usual = {0.1F, 0.2F, -0.3F, 0.4F};
  const struct {
    const char *weight, *bias;
    std::vector<float> data;
    const char* says;  // "": it compiles
  } rows[] = {
      {"0.25", "0.0", usual, ""},
      {"nan", "0.0", usual, "an infinity or NaN"},
      {"inf", "0.0", usual, "an infinity or NaN"},
      {"0.25", "nan", usual, "an infinity or NaN"},
      {"0.25", "0.0", {kNaN, 0.0F}, "an infinity or NaN for calibration sample 0"},
      {"0.25", "0.0", {0.0F, kInfinity}, "an infinity or NaN for calibration sample 0"},
      {"0.25", "0.0", {0.0F, 0.0F}, ""},  // data that never changes
      {"0.25", "0.0", {1.0F, 1.0F, 1.0F, 1.0F}, ""},
      {"0.0", "0.0", usual, ""},    // weights that are nothing
      {"1e-42", "0.0", usual, ""},  // denormal
      {"1e-20", "0.0", {1e-30F, 1e-30F}, "with this scale"},
      {"1e30", "0.0", {1e30F, 1e30F}, "an infinity or NaN"},
      {"1e18", "1e30", {1e18F, 1e18F}, "with this scale"},
      {"0.25", "1e30", usual, ""},  // a bias beyond all products
  };
  for (const auto& row : rows) {
    const std::string said = said_of(row.weight, row.bias, row.data);
    SCOPED_TRACE(std::string(row.weight) + " " + row.bias);
    if (*row.says == '\0') {
      EXPECT_EQ(said, "");
    } else {
      EXPECT_NE(said.find(row.says), std::string::npos) << said;
    }
    EXPECT_EQ(said_of(row.weight, row.bias, row.data, false), "") << "in float";
  }
}

TEST(Numbers, ScalesOfNothingAreRefused) {
  const auto said_of_text = [](const std::string& text) -> std::string {
    try {
      ir::Graph graph = compiler::import_text(text, "scale.txt");
      compiler::Options options;
      options.config.target = parse_target("cortex-m55", "");
      static_cast<void>(compiler::compile(graph, options));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const struct {
    const char *scale, *says;
  } rows[] = {{"0.0", "not positive"},
              {"-1.0", "not positive"},
              {"nan", "not positive"},
              {"inf", "not positive"},
              {"1e-310", "1e-310, which"},
              {"1e300", "1e+300, which is out of range"},
              {"1e30", ""},
              {"1e-30", ""}};
  for (const auto& [scale, says] : rows) {
    // A table can be made of any scale, a convolution's factor is a number of 31 bits and a shift.
    const std::string input = std::string("graph forward\ninput %x : i8[1,2,1,1] quant([") + scale + "], [0])\n";
    const std::string table = input +
                              "node \"n\" \"\" \"\"\n  %y : i8[1,2,1,1] quant([0.5], [0]) = "
                              "aten.sigmoid(self=%x)\noutput %y\n";
    const std::string convolution =
        input +
        "const %w : i8[1,2,1,1] quant(axis 0, range -127 127, [0.5], [0]) = [1, 2]\n"
        "node \"n\" \"\" \"\"\n  %y : i8[1,1,1,1] quant([0.5], [0]) = aten.conv2d(input=%x, weight=%w, bias=none, "
        "stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)\noutput %y\n";
    const bool is_too_large = std::string_view(scale) == "1e30";
    for (const auto& [text, expected] :
         {std::pair(table, std::string(says)),
          std::pair(convolution, std::string(is_too_large ? "scale is too small" : says))}) {
      const std::string said = said_of_text(text);
      if (expected.empty()) {
        EXPECT_EQ(said, "") << text;
      }
      EXPECT_NE(said.find(expected), std::string::npos) << text << said;
    }
  }
}

}  // namespace
}  // namespace cormorant::tests
