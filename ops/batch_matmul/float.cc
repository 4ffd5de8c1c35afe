// SPDX-License-Identifier: Apache-2.0
//
// aten.bmm of any rank as the portable operator, which takes rank 3 and repeats nothing.
#include "ops/batch_matmul/float.h"

#include <algorithm>

#include "ops/batch_matmul/batch_matmul.h"
#include "ops/batch_matmul/products.h"
#include "ops/host/movement.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace batch_matmul {
namespace {

// [batch…, rows, columns] of a side, repeated to the result's batches, as [batches, rows, columns].
ir::Value* matrices(const Rewriter& rewriter, const char* name, const ir::Shape& batch, bool exchanged) {
  ir::Value* value = rewriter.node.tensor(name);
  const ir::Shape& from = value->type.shape;
  const std::size_t rank = from.size();
  std::int64_t batches = 1;
  for (const std::int64_t n : batch) batches *= n;
  const std::int64_t rows = from[rank - (exchanged ? 1 : 2)];
  const std::int64_t columns = from[rank - (exchanged ? 2 : 1)];
  ir::Shape full = batch;
  full.insert(full.end(), {rows, columns});
  if (value->kind == ir::ValueKind::constant) {
    const Dims own = contiguous_steps(from);
    Dims steps(full.size(), 0);
    const std::size_t first = rank - std::min(rank, full.size());  // batches of one that the result leaves out
    for (std::size_t i = first; i + 2 < rank; ++i) steps[full.size() + i - rank] = from[i] == 1 ? 0 : own[i];
    steps[full.size() - 2] = own[rank - (exchanged ? 1 : 2)];
    steps[full.size() - 1] = own[rank - (exchanged ? 2 : 1)];
    const evaluate::Tensor tensor = strided(evaluate::constant_tensor(*value), full, steps);
    return rewriter.constant(name, ir::float_type({batches, rows, columns}), tensor.values());
  }
  const Mover mover(rewriter);
  if (exchanged) {
    Dims dims;
    for (std::size_t i = 0; i < rank; ++i) dims.push_back(static_cast<std::int64_t>(i));
    std::swap(dims[rank - 1], dims[rank - 2]);
    value = mover.permute(value, std::move(dims));
  }
  if (rank > full.size()) value = mover.view(value, {rows, columns});
  return mover.view(mover.expand(value, std::move(full)), {batches, rows, columns});
}

ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  if (!node.has("transposed")) return nullptr;  // lowered already
  const Product p =
      product_of(node.tensor("self")->type.shape, node.tensor("mat2")->type.shape, node.boolean("transposed")).value();
  ir::Value* self = matrices(rewriter, "self", p.batch, false);
  // A right side without batches serves all rows at once.
  const bool one = p.rhs_batches == 1;
  ir::Value* mat2 = matrices(rewriter, "mat2", one ? ir::Shape{} : p.batch, node.boolean("transposed"));
  const std::int64_t batches = one ? 1 : p.batches();
  const std::int64_t rows = one ? p.rows * p.batches() : p.rows;
  const Mover mover(rewriter);
  if (one && self->kind == ir::ValueKind::constant) {
    self = rewriter.graph.add_constant(self->name + "_rows", ir::float_type({batches, rows, p.inner}), self->data);
  } else {
    self = mover.view(self, {batches, rows, p.inner});
  }
  ir::Value* product = rewriter
                           .emit(Bmm<HostWorld>{.self = self, .mat2 = mat2}, ir::float_type({batches, rows, p.columns}),
                                 names::aten_bmm_out)
                           ->result();
  if (node.number("scale") != 1) {
    const float scale[] = {static_cast<float>(node.number("scale"))};
    ir::Value* factor = rewriter.constant("scale", ir::float_type({}), std::span<const float>(scale));
    product = rewriter.graph
                  .add_node(node.name, nodes::aten_mul, {{"self", product}, {"other", factor}}, {product->type},
                            node.location, &rewriter.node)
                  ->result();
  }
  return mover.view(product, node.result()->type.shape);
}

}  // namespace
}  // namespace batch_matmul

Lower batch_matmul_float() { return batch_matmul::lower_float; }

}  // namespace cormorant::ops
