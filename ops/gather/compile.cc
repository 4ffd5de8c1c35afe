// SPDX-License-Identifier: Apache-2.0
//
// aten.index_select(self, dim, index) and aten.gather(self, dim, index, sparse_grad), dim not negative.
#include "base/diagnostic.h"
#include "ops/gather/kernel.h"
#include "ops/host/broadcast.h"
#include "ops/host/evaluate_planned.h"
#include "ops/host/references.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace gather {
namespace {

bool is_select(const ir::Node& node) { return node.op == nodes::aten_index_select; }

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  const ir::TensorType& index = node.tensor("index")->type;
  type.dim_order.clear();
  const std::int64_t dim = node.integer("dim");
  bool fits = has_dim(type, dim) && is_integer(index.dtype) && is_number(type.dtype) &&
              (is_select(node) ? index.rank() <= 1 : index.rank() == type.rank());
  const auto at = static_cast<std::size_t>(dim);
  for (std::size_t i = 0; fits && !is_select(node) && i < type.rank(); ++i) {
    fits = i == at || index.shape[i] <= type.shape[i];
  }
  const bool has_elements = !fits || type.rank() == 0 || type.shape[at] != 0;
  if (!is_select(node)) {
    type.shape = index.shape;
  } else if (fits && type.rank() != 0) {
    type.shape[at] = index.elements();
  } else {
    fits = fits && index.elements() == 1;
  }
  require(node, fits && (has_elements || type.elements() == 0),
          "an index does not match the tensor that it selects from");
  require(node, node.result()->type.dtype == type.dtype, "its result has another type than the tensor");
  return {std::move(type)};
}

std::vector<evaluate::Tensor> evaluate_gather(const ir::Node& node, const evaluate::Frame& frame) {
  if (is_select(node)) return evaluate_planned<IndexSelect, SelectPlan, plan_select, execute_select>(node, frame);
  return evaluate_planned<Gather, GatherPlan, plan_gather, execute_gather>(node, frame);
}

// Elements are moved, whatever they are; the index is not an activation.
QuantRule quantize(const ir::Node&) {
  return {.output = QuantRule::Share{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

}  // namespace

CORMORANT_REFERENCES(gather, CORMORANT_GATHER_KERNELS)

}  // namespace gather

Operator gather_operator() {
  return {.name = "gather",
          .layout = MemoryOrder::contiguous,
          .canonical = canonical_of(gather::cormorant_list_gather),
          .infer = gather::infer,
          .evaluate = gather::evaluate_gather,
          .quantize = gather::quantize};
}

}  // namespace cormorant::ops
