// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/activation/activation.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct ActivationPlan {
  static constexpr std::uint32_t kStateBytes = 16;
  const std::int8_t* input;  // may be the output
  std::int8_t* output;       // both start at whole words
  const std::int8_t* zero;   // the table's entry for 0: signed bytes index it as they are
  std::uint32_t count;
};

struct WordsActivationPlan {
  static constexpr std::uint32_t kStateBytes = 24;
  const std::int16_t* input;  // may be the output
  std::int16_t* output;
  WordsTable table;
  std::uint32_t count;
};

Error load_activation(Call& call);
Error load_words_activation(Call& call);
Error load_words_requantize(Call& call);

}  // namespace cormorant::ops
