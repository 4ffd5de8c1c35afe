// SPDX-License-Identifier: Apache-2.0
//
// --scheme: how many bits layers get, what is reported if they differ, and what it costs in accuracy.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <random>

#include "formats/npy/npy.h"
#include "runner/process.h"
#include "tests/check.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

std::vector<std::string> compile(const std::string& model, std::vector<std::string> more) {
  std::vector<std::string> words = {"compile",
                                    zoo(model + ".pt2"),
                                    "--calibrate",
                                    zoo(model + "_calibration.npz"),
                                    "--target=cortex-m4",
                                    "-o",
                                    "model.pte",
                                    "--no-link",
                                    "--explain",
                                    "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

struct Expected {
  std::string model, scheme;
  double may_lose;        // of float accuracy
  double least_accuracy;  // on the test images
  double least_sqnr_db;   // of what varies with the input
};
std::ostream& operator<<(std::ostream& out, const Expected& e) { return out << e.model << " " << e.scheme; }

class SchemeOnZoo : public testing::TestWithParam<Expected> {};
std::vector<Expected> expected() {
  std::vector<Expected> all = {{"digits", "8w16a", 0.001, 0.988, 45}, {"digits", "4w8a", 0.006, 0.983, 20}};
  if (is_check()) {
    all.push_back({"fashion", "8w16a", 0.001, 0.93, 45});
    all.push_back({"fashion", "4w8a", 0.011, 0.92, 20});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Zoo, SchemeOnZoo, testing::ValuesIn(expected()),
                         [](const auto& e) { return e.param.model + "_" + e.param.scheme; });

TEST_P(SchemeOnZoo, KeepsTheAccuracyOfTheFloatModel) {
  const Expected& e = GetParam();
  const TemporaryDirectory directory;
  const Ran compiled = cormorant(directory.path(), compile(e.model, {"--scheme=" + e.scheme}));
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  EXPECT_EQ(compiled.json().at("scheme"), e.scheme);
  EXPECT_EQ(compiled.err.find("4-bit weights take RAM") != std::string::npos, e.scheme == "4w8a") << compiled.err;
  EXPECT_TRUE(compiled.json().at("float_operators").empty());
  const Ran ran = cormorant(directory.path(), {"evaluate", "model.pte", "--data", zoo(e.model + "_test.npz"), "--float",
                                               zoo(e.model + ".pt2"), "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const nlohmann::json scores = ran.json();
  constexpr double kRounding = 1e-9;
  EXPECT_GE(scores.at("accuracy").get<double>(), scores.at("float_accuracy").get<double>() - e.may_lose - kRounding);
  EXPECT_GE(scores.at("accuracy").get<double>(), e.least_accuracy - kRounding);
  EXPECT_GE(scores.at("sqnr_db").get<double>(), e.least_sqnr_db);
}

// Attention, normalization and recurrent layers have 16-bit activations like all else: nothing falls back. On samples
// that calibration has not seen. The denoiser with float activations has 48.6 dB.
TEST(SchemeOnTransformersAndRecurrences, IsThatOfEveryNode) {
  const TemporaryDirectory directory;
  struct {
    std::string model, samples;
    std::vector<std::string> more;
    double least_sqnr_db;
  } table[] = {{"architectures/vit", "_expected.npz", {}, 37},
               {"listening/anomaly", "_test.npz", {"--sequence"}, 37},
               {"listening/denoiser", "_test.npz", {"--sequence"}, 48}};
  for (const auto& t : table) {
    std::vector<std::string> options = t.more;
    options.emplace_back("--scheme=8w16a");
    const Ran compiled = cormorant(directory.path(), compile(t.model, options));
    ASSERT_EQ(compiled.status, 0) << compiled.err;
    const nlohmann::json explained = compiled.json();
    for (const auto& node : explained.at("nodes")) {
      if (node.contains("precision")) {
        EXPECT_EQ(node.at("precision"), "8w16a") << node;
      }
    }
    std::vector<std::string> evaluation = {"evaluate", "model.pte",           "--data", zoo(t.model + t.samples),
                                           "--float",  zoo(t.model + ".pt2"), "--json"};
    evaluation.insert(evaluation.end(), t.more.begin(), t.more.end());
    const Ran ran = cormorant(directory.path(), evaluation);
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_GE(ran.json().at("sqnr_db").get<double>(), t.least_sqnr_db) << t.model;
  }
}

TEST(SchemeOfLayers, IsWhatTheFileSays) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "layers.txt") << "blocks.1 8w16a\n";
  const Ran ran = cormorant(directory.path(), compile("kws", {"--layers=layers.txt"}));
  ASSERT_EQ(ran.status, 0) << ran.err;
  int wide = 0, narrow = 0;
  const nlohmann::json explained = ran.json();
  for (const auto& node : explained.at("nodes")) {
    if (!node.contains("precision") || !node.contains("weights")) continue;
    const bool is_meant = node.at("source").get<std::string>().starts_with("blocks.1");
    EXPECT_EQ(node.at("precision"), is_meant ? "8w16a" : "8w8a") << node;
    (is_meant ? wide : narrow) += 1;
  }
  EXPECT_EQ(wide, 2);
  EXPECT_GT(narrow, 2);
  // Conversions at the inputs and outputs, none inside.
  EXPECT_EQ(explained.at("operators").at("cormorant::requantize.words"), 2);
}

TEST(SchemeOfLayers, ThatAnOperatorDoesNotHaveIsAnErrorWithWhatItHas) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "layers.txt") << "*lstm 4w8a\n";
  const Ran ran = cormorant(directory.path(), compile("listening/anomaly", {"--sequence", "--layers=layers.txt"}));
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.err.find("layers.txt:1"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("4w8a"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("it can be float, 8w8a, 8w16a"), std::string::npos) << ran.err;
}

TEST(SchemeOfLayers, OfFourBitsIsForDepthwiseLayersIfTheyAreNamed) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "layers.txt") << "blocks.1.1 4w8a\n";
  const Ran ran = cormorant(directory.path(), compile("kws", {"--layers=layers.txt"}));
  ASSERT_EQ(ran.status, 0) << ran.err;
  const nlohmann::json operators = ran.json().at("operators");
  int depthwise = 0;
  for (const auto& [name, count] : operators.items()) {
    if (name.starts_with("cormorant::depthwise_conv2d.") && name.ends_with("_nibbles")) depthwise += count.get<int>();
  }
  EXPECT_EQ(depthwise, 1) << operators.dump(1);
}

