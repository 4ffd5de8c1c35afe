// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/pool_geometry.h"
#include "ops/max_pool2d/max_pool2d.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct MaxPoolPlan {
  static constexpr std::uint32_t kStateBytes = 40;
  PoolGeometry geometry;
  std::int8_t low;
  std::int8_t high;
};

// The call's height (i = 0) or width (1), checked; fails the call if windows do not fit.
PoolAxis max_pool_axis(Call& call, const QuantizedMaxPool2d<TargetWorld>& args, std::size_t i);

Error load_max_pool2d(Call& call);
Error load_max_pool2d_nhwc(Call& call);
Error load_words_max_pool(Call& call);

// The loop over windows is the same for all instruction sets, and small.
void execute_max_pool2d(const MaxPoolPlan& plan, void (*window_max)(const Window&, std::int32_t, std::int32_t));

template <Loops kLoops>
void execute_max_pool2d(const void* plan) {
  execute_max_pool2d(*static_cast<const MaxPoolPlan*>(plan), window_max<kLoops>);
}

}  // namespace cormorant::ops
