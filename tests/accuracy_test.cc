// SPDX-License-Identifier: Apache-2.0
//
// What quantization costs, in the board's arithmetic: on the emulated board that is fastest, and zoo_test finds the
// same bits on all others and on the host.
#include <gtest/gtest.h>

#include "runner/process.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

struct Limit {
  std::string model;
  double may_lose;  // of float accuracy
};

std::ostream& operator<<(std::ostream& out, const Limit& limit) { return out << limit.model; }

class Accuracy : public testing::TestWithParam<Limit> {};
INSTANTIATE_TEST_SUITE_P(Zoo, Accuracy, testing::Values(Limit{"digits", 0.001}, Limit{"fashion", 0.001}),
                         [](const auto& limit) { return limit.param.model; });

TEST_P(Accuracy, OfTheProgramIsThatOfTheFloatModel) {
  const auto& [model, may_lose] = GetParam();
  const TemporaryDirectory directory;
  const Ran compiled =
      cormorant(directory.path(), {"compile", zoo(model + ".pt2"), "--calibrate", zoo(model + "_calibration.npz"),
                                   "--target=cortex-m4", "-o", "model.pte"});
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  const Ran ran = cormorant(directory.path(), {"evaluate", "model.pte", "--data", zoo(model + "_test.npz"), "--float",
                                               zoo(model + ".pt2"), "--target=cortex-m4", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const nlohmann::json scores = ran.json();
  EXPECT_EQ(scores.at("samples"), 1000);
  constexpr double kRounding = 1e-9;  // 0.988 is not a binary fraction
  EXPECT_GE(scores.at("accuracy").get<double>(), scores.at("float_accuracy").get<double>() - may_lose - kRounding);
  EXPECT_GE(scores.at("float_accuracy").get<double>(), 0.9);
  EXPECT_GE(scores.at("agreement").get<double>(), 0.99);
  EXPECT_GE(scores.at("sqnr_db").get<double>(), 20);
}

}  // namespace
}  // namespace cormorant::tests
