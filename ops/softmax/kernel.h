// SPDX-License-Identifier: Apache-2.0
//
// The plan of a softmax or its logarithm, for every variant's execute().
#pragma once

#include "ops/softmax/softmax.h"
#include "runtime/kernel.h"

namespace cormorant::ops::softmax {

// Elements are [outer, row_size, inner] in memory: a row's elements are `inner` apart.
struct Plan {
  static constexpr std::uint32_t kStateBytes = 28;
  const std::int8_t* input;
  std::int8_t* out;
  std::uint32_t outer;
  std::uint32_t inner;
  std::uint32_t row_size;
  std::int32_t multiplier;
  std::int16_t diff_min;  // inputs farther below the largest count as 0; −256 keeps all
  std::uint8_t shift;
};

struct LogPlan {
  static constexpr std::uint32_t kStateBytes = 44;
  Plan rows;
  std::int32_t factor;
  std::int32_t term;
  std::int32_t log_multiplier;
  std::int8_t log_shift;
  std::uint8_t shift;
};

struct TablePlan {
  static constexpr std::uint32_t kStateBytes = 28;
  const std::int8_t* input;
  std::int8_t* out;
  const std::int32_t* exponentials;
  std::uint32_t outer;
  std::uint32_t inner;
  std::uint32_t row_size;
  std::uint32_t halvings;
};

Error load(Call& call);
Error load_table(Call& call);
Error load_log(Call& call);
Error load_words(Call& call);
Error load_log_words(Call& call);

}  // namespace cormorant::ops::softmax
