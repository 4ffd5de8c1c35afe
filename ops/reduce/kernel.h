// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/window.h"
#include "ops/reduce/reduce.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

// Windows on a grid of two kept groups of dimensions; a third, inside all reduced ones, is the windows' channels.
struct ReducePlan {
  Window first;
  std::uint32_t outer, inner;           // windows
  std::int32_t outer_step, inner_step;  // bytes of input
};

struct MeanPlan {
  ReducePlan windows;
  MeanScale scale;
};

Error load_mean(Call& call);
Error load_amax(Call& call);
Error load_words_mean(Call& call);
Error load_words_amax(Call& call);

// Steps and channels count elements of this type.
void plan_windows(Call& call, const Tensor& input, const IntList& dims, const Tensor& out, DType dtype,
                  ReducePlan& plan);

template <class Reduce>
inline void for_each_reduced(const ReducePlan& p, Reduce reduce) {
  Window window = p.first;
  for (std::uint32_t i = 0; i < p.outer; ++i) {
    window.input = p.first.input + static_cast<std::int32_t>(i) * p.outer_step;
    for (std::uint32_t j = 0; j < p.inner; ++j, window.input += p.inner_step, window.output += window.channels) {
      reduce(window);
    }
  }
}

template <Loops kLoops>
void execute_mean(const void* plan) {
  const auto& p = *static_cast<const MeanPlan*>(plan);
  for_each_reduced(p.windows, [&](const Window& window) { window_mean<kLoops>(window, p.scale); });
}

template <Loops kLoops>
void execute_amax(const void* plan) {
  for_each_reduced(*static_cast<const ReducePlan*>(plan),
                   [](const Window& window) { window_max<kLoops>(window, -128, 127); });
}

}  // namespace cormorant::ops
