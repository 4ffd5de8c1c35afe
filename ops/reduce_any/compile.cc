// SPDX-License-Identifier: Apache-2.0
//
// cormorant.sum.any(self, dim) and its relatives, whose results keep the reduced dimensions; aten.argmax(self, dim,
// keepdim), aten.argmin.
#include <algorithm>

#include "ops/host/advice.h"
#include "ops/host/broadcast.h"
#include "ops/host/evaluate_planned.h"
#include "ops/host/references.h"
#include "ops/nodes.h"
#include "ops/reduce_any/kernel.h"

namespace cormorant::ops {
namespace reduce_any {
namespace {

bool is_arg(const ir::Node& node) { return node.op == nodes::aten_argmax || node.op == nodes::aten_argmin; }

std::vector<ir::TensorType> infer(const ir::Node& node) {
  if (!is_arg(node)) require_numbers(node);
  ir::TensorType type = node.tensor("self")->type;
  type.dim_order.clear();
  type.quant.reset();
  type.dtype = node.result()->type.dtype;  // of a sum or an index it is for the user to say
  const auto check = [&](std::int64_t dim) {
    if (dim >= 0 && dim < static_cast<std::int64_t>(type.rank())) return static_cast<std::size_t>(dim);
    refuse(node, "the dimension is out of range", kInconsistent);
  };
  if (is_arg(node)) {
    require(node, type.elements() != 0 && is_integer(type.dtype) && is_number(node.tensor("self")->type.dtype),
            "it needs elements to choose from, and an integer result");
    if (node.has("dim") && type.rank() == 0) require(node, node.integer("dim") == 0, "the dimension is out of range");
  }
  if (!is_arg(node)) {
    require(node, node.integers("dim").size() <= type.rank(), "it reduces more dimensions than the tensor has");
    for (const std::int64_t dim : node.integers("dim")) type.shape[check(dim)] = 1;
  } else if (node.has("dim") && type.rank() != 0) {
    const std::size_t dim = check(node.integer("dim"));
    if (node.boolean("keepdim")) {
      type.shape[dim] = 1;
    } else {
      type.shape.erase(type.shape.begin() + static_cast<std::ptrdiff_t>(dim));
    }
  } else {
    type.shape.assign(node.boolean("keepdim") ? type.rank() : 0, 1);
  }
  return {std::move(type)};
}

template <class F>
std::vector<evaluate::Tensor> evaluate_as(const ir::Node& node, const evaluate::Frame& frame) {
  return evaluate_planned<Reduce, Plan, plan_reduce, execute_reduce<F>>(node, frame);
}

std::vector<evaluate::Tensor> evaluate_reduce(const ir::Node& node, const evaluate::Frame& frame) {
  if (node.op == nodes::aten_argmax) return evaluate_planned<ArgReduce, ArgPlan, plan_arg, execute_arg<1>>(node, frame);
  if (node.op == nodes::aten_argmin)
    return evaluate_planned<ArgReduce, ArgPlan, plan_arg, execute_arg<-1>>(node, frame);
  if (node.op == graph_name(names::cormorant_prod_any)) return evaluate_as<Product>(node, frame);
  if (node.op == graph_name(names::cormorant_amax_any)) return evaluate_as<Largest>(node, frame);
  if (node.op == graph_name(names::cormorant_amin_any)) return evaluate_as<Smallest>(node, frame);
  return evaluate_as<Sum>(node, frame);
}

// Which of the elements is the largest does not depend on scale and zero point.
QuantRule quantize(const ir::Node& node) {
  if (is_arg(node)) return {.output = QuantRule::Observe{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
  return {.output = QuantRule::Reject{"computes in float or with integers"}, .weights = {}};
}

}  // namespace

CORMORANT_REFERENCES(reduce_any, CORMORANT_REDUCE_ANY_KERNELS)

}  // namespace reduce_any

Operator reduce_any_operator() {
  using namespace reduce_any;  // NOLINT(google-build-using-namespace)
  return {.name = "reduce_any",
          .layout = MemoryOrder::contiguous,
          .canonical = canonical_of(reduce_any::cormorant_list_reduce_any),
          .infer = infer,
          .evaluate = evaluate_reduce,
          .quantize = quantize};
}

}  // namespace cormorant::ops
