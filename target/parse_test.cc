// SPDX-License-Identifier: Apache-2.0
#include "target/parse.h"

#include <gtest/gtest.h>

#include "base/diagnostic.h"

namespace cormorant {
namespace {

std::string error_of(std::string_view target, std::string_view isa = {}) {
  try {
    parse_target(target, isa);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Target, HasTheDocumentedDefaultIsaOfEachCpu) {
  const std::pair<const char*, Isa> expected[] = {
      {"cortex-m0", Isa::scalar},  {"cortex-m0plus", Isa::scalar}, {"cortex-m3", Isa::scalar},
      {"cortex-m23", Isa::scalar}, {"cortex-m4", Isa::dsp},        {"cortex-m7", Isa::dsp},
      {"cortex-m33", Isa::dsp},    {"cortex-m35p", Isa::dsp},      {"cortex-m52", Isa::mve},
      {"cortex-m55", Isa::mve},    {"cortex-m85", Isa::mve}};
  for (const auto& [name, isa] : expected) {
    EXPECT_EQ(parse_target(name).isa, isa) << name;
    EXPECT_EQ(parse_target(name).name(), name);
  }
  EXPECT_EQ(std::size(expected), kCpus.size());
}

TEST(Target, DefaultsToCortexM55) { EXPECT_EQ(Target{}.name(), "cortex-m55"); }

TEST(Target, NarrowsTheIsaButNeverWidensIt) {
  EXPECT_EQ(parse_target("cortex-m55", "dsp").isa, Isa::dsp);
  EXPECT_EQ(parse_target("cortex-m55", "scalar").isa, Isa::scalar);
  EXPECT_EQ(parse_target("cortex-m33", "scalar").isa, Isa::scalar);
  const std::string error = error_of("cortex-m4", "mve");
  EXPECT_NE(error.find("scalar, dsp"), std::string::npos) << error;
  EXPECT_NE(error_of("cortex-m3", "dsp").find("supports scalar"), std::string::npos);
}

TEST(Target, AnyTakesNoIsa) {
  EXPECT_TRUE(parse_target("any").is_any());
  EXPECT_NE(error_of("any", "dsp"), "");
}

TEST(Target, IsUnderstoodAsPeopleWriteIt) {
  for (const char* const name : {"Cortex-M55", "cortex_m55", "M55", "m55", "CORTEX M55"}) {
    EXPECT_EQ(parse_target(name).name(), "cortex-m55") << name;
  }
  EXPECT_EQ(parse_target("m0+").name(), "cortex-m0plus");
  EXPECT_EQ(parse_target("Cortex-M0+").name(), "cortex-m0plus");
  EXPECT_NE(error_of("cortx-m55").find("did you mean 'cortex-m55'?"), std::string::npos) << error_of("cortx-m55");
}

TEST(Target, AWrongNameListsAllTargets) {
  const std::string error = error_of("cortex-m1");
  for (const Cpu& cpu : kCpus) EXPECT_NE(error.find(cpu.name), std::string::npos) << cpu.name;
  EXPECT_NE(error.find("any"), std::string::npos);
}

TEST(Target, ExecuTorchsSpellingPointsToQuantize) {
  EXPECT_NE(error_of("cortex-m55+int8").find("--target=cortex-m55 --quantize"), std::string::npos);
}

}  // namespace
}  // namespace cormorant
