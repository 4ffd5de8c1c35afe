// SPDX-License-Identifier: Apache-2.0
//
// cormorant.argsort.any(self, dim, descending) and cormorant.searchsorted.any(sorted, values, right).
#include <algorithm>

#include "ops/argsort/kernel.h"
#include "ops/host/broadcast.h"
#include "ops/host/evaluate_planned.h"
#include "ops/host/references.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace argsort {
namespace {

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const bool is_search = node.op == nodes::cormorant_searchsorted_any;
  const ir::TensorType& from = node.tensor(is_search ? "values" : "self")->type;
  const DType result = node.result()->type.dtype;
  if (is_search) require_numbers(node);
  require(node, is_number(from.dtype), "it orders only float32, integers and booleans");
  require(node, result == DType::i64 || result == DType::i32, "indices are int64 or int32");
  if (!is_search) {
    require(node, has_dim(from, node.integer("dim")), "the dimension is out of range");
  } else {
    const ir::TensorType& sorted = node.tensor("sorted")->type;
    bool fits =
        sorted.dtype == from.dtype && sorted.rank() != 0 && (sorted.rank() == 1 || sorted.rank() == from.rank());
    for (std::size_t i = 0; fits && i + 1 < sorted.rank(); ++i) fits = sorted.shape[i] == from.shape[i];
    require(node, fits, "the sorted rows do not match the values");
  }
  return {{result, from.shape, {}, std::nullopt}};
}

std::vector<evaluate::Tensor> evaluate_argsort(const ir::Node& node, const evaluate::Frame& frame) {
  if (node.op == nodes::cormorant_searchsorted_any) {
    return evaluate_planned<SearchSorted, SearchPlan, plan_search, execute_search>(node, frame);
  }
  return evaluate_planned<Argsort, Plan, plan_argsort, execute_argsort>(node, frame);
}

// The order of the elements does not depend on scale and zero point.
QuantRule quantize(const ir::Node& node) {
  if (node.op == nodes::cormorant_searchsorted_any) {
    return {.output = QuantRule::Reject{"operator " + node.op + " has no integer form"}, .weights = {}};
  }
  return {.output = QuantRule::Observe{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

}  // namespace

CORMORANT_REFERENCES(argsort, CORMORANT_ARGSORT_KERNELS)

}  // namespace argsort

Operator argsort_operator() {
  using namespace argsort;  // NOLINT(google-build-using-namespace)
  return {.name = "argsort",
          .layout = MemoryOrder::contiguous,
          .canonical = canonical_of(argsort::cormorant_list_argsort),
          .infer = infer,
          .evaluate = evaluate_argsort,
          .quantize = quantize};
}

}  // namespace cormorant::ops
