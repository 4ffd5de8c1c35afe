// SPDX-License-Identifier: Apache-2.0
#include "quantizer/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
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

TEST(ThreadCount, IsBoundedByTheWork) {
  EXPECT_EQ(thread_count(8, 3), 3U);
  EXPECT_EQ(thread_count(2, 100), 2U);
  EXPECT_EQ(thread_count(4, 0), 1U);
  EXPECT_GE(thread_count(0, 100), 1U);
}

}  // namespace
}  // namespace cormorant::quantizer
