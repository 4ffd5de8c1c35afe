// SPDX-License-Identifier: Apache-2.0
//
// cormorant.taps.float(self, dim, places, weights).
#include "ops/build.h"
#include "ops/evaluate_planned.h"
#include "ops/references.h"
#include "ops/taps/kernel.h"

namespace cormorant::ops {
namespace taps {
namespace {

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = ir::float_type(node.tensor("self")->type.shape);
  const std::int64_t dim = node.integer("dim");
  const ir::Shape& places = node.tensor("places")->type.shape;
  require(node,
          type.rank() != 0 && has_dim(type, dim) && places.size() == 2 && size_at(node.tensor("self"), dim) != 0 &&
              places == node.tensor("weights")->type.shape && is_integer(node.tensor("places")->type.dtype),
          "a table of places that does not fit the tensor");
  type.shape[static_cast<std::size_t>(dim)] = places[0];
  return {std::move(type)};
}

std::vector<evaluate::Tensor> evaluate_taps(const ir::Node& node, const evaluate::Frame& frame) {
  return evaluate_planned<Taps, Plan, plan_taps, execute_taps>(node, frame);
}

}  // namespace

CORMORANT_REFERENCES(taps, CORMORANT_TAPS_KERNELS)

}  // namespace taps

Operator taps_operator() {
  return {.name = "taps",
          .layout = Layout::contiguous,
          .forms = {},
          .canonical = canonical_of(taps::cormorant_list_taps),
          .infer = taps::infer,
          .evaluate = taps::evaluate_taps};
}

}  // namespace cormorant::ops
