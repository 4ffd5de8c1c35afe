// SPDX-License-Identifier: Apache-2.0
//
// cormorant.grid_sample.float(input, grid, mode, padding, align_corners).
#include "ops/grid_sample/kernel.h"
#include "ops/host/broadcast.h"
#include "ops/host/evaluate_planned.h"
#include "ops/host/references.h"

namespace cormorant::ops {
namespace grid_sample {
namespace {

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::Shape shape = node.tensor("input")->type.shape;
  const ir::Shape& grid = node.tensor("grid")->type.shape;
  const bool is_image = shape.size() == 4;
  bool fits = shape.size() == grid.size() && (is_image || shape.size() == 5) && shape[0] == grid[0] &&
              grid.back() == static_cast<std::int64_t>(shape.size()) - 2;
  for (std::size_t i = 2; fits && i < shape.size(); ++i) {
    fits = shape[i] > 0;
    shape[i] = grid[i - 1];
  }
  require(node, fits, "the grid does not match its image");
  const std::int64_t mode = node.integer("mode"), padding = node.integer("padding");
  require(node, mode >= 0 && mode <= (is_image ? 2 : 1) && padding >= 0 && padding <= 2,
          "unknown interpolation or padding mode");
  return {ir::float_type(std::move(shape))};
}

std::vector<evaluate::Tensor> evaluate_grid_sample(const ir::Node& node, const evaluate::Frame& frame) {
  return evaluate_planned<GridSample, Plan, plan_grid_sample, execute_grid_sample>(node, frame);
}

}  // namespace

CORMORANT_REFERENCES(grid_sample, CORMORANT_GRID_SAMPLE_KERNELS)

}  // namespace grid_sample

Operator grid_sample_operator() {
  return {.name = "grid_sample",
          .layout = MemoryOrder::contiguous,
          .canonical = canonical_of(grid_sample::cormorant_list_grid_sample),
          .infer = grid_sample::infer,
          .evaluate = grid_sample::evaluate_grid_sample};
}

}  // namespace cormorant::ops