TEST(SchemeOfLayers, OfFourBitsLeavesEndsAndDepthwiseLayersAloneAndSaysSo) {
  const TemporaryDirectory directory;
  const Ran ran = cormorant(directory.path(), compile("digits", {"--scheme=4w8a"}));
  ASSERT_EQ(ran.status, 0) << ran.err;
  int four = 0, instead = 0;
  const nlohmann::json explained = ran.json();
  for (const auto& node : explained.at("nodes")) {
    if (!node.contains("weights")) continue;
    if (node.at("precision") == "4w8a") {
      ++four;
      EXPECT_TRUE(node.at("weights").get<std::string>().starts_with("int4")) << node;
    } else {
      ++instead;
      EXPECT_TRUE(node.contains("instead")) << node;
    }
  }
  EXPECT_EQ(four, 4);     // the pointwise convolutions
  EXPECT_EQ(instead, 6);  // four depthwise ones, stem and classifier
  std::vector<std::string> without_json = compile("digits", {"--scheme=4w8a"});
  std::erase_if(without_json,
                [](const std::string& argument) { return argument == "--json" || argument == "--explain"; });
  const std::string summary = cormorant(directory.path(), without_json).out;
  EXPECT_NE(summary.find("4 operators; these have 8 bits instead:\n"), std::string::npos) << summary;
  EXPECT_NE(summary.find("depthwise layers keep 8 bits: blocks.0.conv, blocks.2.conv,"), std::string::npos) << summary;
  EXPECT_NE(
      summary.find("first and last layers keep 8 bits unless --layer-settings says otherwise: stem.conv, classifier"),
      std::string::npos)
      << summary;
  EXPECT_EQ(summary.find("it has no weights"), std::string::npos) << summary;

  // The same bits asked for layer by layer are the same program.
  const std::string by_scheme = read_text(directory.path() / "model.pte");
  std::ofstream(directory.path() / "layers.txt") << "blocks.1.conv 4w8a\nblocks.3.conv 4w8a\nblocks.5.conv 4w8a\n"
                                                    "blocks.7.conv 4w8a\n";
  ASSERT_EQ(cormorant(directory.path(), compile("digits", {"--layers=layers.txt"})).status, 0);
  EXPECT_EQ(read_text(directory.path() / "model.pte"), by_scheme);
}

// Four pointwise convolutions over an image of 4 by 4, and what they are calibrated with.
class SchemeAuto : public testing::Test {
 protected:
  static constexpr int kChannels = 24, kSamples = 16, kLayers = 4;

