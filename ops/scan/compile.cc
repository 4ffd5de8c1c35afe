// SPDX-License-Identifier: Apache-2.0
//
// aten.cumsum(self, dim, dtype), cormorant.cumprod.any(self, dim) and others. Indices of the largest so far are
// integers of the result's type.
#include "ops/host/broadcast.h"
#include "ops/host/evaluate_planned.h"
#include "ops/host/references.h"
#include "ops/nodes.h"
#include "ops/scan/kernel.h"

namespace cormorant::ops {
namespace scan {
namespace {

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  type.dim_order.clear();
  require_numbers(node);
  require(node, has_dim(type, node.integer("dim")), "the dimension is out of range");
  type.dtype = node.result()->type.dtype;  // integers are summed to int64, and indices are what their user wants
  return {std::move(type)};
}

template <void (*kExecute)(const void*)>
std::vector<evaluate::Tensor> evaluate_as(const ir::Node& node, const evaluate::Frame& frame) {
  return evaluate_planned<Scan, Plan, plan_scan, kExecute>(node, frame);
}

std::vector<evaluate::Tensor> evaluate_scan(const ir::Node& node, const evaluate::Frame& frame) {
  if (node.op == nodes::aten_cumsum) {
    return evaluate_planned<CumulativeSum, Plan, plan_sum, execute_scan<Sum>>(node, frame);
  }
  if (node.op == graph_name(names::cormorant_logcumsumexp_any)) return evaluate_as<execute_scan<LogOfSum>>(node, frame);
  if (node.op == graph_name(names::cormorant_cummax_index_any)) return evaluate_as<execute_index<1>>(node, frame);
  if (node.op == graph_name(names::cormorant_cummin_index_any)) return evaluate_as<execute_index<-1>>(node, frame);
  return evaluate_as<execute_scan<Product>>(node, frame);
}

}  // namespace

CORMORANT_REFERENCES(scan, CORMORANT_SCAN_KERNELS)

}  // namespace scan

Operator scan_operator() {
  using namespace scan;  // NOLINT(google-build-using-namespace)
  return {.name = "scan",
          .layout = MemoryOrder::contiguous,
          .canonical = canonical_of(scan::cormorant_list_scan),
          .infer = infer,
          .evaluate = evaluate_scan};
}

}  // namespace cormorant::ops
