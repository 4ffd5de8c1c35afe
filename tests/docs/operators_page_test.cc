// SPDX-License-Identifier: Apache-2.0
#include "tests/docs/operators_page.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace cormorant {
namespace {

TEST(OperatorsPage, SaysWhatTheCodeSays) {
  const std::filesystem::path root = CORMORANT_SOURCE_DIR;
  std::ifstream file(root / "docs" / "operators.md");
  const std::string committed{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(committed, operators_page(root)) << "run ./dev docs";
}

}  // namespace
}  // namespace cormorant
