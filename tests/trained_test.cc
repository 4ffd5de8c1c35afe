// SPDX-License-Identifier: Apache-2.0
//
// Networks that were trained until channels withered (zoo/trained): what such channels ask of requantization must
// neither slow their layers down nor cost accuracy. Seeded weights have none of them.
#include <gtest/gtest.h>

#include "runner/process.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

class Trained : public testing::TestWithParam<std::string> {
 protected:
  nlohmann::json compile(const std::string& model, const std::string& target) {
    const Ran compiled =
        cormorant(directory_.path(), {"compile", zoo(model + ".pt2"), "--calibrate", zoo(model + "_calibration.npz"),
                                      "--io=int8", "--target", target, "--no-link", "-o", "model.pte", "--json"});
    EXPECT_EQ(compiled.status, 0) << compiled.err;
    return compiled.json();
  }
  nlohmann::json compile_and_run(const std::string& model, const std::string& target) {
    (void)compile(model, target);
    const Ran ran = cormorant(directory_.path(), {"run", "model.pte", "--target", target, "--json"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.json();
  }
  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};
INSTANTIATE_TEST_SUITE_P(Zoo, Trained, testing::Values("kws", "vww"), [](const auto& model) { return model.param; });

TEST_P(Trained, TakesNoMoreInstructionsThanSeededWeights) {
  for (const char* const target : {"cortex-m4", "cortex-m3"}) {
    const auto count = [&](const std::string& model) {
      return compile_and_run(model, target).at("instructions").at("execute").get<std::int64_t>();
    };
    EXPECT_LE(count("trained/" + GetParam()), count(GetParam())) << target;
  }
}

// Of 2,656,768 MACs and 28 KB, and of 7,489,664 MACs and 232 KB. Kernels of M55 read channels by words, so that some
// withered ones stay.
TEST_P(Trained, IsComputedWithoutWitheredChannels) {
  const struct {
    const char *model, *target;
    std::int64_t macs, constant_bytes;
  } table[] = {{"kws", "cortex-m55", 1946768, 23452},
               {"kws", "cortex-m0", 1873643, 21948},
               {"vww", "cortex-m55", 2174696, 89308},
               {"vww", "cortex-m0", 1794653, 81760}};
  for (const auto& [model, target, macs, constant_bytes] : table) {
    if (model != GetParam()) continue;
    const nlohmann::json facts = compile("trained/" + GetParam(), target);
    EXPECT_LE(facts.at("macs").get<std::int64_t>(), macs) << target;
    EXPECT_LE(facts.at("constant_bytes").get<std::int64_t>(), constant_bytes) << target;
  }
}

TEST_P(Trained, LosesNoAccuracy) {
  const std::string base = zoo("trained/" + GetParam());
  const Ran compiled = cormorant(path(), {"compile", base + ".pt2", "--calibrate", base + "_calibration.npz",
                                          "--target=cortex-m55", "--no-link", "-o", "model.pte"});
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  const Ran ran = cormorant(path(), {"evaluate", "model.pte", "--data", base + "_test.npz", "--float", base + ".pt2",
                                     "--target=cortex-m55", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const nlohmann::json scores = ran.json();
  EXPECT_GE(scores.at("float_accuracy").get<double>(), 0.9);
  EXPECT_GE(scores.at("accuracy").get<double>(), scores.at("float_accuracy").get<double>() - 0.01);
}

}  // namespace
}  // namespace cormorant::tests
