// SPDX-License-Identifier: Apache-2.0
//
// aten.index_copy(self, dim, index, source): self with its entries at the index replaced by those of source. Updates at
// known positions and shifts are concatenations of slices until passes/update_states.cc sees that they become a state;
// passes/ring_states.cc makes aten.update_ring(self, position, source, step) of delay lines that are read in few
// places.
#include "ops/host/evaluate_planned.h"
#include "ops/host/movement.h"
#include "ops/host/references.h"
#include "ops/nodes.h"
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
  require(node, node.op == nodes::aten_index_copy, "ExecuTorch has no kernel for rings");
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
  as(nodes::aten_view, "_along", std::move(along));
  if (index->type.shape != shape) as(nodes::aten_expand, "_index", shape);
  return {rewriter.graph
              .add_node(node.name, nodes::aten_scatter_src_out,
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

constexpr const char* kRing = nodes::aten_update_ring;

std::vector<ir::TensorType> infer_ring(const ir::Node& node) {
  const ir::TensorType &ring = node.tensor("self")->type, &position = node.tensor("position")->type;
  ir::TensorType source = node.tensor("source")->type;
  const std::int64_t step = node.integer("step");
  require(node,
          ring.rank() == 2 && source.rank() == 2 && source.shape[0] == 1 && source.shape[1] == ring.shape[1] &&
              source.shape[1] > 0 && source.dtype == ring.dtype && is_number(ring.dtype) &&
              position.dtype == DType::i32 && position.shape == ir::Shape{1} && step >= 1 && ring.shape[0] > step &&
              (ring.shape[0] - 1) % step == 0,
          "a ring does not fit what is written to it or read from it");
  source.shape[0] = (ring.shape[0] - 1) / step + 1;
  source.dim_order.clear();
  return {std::move(source), ring, position};
}

std::vector<evaluate::Tensor> evaluate_ring(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor &self = frame.get(node.tensor("self")), &source = frame.get(node.tensor("source"));
  const auto entries = static_cast<std::size_t>(self.shape.at(0)), unit = static_cast<std::size_t>(self.shape.at(1));
  const auto step = static_cast<std::size_t>(node.integer("step"));
  const auto stored = static_cast<double>(frame.get(node.tensor("position")).values()[0]);
  const std::size_t place = stored >= 0 && stored < static_cast<double>(entries) ? static_cast<std::size_t>(stored) : 0;
  std::vector<float> ring(self.values().begin(), self.values().end()), taps;
  std::ranges::copy(source.values(), ring.begin() + static_cast<std::ptrdiff_t>(place * unit));
  for (std::size_t age = 1; age <= entries; age += step) {
    const auto entry = ring.begin() + static_cast<std::ptrdiff_t>((place + age) % entries * unit);
    taps.insert(taps.end(), entry, entry + static_cast<std::ptrdiff_t>(unit));
  }
  const auto count = static_cast<std::int64_t>(taps.size() / unit);
  return {evaluate::Tensor({count, self.shape[1]}, std::move(taps)), evaluate::Tensor(self.shape, std::move(ring)),
          evaluate::Tensor({1}, {static_cast<float>((place + 1) % entries)})};
}

ir::Value* lower_ring(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  require_same_quantization(node, node.tensor("self"));
  require_same_quantization(node, node.tensor("source"));
  std::vector<ir::TensorType> types;
  for (const ir::Value* result : node.results) types.push_back(result->type);
  return make_node(rewriter.graph,
                   UpdateRing<HostWorld>{.self = node.tensor("self"),
                                         .position = node.tensor("position"),
                                         .source = node.tensor("source"),
                                         .step = node.integer("step")},
                   std::move(types), node.name, node.location, &rewriter.node,
                   update_ring_variant(rewriter.config.target))
      ->result();
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  return node.op == kRing ? infer_ring(node) : infer_index_copy(node);
}
std::vector<evaluate::Tensor> evaluate_update(const ir::Node& node, const evaluate::Frame& frame) {
  return node.op == kRing ? evaluate_ring(node, frame) : evaluate_index_copy(node, frame);
}
QuantRule quantize(const ir::Node& node) {
  if (node.op == kRing) return {.output = QuantRule::Reject{"a ring is made of integers"}, .weights = {}};
  return quantize_index_copy(node);
}
ir::Value* lower(const Rewriter& rewriter) {
  return rewriter.node.op == kRing ? lower_ring(rewriter) : lower_index_copy(rewriter);
}

// An index is only read.
bool update_in_place(const ir::Node&, std::string_view argument) {
  return argument == "self" || argument == "position";
}

}  // namespace

Operator update_operator() {
  return {.name = "update",
          .layout = MemoryOrder::contiguous,
          .canonical = {"aten.index_copy(Tensor self, int dim, Tensor index, Tensor source)",
                        "aten.update_ring(Tensor self, Tensor position, Tensor source, int step)"},
          .infer = infer,
          .evaluate = evaluate_update,
          .quantize = quantize,
          .write_out = write_out_index_copy,
          .lower = lower,
          .lower_float = lower,
          .in_place = update_in_place};
}

CORMORANT_REFERENCES(update, CORMORANT_UPDATE_KERNELS)

}  // namespace cormorant::ops
