// SPDX-License-Identifier: Apache-2.0
//
// The tests of many sources in one executable (CORMORANT_JOIN_TESTS in cmake/cormorant.cmake): those of the sources in
// CORMORANT_TEST_SOURCES run, all without it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>

namespace {

// The names of a source's tests, as a filter.
std::string tests_of(const std::string& source) {
  std::string names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const testing::TestInfo& test = *suite.GetTestInfo(k);
      if (test.file() == source) names += fmt::format("{}.{}:", suite.name(), test.name());
    }
  }
  return names;
}

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (const char* const sources = std::getenv("CORMORANT_TEST_SOURCES")) {
    std::string filter;
    std::istringstream list(sources);
    for (std::string source; std::getline(list, source, ':');) {
      const std::string names = tests_of(source);
      if (names.empty()) {
        fmt::print(stderr, "error: {}, which CORMORANT_TEST_SOURCES names, has no tests in {}\n", source, arguments[0]);
        return 1;
      }
      filter += names;
    }
    GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}