  void SetUp() override {
    std::ofstream model(directory_.path() / "model.txt");
    model << fmt::format("graph forward\ninput %x0 : f32[1,{},4,4]\n", kChannels);
    for (int k = 0; k < kLayers; ++k) {
      std::vector<double> weights(std::size_t{kChannels} * kChannels);
      for (double& weight : weights) weight = number() / 4;
      model << fmt::format("const %w{} : f32[{},{},1,1] = [{}]\n", k, kChannels, kChannels, fmt::join(weights, ", "));
    }
    for (int k = 0; k < kLayers; ++k) {
      model << fmt::format(
          "node \"conv_{0}\" \"layers.{0}\" \"m.py:{0}\"\n  %x{1} : f32[1,{2},4,4] = aten.conv2d(input=%x{0}, "
          "weight=%w{0}, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)\n",
          k, k + 1, kChannels);
    }
    model << fmt::format("output %x{}\n", kLayers);
    npy::Array data{DType::f32, {kSamples, 1, kChannels, 4, 4}, {}};
    std::vector<float> values(std::size_t{kSamples} * kChannels * 16);
    for (float& value : values) value = static_cast<float>(number());
    data.data.resize(values.size() * sizeof(float));
    std::memcpy(data.data.data(), values.data(), data.data.size());
    npy::write_npz((directory_.path() / "data.npz").string(), {{"x0", std::move(data)}});
  }

