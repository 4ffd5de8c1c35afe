// SPDX-License-Identifier: Apache-2.0
#include "runner/process.h"

#include <csignal>

#include "gtest/gtest.h"

namespace cormorant {
namespace {

using namespace std::chrono_literals;

ProcessResult shell(const std::string& script, std::chrono::milliseconds limit = 10s) {
  return run_process({"sh", "-c", script}, "/", limit);
}

TEST(Process, KeepsBothOutputsAndTheStatus) {
  const ProcessResult result = shell("echo out; echo err >&2; pwd; exit 7");
  EXPECT_EQ(result.status, 7);
  EXPECT_EQ(result.output, "out\nerr\n/\n");
  EXPECT_FALSE(result.succeeded());
}

TEST(Process, SaysWhichSignalEndedIt) { EXPECT_EQ(shell("kill -ABRT $$").signal, SIGABRT); }

TEST(Process, SaysThatAProgramDoesNotExist) {
  EXPECT_TRUE(run_process({"cormorant-no-such-program"}, "/", 1s).not_found);
}

TEST(Process, EndsAProgramAndItsChildrenAtTheTimeLimit) {
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult result = shell("sleep 100 & sleep 100", 200ms);
  EXPECT_TRUE(result.timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TEST(Process, EndsAProgramThatPrintsForever) {
  const ProcessResult result = shell("yes", 200ms);
  EXPECT_TRUE(result.timed_out);
  EXPECT_LE(result.output.size(), 1U << 20);
}

TEST(TemporaryDirectory, DisappearsWithItsContents) {
  std::filesystem::path path;
  {
    const TemporaryDirectory directory;
    path = directory.path();
    std::filesystem::create_directory(path / "inner");
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace cormorant
