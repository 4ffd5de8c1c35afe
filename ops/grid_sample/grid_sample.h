// SPDX-License-Identifier: Apache-2.0
//
// An image, or a volume, sampled at the positions that a grid holds: coordinates from −1 to 1, x first.
#pragma once

#include "base/fields.h"
#include "ops/load/kernel_list.h"

// clang-format off
#define CORMORANT_GRID_SAMPLE_KERNELS(OURS, THEIRS, FOREIGN) \
  OURS(grid_sample, float, any_cpu, load_grid_sample, execute_grid_sample, f32, GridSample)
// clang-format on
CORMORANT_NAMES(CORMORANT_GRID_SAMPLE_KERNELS)

namespace cormorant::ops::grid_sample {

template <class W>
struct GridSample {
  typename W::Tensor input{};  // [N, C, H, W] or [N, C, D, H, W]
  typename W::Tensor grid{};   // [N, h, w, 2] or [N, d, h, w, 3]
  typename W::Int mode{};      // 0 linear, 1 nearest, 2 cubic (of images)
  typename W::Int padding{};   // 0 zeros, 1 border, 2 reflection
  typename W::Bool align_corners{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, grid, mode, padding, align_corners, out)
};

}  // namespace cormorant::ops::grid_sample
