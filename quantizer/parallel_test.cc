// SPDX-License-Identifier: Apache-2.0
#include "quantizer/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cormorant::quantizer {
namespace {

TEST(ParallelFor, CallsEachIndexOnce) {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    std::vector<std::atomic<int>> calls(1000);
    parallel_for(calls.size(), threads, [&](std::size_t k, std::size_t thread) {
      EXPECT_LT(thread, threads);
      ++calls[k];
    });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

TEST(ParallelFor, PassesOnTheFirstFailure) {
  for (const std::size_t threads : {1U, 3U}) {
    EXPECT_THROW(parallel_for(100, threads,
                              [](std::size_t k, std::size_t) {
                                if (k % 2 == 1) throw std::runtime_error("odd");
                              }),
                 std::runtime_error);
  }
}

// Loops inside of loops, of different numbers of threads, in processes that come from others.
TEST(ParallelFor, CallsEachIndexOnceInLoopsInsideOfLoops) {
  const auto count_calls = [] {
    std::atomic<int> calls = 0;
    for (const std::size_t threads : {4U, 2U, 3U, 4U}) {
      parallel_for(8, threads,
                   [&](std::size_t, std::size_t) { parallel_for(5, 3, [&](std::size_t, std::size_t) { ++calls; }); });
    }
    return calls.load();
  };
  EXPECT_EQ(count_calls(), 160);
  const pid_t child = fork();
  if (child == 0) _exit(count_calls() == 160 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(ParallelFor, ReusesItsThreads) {
  const auto ids = [] {
    std::set<std::thread::id> seen;
    std::mutex mutex;
    std::atomic<int> waiting = 3;
    parallel_for(3, 3, [&](std::size_t, std::size_t) {
      for (--waiting; waiting > 0;) std::this_thread::yield();  // until all three are here
      const std::scoped_lock lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
    return seen;
  };
  const std::set<std::thread::id> first = ids();
  EXPECT_EQ(first.size(), 3U);
  EXPECT_EQ(ids(), first);
}

TEST(SharedProgress, CountsOneByOne) {
  std::vector<std::size_t> told;
  const Progress progress = [&](std::string_view task, std::size_t done, std::size_t total) {
    EXPECT_EQ(task, "counting");
    EXPECT_EQ(total, 100U);
    told.push_back(done);
  };
  SharedProgress shared(progress, "counting", 100);
  parallel_for(100, 3, [&](std::size_t, std::size_t) { shared.one_done(); });
  ASSERT_EQ(told.size(), 101U);
  for (std::size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], i);
  const Progress nobody;
  SharedProgress(nobody, "counting", 1).one_done();
}

TEST(ThreadCount, IsBoundedByTheWork) {
  EXPECT_EQ(thread_count(8, 3), 3U);
  EXPECT_EQ(thread_count(2, 100), 2U);
  EXPECT_EQ(thread_count(4, 0), 1U);
  EXPECT_GE(thread_count(0, 100), 1U);
}

}  // namespace
}  // namespace cormorant::quantizer
