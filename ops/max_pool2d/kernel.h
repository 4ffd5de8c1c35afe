// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/pool_geometry.h"
#include "ops/max_pool2d/max_pool2d.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct MaxPoolPlan {
  PoolGeometry geometry;
  std::int8_t low;
  std::int8_t high;
};

Error load_max_pool2d(Call& call);
Error load_max_pool2d_nhwc(Call& call);

template <void (*kWindowMax)(const Window&, std::int32_t, std::int32_t)>
inline void execute_max_pool2d(const void* plan) {
  const auto& p = *static_cast<const MaxPoolPlan*>(plan);
  const std::int32_t low = p.low;
  const std::int32_t high = p.high;
  for_each_pool_window(p.geometry,
                       [=](const Window& window, const PoolSpan&, const PoolSpan&) { kWindowMax(window, low, high); });
}

}  // namespace cormorant::ops
