// SPDX-License-Identifier: Apache-2.0
//
// aten.index_copy(self, dim, index, source): self with its entries at the index replaced by those of source. Updates at
// known positions and shifts are concatenations of slices until passes/update_states.cc sees that they become a state.
#include "ops/evaluate_planned.h"
#include "ops/movement.h"
#include "ops/references.h"
#include "ops/update/kernel.h"

namespace cormorant::ops {
namespace {

std::vector<ir::TensorType> infer_index_copy(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  type.dim_order.clear();
  const ir::TensorType& index = node.tensor("index")->type;
  const ir::TensorType& source = node.tensor("source")->type;
  const std::int64_t dim = node.integer("dim");
  bool fits = type.rank() != 0 && has_dim(type, dim) && is_integer(index.dtype) && index.rank() <= 1 &&
              is_number(type.dtype) && source.dtype == type.dtype && source.rank() == type.rank();
  for (std::size_t i = 0; fits && i < type.rank(); ++i) {
    fits = source.shape[i] == (static_cast<std::int64_t>(i) == dim ? index.elements() : type.shape[i]);
  }
  require(node, fits, "an index does not fit the tensors that it is for");
  return {std::move(type)};
}

std::vector<evaluate::Tensor> evaluate_index_copy(const ir::Node& node, const evaluate::Frame& frame) {
  return evaluate_planned<UpdateAt, UpdateAtPlan, plan_update_at, execute_update_at<Loops::reference>>(node, frame);
}

// Elements are moved, whatever they are; the index is no activation.
QuantRule quantize_index_copy(const ir::Node&) {
  return {.output = QuantRule::Share{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

// ExecuTorch has an index for every element.
std::vector<ir::Value*> write_out_index_copy(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  ir::Value* index = node.tensor("index");
  const ir::Shape& shape = node.tensor("source")->type.shape;
  const auto as = [&](const char* op, const char* suffix, ir::Shape size) {
    ir::TensorType type = index->type;
    type.shape = size;
    index = rewriter.graph
                .add_node(node.name + suffix, op, {{"self", index}, {"size", std::move(size)}}, {std::move(type)},
                          node.location, &rewriter.node)
                ->result();
  };
  ir::Shape along(shape.size(), 1);
  along.at(static_cast<std::size_t>(node.integer("dim"))) = index->type.elements();
  as("aten.view", "_along", std::move(along));
  if (index->type.shape != shape) as("aten.expand", "_index", shape);
  return {rewriter.graph
              .add_node(node.name, "aten.scatter.src_out",
                        {{"self", node.tensor("self")},
                         {"dim", node.integer("dim")},
                         {"index", index},
                         {"src", node.tensor("source")}},
                        {node.result()->type}, node.location, &rewriter.node)
              ->result()};
}

ir::Value* lower_index_copy(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  require_same_quantization(node, node.tensor("self"));
  require_same_quantization(node, node.tensor("source"));
  return rewriter
      .emit(UpdateAt<HostWorld>{.self = node.tensor("self"),
                                .dim = node.integer("dim"),
                                .index = node.tensor("index"),
                                .source = node.tensor("source")},
            node.result()->type, update_at_variant(rewriter.config.target))
      ->result();
}

bool update_in_place(const ir::Node&, std::string_view argument) { return argument == "self"; }

}  // namespace

Operator update_operator() {
  return {.name = "update",
          .layout = MemoryOrder::contiguous,
          .forms = {},
          .canonical = {"aten.index_copy(Tensor self, int dim, Tensor index, Tensor source)"},
          .infer = infer_index_copy,
          .evaluate = evaluate_index_copy,
          .quantize = quantize_index_copy,
          .write_out = write_out_index_copy,
          .lower = lower_index_copy,
          .lower_float = lower_index_copy,
          .in_place = update_in_place};
}

CORMORANT_REFERENCES(update, CORMORANT_UPDATE_KERNELS)

}  // namespace cormorant::ops
