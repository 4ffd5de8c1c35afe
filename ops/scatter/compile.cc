// SPDX-License-Identifier: Apache-2.0
//
// aten.scatter.src_out(self, dim, index, src) and its relatives that add, multiply or compare.
#include "ops/host/broadcast.h"
#include "ops/host/evaluate_planned.h"
#include "ops/host/references.h"
#include "ops/scatter/kernel.h"

namespace cormorant::ops {
namespace scatter {
namespace {

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  type.dim_order.clear();
  const ir::TensorType& index = node.tensor("index")->type;
  const ir::TensorType& src = node.tensor("src")->type;
  const std::int64_t dim = node.integer("dim");
  bool fits = has_dim(type, dim) && is_integer(index.dtype) && is_number(type.dtype) && src.dtype == type.dtype &&
              index.rank() == type.rank() && src.rank() == type.rank();
  for (std::size_t i = 0; fits && i < type.rank(); ++i) {
    fits = (static_cast<std::int64_t>(i) == dim || index.shape[i] <= type.shape[i]) && index.shape[i] <= src.shape[i];
  }
  require(node, fits, "an index does not match its tensors");
  require(node, node.result()->type.dtype == type.dtype, "its result has another type than its tensors");
  return {std::move(type)};
}

template <class F>
std::vector<evaluate::Tensor> evaluate_as(const ir::Node& node, const evaluate::Frame& frame) {
  return evaluate_planned<Scatter, Plan, plan_scatter, execute_scatter<F>>(node, frame);
}

std::vector<evaluate::Tensor> evaluate_scatter(const ir::Node& node, const evaluate::Frame& frame) {
  if (node.op == graph_name(names::aten_scatter_add_out)) return evaluate_as<Add>(node, frame);
  if (node.op == graph_name(names::cormorant_scatter_prod_any)) return evaluate_as<Product>(node, frame);
  if (node.op == graph_name(names::cormorant_scatter_amax_any)) return evaluate_as<Largest>(node, frame);
  if (node.op == graph_name(names::cormorant_scatter_amin_any)) return evaluate_as<Smallest>(node, frame);
  return evaluate_as<Set>(node, frame);
}

// What is only moved keeps its meaning.
QuantRule quantize(const ir::Node& node) {
  if (node.op != graph_name(names::aten_scatter_src_out)) {
    return {.output = QuantRule::Reject{"operator " + node.op + " has no integer form"}, .weights = {}};
  }
  return {.output = QuantRule::Share{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

bool in_place(const ir::Node&, std::string_view argument) { return argument == "self"; }

}  // namespace

CORMORANT_REFERENCES(scatter, CORMORANT_SCATTER_KERNELS)

}  // namespace scatter

Operator scatter_operator() {
  using namespace scatter;  // NOLINT(google-build-using-namespace)
  return {.name = "scatter",
          .layout = MemoryOrder::contiguous,
          .canonical = canonical_of(scatter::cormorant_list_scatter),
          .infer = infer,
          .evaluate = evaluate_scatter,
          .quantize = quantize,
          .in_place = in_place};
}

}  // namespace cormorant::ops
