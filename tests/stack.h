// SPDX-License-Identifier: Apache-2.0
//
// Guarantees about every firmware's stack: the bound holds, is at most a kilobyte, and close to the observed depth.
#pragma once

#include <gtest/gtest.h>

#include "runner/launcher.h"

namespace cormorant::tests {

inline void expect_bounded_stack(const RunResult& board, const std::string& where) {
  ASSERT_TRUE(board.stack_bound) << where << ": " << board.why_unbounded;
  const std::uint64_t bound = board.stack_bound->bytes;
  EXPECT_LE(board.stack_bytes, bound) << where;
  EXPECT_LE(bound, 1024U) << where;
  EXPECT_LE(8 * bound, 9 * board.stack_bytes) << where << ": bound " << bound << ", seen " << board.stack_bytes;
}

}  // namespace cormorant::tests
