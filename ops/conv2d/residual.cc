// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d/residual.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "ops/conv2d/conv2d.h"
#include "ops/nodes.h"

namespace cormorant::ops::conv2d {
namespace {

// A whole tensor of its own, which nothing reads after the node: no other value is a part of it.
bool dies_at(const ir::Graph& graph, const ir::Value& value, const ir::Node& node) {
  if (value.kind != ir::ValueKind::result || graph.is_kept(&value)) return false;
  const auto moves_nothing = [](const ir::Node* other) {
    const Operator* op = find(*other);
    return op == nullptr || op->is_alias || op->part_offset != nullptr || op->joins != nullptr;
  };
  const std::vector<const ir::Node*> users = graph.users(&value);
  return users.back() == &node && !moves_nothing(value.producer) && std::ranges::none_of(users, moves_nothing);
}

// Whether it is a stage of a group of rows, which has a schedule for each of its nodes, and whose images stay where
// they are from tick to tick. A group's nodes are adjacent, those that feed it first, the group itself last.
bool is_in_group(const ir::Graph& graph, const ir::Node& node) {
  for (auto at = node.membership.at; at != graph.nodes().begin();) {
    --at;
    if (at->op.starts_with(nodes::cormorant_rows_)) return at->op != nodes::cormorant_rows_group;
  }
  return false;
}

// None if the node is no such convolution.
std::optional<SummedConv2d<HostWorld>> without_sum(const ir::Node& convolution) {
  if (program_name(convolution.op) != names::cormorant_conv2d_mve_kxk) return std::nullopt;
  const auto call = read_node<PackedConv2d<HostWorld>>(convolution);
  conv::Header header;
  if (call.packed->data.bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, call.packed->data.bytes.data(), sizeof header);
  const conv::Geometry& g = header.geometry;
  if (!is_summable(g)) return std::nullopt;
  const CheckedSize bytes = scratch_bytes(kMveSum, g) + summed_bytes(g);
  if (!bytes.fits()) return std::nullopt;
  SummedConv2d<HostWorld> summed{.input = call.input, .packed = call.packed};
  summed.scratch.bytes = bytes.value();
  return summed;
}

ir::Value* absorb(const Rewriter& rewriter, ir::Value* convolved, ir::Value* residual, const SumFactors& factors) {
  const ir::Node& node = rewriter.node;
  const ir::TensorType& type = node.result()->type;
  if (convolved == residual || convolved->producer == nullptr) return nullptr;
  if (rewriter.graph.only_user(convolved) != &node) return nullptr;
  if (is_in_group(rewriter.graph, node) || !dies_at(rewriter.graph, *residual, node)) return nullptr;
  for (const ir::Value* operand : {convolved, residual}) {
    if (operand->type.shape != type.shape || operand->type.dim_order != type.dim_order) return nullptr;
  }
  auto summed = without_sum(*convolved->producer);
  if (!summed) return nullptr;
  summed->residual = residual;
  summed->self_factor = factors.self;
  summed->other_factor = factors.other;
  summed->offset = factors.offset;
  summed->shift = factors.shift;
  const ir::Node& convolution = *convolved->producer;
  return make_node(rewriter.graph, *summed, {type}, convolution.name, convolution.location, &rewriter.node,
                   names::cormorant_conv2d_mve_sum)
      ->result();
}

}  // namespace

ir::Value* absorb_sum(const Rewriter& rewriter, ir::Value* self, ir::Value* other, const SumFactors& factors) {
  const Target& target = rewriter.config.target;
  if (target.isa != Isa::mve || target.optimize == Optimize::size) return nullptr;
  if (ir::Value* sum = absorb(rewriter, self, other, factors); sum != nullptr) return sum;
  return absorb(rewriter, other, self, {factors.other, factors.self, factors.offset, factors.shift});
}

}  // namespace cormorant::ops::conv2d
