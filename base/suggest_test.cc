// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace cormorant {
namespace {

TEST(Suggest, CountsWhatFingersDo) {
  EXPECT_EQ(distance("target", "target"), 0U);
  EXPECT_EQ(distance("traget", "target"), 1U);
  EXPECT_EQ(distance("targt", "target"), 1U);
  EXPECT_EQ(distance("Cortex-M55", "cortex-m55"), 0U);
  EXPECT_EQ(distance("", "abc"), 3U);
  EXPECT_EQ(distance("kitten", "sitting"), 3U);
}

TEST(Suggest, NamesTheNearestWordOrNone) {
  const std::vector<std::string> words = {"compile", "run", "inspect", "evaluate"};
  using Names = std::vector<std::string>;
  EXPECT_EQ(nearest("complie", words), Names{"compile"});
  EXPECT_EQ(nearest("rnu", words), Names{"run"});
  EXPECT_EQ(nearest("EVALUTE", words), Names{"evaluate"});
  EXPECT_EQ(nearest("quantize", words), Names());
  EXPECT_EQ(nearest("", words), Names());
  EXPECT_EQ(nearest(std::string(10000, 'r'), words), Names());
  EXPECT_EQ(did_you_mean("inspct", words), "; did you mean 'inspect'?");
  EXPECT_EQ(did_you_mean("zebra", words), "");
}

TEST(Suggest, TakesTheBeginningOfANameForIt) {
  const std::vector<std::string> cpus = {"cortex-m0", "cortex-m3", "cortex-m52", "cortex-m55", "cortex-m85"};
  EXPECT_EQ(did_you_mean("cortex-M5", cpus), "; did you mean 'cortex-m52' or 'cortex-m55'?");
  EXPECT_EQ(did_you_mean("cortex-m8", cpus), "; did you mean 'cortex-m85'?");
  const std::vector<std::string> options = {"--recompute", "--report", "--io", "--rep"};
  EXPECT_EQ(did_you_mean("--repo", options), "; did you mean '--report'?");
}

TEST(Suggest, ListsFewNames) {
  const std::vector<std::string> cpus = {"cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7"};
  EXPECT_EQ(did_you_mean("cortex-m9", cpus), "; did you mean 'cortex-m0'?");
}

}  // namespace
}  // namespace cormorant
