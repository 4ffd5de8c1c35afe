// SPDX-License-Identifier: Apache-2.0
//
// The output is runs copied from the input with runs of the pad value between them. The plan counts those in bytes, so
// execute() is the same nest of loops for every rank and layout; inner dimensions without padding are one run.
#pragma once

#include "kernels/move.h"
#include "ops/pad/pad.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct PadPlan {
  static constexpr std::uint32_t kStateBytes = 60;
  const std::int8_t* input;
  std::int8_t* output;
  std::int32_t run;         // bytes to copy at once
  std::int32_t extents[3];  // how many inner blocks are adjacent, outermost first
  std::int32_t before[4];   // bytes of the pad value before and after the blocks of a level
  std::int32_t after[4];
  std::int8_t value;
};

Error load_pad(Call& call);
Error load_words_pad(Call& call);

// Fill and copy are the variant's: void(std::int8_t* to, std::int8_t value, std::uint32_t count), and copy_bytes alike.
template <class Copy, class Fill>
inline void pad_with(const PadPlan& p, Copy copy, Fill fill) {
  const std::int8_t* from = p.input;
  std::int8_t* to = p.output;
  std::int32_t border = 0;  // consecutive borders are filled together, when the next run is copied
  const auto flush = [&] {
    fill(to, p.value, static_cast<std::uint32_t>(border));
    to += border;
    border = 0;
  };
  border += p.before[0];
  for (std::int32_t i = 0; i < p.extents[0]; ++i) {
    border += p.before[1];
    for (std::int32_t j = 0; j < p.extents[1]; ++j) {
      border += p.before[2];
      for (std::int32_t k = 0; k < p.extents[2]; ++k) {
        border += p.before[3];
        flush();
        copy(to, from, static_cast<std::uint32_t>(p.run));
        to += p.run;
        from += p.run;
        border += p.after[3];
      }
      border += p.after[2];
    }
    border += p.after[1];
  }
  border += p.after[0];
  flush();
}

template <Loops kLoops>
void execute_pad(const void* plan) {
  pad_with(*static_cast<const PadPlan*>(plan), copy_bytes<kLoops>, fill_bytes<kLoops>);
}

}  // namespace cormorant::ops
