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
  EXPECT_EQ(nearest("complie", words), "compile");
  EXPECT_EQ(nearest("rnu", words), "run");
  EXPECT_EQ(nearest("EVALUTE", words), "evaluate");
  EXPECT_EQ(nearest("quantize", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest(std::string(10000, 'r'), words), "");
  EXPECT_EQ(did_you_mean("inspct", words), "; did you mean 'inspect'?");
  EXPECT_EQ(did_you_mean("zebra", words), "");
}

}  // namespace
}  // namespace cormorant
