// SPDX-License-Identifier: Apache-2.0
//
// --scheme: how many bits layers get, what is said where they get others, and what it costs in accuracy.
#include <gtest/gtest.h>

#include <fstream>

#include "runner/process.h"
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
  double may_lose;       // of float accuracy
  double least_sqnr_db;  // of what varies with the input
};
std::ostream& operator<<(std::ostream& out, const Expected& e) { return out << e.model << " " << e.scheme; }

class SchemeOnZoo : public testing::TestWithParam<Expected> {};
INSTANTIATE_TEST_SUITE_P(Zoo, SchemeOnZoo,
                         testing::Values(Expected{"digits", "8w16a", 0.001, 45}, Expected{"digits", "4w8a", 0.006, 20}),
                         [](const auto& e) { return e.param.model + "_" + e.param.scheme; });

TEST_P(SchemeOnZoo, KeepsTheAccuracyOfTheFloatModel) {
  const Expected& e = GetParam();
  const TemporaryDirectory directory;
  const Ran compiled = cormorant(directory.path(), compile(e.model, {"--scheme=" + e.scheme}));
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  EXPECT_EQ(compiled.json().at("scheme"), e.scheme);
  EXPECT_TRUE(compiled.json().at("float_operators").empty());
  const Ran ran = cormorant(directory.path(), {"evaluate", "model.pte", "--data", zoo(e.model + "_test.npz"), "--float",
                                               zoo(e.model + ".pt2"), "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const nlohmann::json scores = ran.json();
  constexpr double kRounding = 1e-9;
  EXPECT_GE(scores.at("accuracy").get<double>(), scores.at("float_accuracy").get<double>() - e.may_lose - kRounding);
  EXPECT_GE(scores.at("sqnr_db").get<double>(), e.least_sqnr_db);
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
  // Conversions at the borders, none inside.
  EXPECT_EQ(explained.at("operators").at("cormorant::requantize.words"), 2);
}

TEST(SchemeOfLayers, ThatAnOperatorDoesNotHaveIsAnErrorWithWhatItHas) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "layers.txt") << "blocks.1.1 4w8a\n";  // depthwise
  const Ran ran = cormorant(directory.path(), compile("kws", {"--layers=layers.txt"}));
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.err.find("layers.txt:1"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("4w8a"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("it can be float, 8w8a, 8w16a"), std::string::npos) << ran.err;
}

TEST(SchemeOfLayers, OfFourBitsLeavesEndsAndDepthwiseLayersAloneAndSaysSo) {
  const TemporaryDirectory directory;
  const Ran ran = cormorant(directory.path(), compile("kws", {"--scheme=4w8a"}));
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