  Ran compile(const std::vector<std::string>& more) {
    Arguments words = {"compile", "model.txt", "--calibrate", "data.npz",  "--target=cortex-m4",
                       "-o",      "model.pte", "--no-link",   "--explain", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return cormorant(directory_.path(), words);
  }

  // A leaky ReLU after every convolution but the last.
  void add_slopes() {
    std::string model = read_text(directory_.path() / "model.txt");
    for (int k = 1; k < kLayers; ++k) {
      const std::string reads = fmt::format("input=%x{}, ", k);
      model.replace(model.find(reads), reads.size(), fmt::format("input=%r{}, ", k));
      model.insert(model.find(fmt::format("node \"conv_{}\"", k)),
                   fmt::format("node \"slope_{0}\" \"layers.{2}.slope\" \"m.py:{0}\"\n  %r{0} : f32[1,{1},4,4] = "
                               "aten.leaky_relu(self=%x{0}, negative_slope=0.25)\n",
                               k, kChannels, k - 1));
    }
    write_text(directory_.path() / "model.txt", model);
  }

  // A PReLU after the last convolution, with a slope per channel.
  void end_with_prelu() {
    std::string model = read_text(directory_.path() / "model.txt");
    const std::string output = fmt::format("output %x{}", kLayers);
    model.replace(model.find(output), output.size(),
                  fmt::format("node \"prelu\" \"layers.3.prelu\" \"m.py:9\"\n  %p : f32[1,{},4,4] = "
                              "aten.prelu(self=%x{}, weight=%slopes)\noutput %p",
                              kChannels, kLayers));
    std::vector<double> slopes(kChannels);
    for (double& slope : slopes) slope = number() / 4;
    model.insert(model.find("node"),
                 fmt::format("const %slopes : f32[{}] = [{}]\n", kChannels, fmt::join(slopes, ", ")));
    write_text(directory_.path() / "model.txt", model);
  }

  static std::map<std::string, int> layers_by_precision(const nlohmann::json& compiled) {
    std::map<std::string, int> counts;
    for (const auto& layer : compiled.at("bits").at("layers")) ++counts[layer.at("precision").get<std::string>()];
    return counts;
  }

  TemporaryDirectory directory_;

 private:
  double number() { return static_cast<double>(generator_()) / 0x1p31 - 1; }

  std::mt19937 generator_;
};

TEST_F(SchemeAuto, HasTheBestThatFitsTheFlash) {
  const nlohmann::json plain = compile({}).json();
  const auto constants = plain.at("constant_bytes").get<std::int64_t>();
  const auto limit = plain.at("model_bytes").get<std::int64_t>() - constants / 8;
  const Ran ran = compile({"--scheme=auto", fmt::format("--budget=flash={}", limit)});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const nlohmann::json json = ran.json();
  EXPECT_EQ(json.at("scheme"), "auto");
  EXPECT_LE(json.at("model_bytes").get<std::int64_t>(), limit);
  EXPECT_EQ(json.at("bits").at("flash"), json.at("model_bytes"));  // nothing is linked
  EXPECT_EQ(json.at("bits").at("flash_8w8a"), plain.at("model_bytes"));
  EXPECT_GE(layers_by_precision(json)["4w8a"], 1);
  EXPECT_LE(layers_by_precision(json)["4w8a"], 3);
  // The measured program is the one that is written.
  EXPECT_NEAR(json.at("bits").at("sqnr_db").get<double>(), json.at("calibration").at("sqnr_db").at(0).get<double>(),
              1e-6);
  std::int64_t saved = 0;
  for (const auto& layer : json.at("bits").at("layers")) {
    saved += layer.at("weight_bytes_8w8a").get<std::int64_t>() - layer.at("weight_bytes").get<std::int64_t>();
    const bool is_narrow = layer.at("precision") == "4w8a";
    EXPECT_EQ(layer.at("weight_bytes").get<int>(), kChannels * kChannels / (is_narrow ? 2 : 1));
    if (is_narrow) {
      EXPECT_LT(layer.at("alone_db").get<double>(), layer.at("alone_db_8w8a").get<double>());
    }
  }
  EXPECT_GE(saved, constants / 8);
}

TEST_F(SchemeAuto, KeepsAnSqnrWithTheBitsItTakes) {
  const Ran plain = compile({"--min-sqnr=1"});
  ASSERT_EQ(plain.status, 0) << plain.err;
  const auto plain_db = plain.json().at("calibration").at("sqnr_db").at(0).get<double>();
  const auto auto_with = [&](double wanted) {
    const Ran ran = compile({"--scheme=auto", fmt::format("--min-sqnr={}", wanted)});
    EXPECT_EQ(ran.status, 0) << ran.err;
    const nlohmann::json json = ran.json();
    EXPECT_GE(json.at("calibration").at("sqnr_db").at(0).get<double>(), wanted);
    return json;
  };
  const nlohmann::json low = auto_with(plain_db - 20), high = auto_with(plain_db + 1);
  EXPECT_GE(layers_by_precision(low)["4w8a"], 1);
  EXPECT_LT(low.at("model_bytes"), plain.json().at("model_bytes"));
  EXPECT_GE(layers_by_precision(high)["8w16a"], 1);
  for (const char* const limit : {"--min-sqnr=nan", "--min-sqnr=inf"}) EXPECT_EQ(compile({limit}).status, 2) << limit;
  const Ran check = compile({fmt::format("--min-sqnr={}", plain_db + 1)});
  EXPECT_EQ(check.status, 1);  // in 8w8a
  EXPECT_NE(check.err.find("--scheme=auto"), std::string::npos) << check.err;
}

// Only 8w8a has kernels for convolutions with slopes, so its program may be better than any with bits per layer.
TEST_F(SchemeAuto, NeverLosesAgainst8w8aWithFusedSlopes) {
  add_slopes();
  const nlohmann::json plain = compile({"--min-sqnr=1"}).json();
  EXPECT_FALSE(plain.at("operators").contains("cortex_m::quantized_activation.out"));  // fused
  const auto db_of = [](const nlohmann::json& json) {
    return json.at("calibration").at("sqnr_db").at(0).get<double>();
  };
  const double wanted = db_of(plain) - 0.5;
  const Ran ran = compile({"--scheme=auto", fmt::format("--min-sqnr={}", wanted)});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const nlohmann::json json = ran.json();
  EXPECT_EQ(json.at("bits").at("flash_8w8a"), plain.at("model_bytes"));
  EXPECT_NEAR(json.at("bits").at("sqnr_db_8w8a").get<double>(), db_of(plain), 0.01);
  EXPECT_LE(json.at("model_bytes").get<int>(), plain.at("model_bytes").get<int>());
  EXPECT_GE(db_of(json), wanted);
}

// Whether they are to keep it, or do so by themselves: the first and the last of a network in 4w8a.
TEST_F(SchemeAuto, LayersThatKeep8w8aHaveTheirSlopesFused) {
  add_slopes();
  const auto activations = [&](const std::vector<std::string>& more) {
    const nlohmann::json json = compile(more).json();
    return json.at("operators").value("cortex_m::quantized_activation.out", 0);
  };
  EXPECT_EQ(activations({"--scheme=4w8a"}), 2);
  write_text(directory_.path() / "layers.txt", "layers.1 8w8a\n");
  EXPECT_EQ(activations({"--scheme=4w8a", "--layers=layers.txt"}), 1);
  write_text(directory_.path() / "layers.txt", "layers.0 4w8a\n");
  EXPECT_EQ(activations({"--scheme=4w8a", "--layers=layers.txt"}), 3);
  EXPECT_EQ(activations({"--layers=layers.txt"}), 1);
}

// Its slopes are no layer's weights: 4 bits are neither for them nor an error, and the layer before it is the last.
TEST_F(SchemeAuto, APreluIsNoLayerOfItsOwn) {
  end_with_prelu();
  const auto four_bits = [&](const std::vector<std::string>& more) {
    const Ran ran = compile(more);
    EXPECT_EQ(ran.status, 0) << ran.err;
    std::vector<std::string> names;
    const nlohmann::json json = ran.json();
    for (const auto& node : json.at("nodes")) {
      if (node.value("precision", "") == "4w8a") names.push_back(node.at("node").get<std::string>());
    }
    return names;
  };
  EXPECT_EQ(four_bits({"--scheme=4w8a"}), (std::vector<std::string>{"conv_1", "conv_2"}));
  write_text(directory_.path() / "layers.txt", "layers.3 4w8a\n");  // both of its modules
  EXPECT_EQ(four_bits({"--layers=layers.txt"}), (std::vector<std::string>{"conv_3"}));
}

// What a scheme does not reach need not have 8 bits.
TEST(SchemeOfLayers, NamesWhatHas16BitsInstead) {
  const TemporaryDirectory directory;
  std::vector<double> weights(20);
  for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = static_cast<double>(k % 7) / 7 - 0.5;
  write_text(
      directory.path() / "model.txt",
      fmt::format("graph forward\ninput %x : f32[1,4]\nconst %w : f32[5,4] = [{}]\n"
                  "node \"fc\" \"fc\" \"m.py:1\"\n  %fc : f32[1,5] = aten.linear(input=%x, weight=%w, bias=none)\n"
                  "node \"scores\" \"scores\" \"m.py:2\"\n  %s : f32[1,5] = aten.log_softmax(self=%fc, dim=1)\n"
                  "output %s\n",
                  fmt::join(weights, ", ")));
  const Ran ran = cormorant(directory.path(), {"compile", "model.txt", "--quantize", "--scheme=4w8a",
                                               "--target=cortex-m4", "-o", "model.pte", "--no-link"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const std::size_t narrow = ran.out.find("; these have 8 bits instead:\n              first and last layers"),
                    wide = ran.out.find(
                        "\n                          these have 16-bit activations instead:\n"
                        "              a log_softmax that the model returns needs more than 8 bits: scores\n");
  EXPECT_LT(narrow, wide) << ran.out;
  EXPECT_NE(wide, std::string::npos) << ran.out;
}

TEST_F(SchemeAuto, NamesTheNearestWhereALimitCannotBeMet) {
  const auto advised = [](const std::string& err, const std::string& option) {
    const std::size_t at = err.rfind(option);
    return at == std::string::npos ? "" : err.substr(at, err.find_first_of(", \n", at) - at);
  };
  for (const char* const limit : {"--budget=flash=", "--min-sqnr="}) {
    const Ran refused = compile({"--scheme=auto", std::string(limit) + "500"});
    EXPECT_EQ(refused.status, 1);
    const Ran nearest = compile({"--scheme=auto", advised(refused.err, limit)});
    EXPECT_EQ(nearest.status, 0) << refused.err << nearest.err;
  }
  const Ran both = compile({"--scheme=auto", "--budget=flash=3000", "--min-sqnr=40"});
  EXPECT_EQ(both.status, 1);
  EXPECT_NE(both.err.find("--budget=flash="), std::string::npos) << both.err;
  EXPECT_NE(both.err.find("dB"), std::string::npos) << both.err;
}

TEST(Scheme, RefusesWhatContradictsIt) {
  const TemporaryDirectory directory;
  const Ran io = cormorant(directory.path(), compile("kws", {"--scheme=8w16a", "--io=int8"}));
  EXPECT_EQ(io.status, 2);
  EXPECT_NE(io.err.find("--io=int16"), std::string::npos) << io.err;
  const Ran runtime = cormorant(directory.path(), compile("kws", {"--scheme=8w16a", "--runtime=executorch"}));
  EXPECT_EQ(runtime.status, 1);
  EXPECT_NE(runtime.err.find("with 16-bit activations"), std::string::npos) << runtime.err;
  const Ran unknown = cormorant(directory.path(), compile("kws", {"--scheme=2w2a"}));
  EXPECT_EQ(unknown.status, 2);
}

}  // namespace
}  // namespace cormorant::tests
