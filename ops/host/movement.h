// SPDX-License-Identifier: Apache-2.0
//
// Data movement on the host's side: builders for the canonical nodes that many forms decompose into (view, permute,
// slice, cat, expand, flip), each of which returns its input if nothing would move; the float semantics they share; and
// what ExecuTorch's portable kernels need that ours do not.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "evaluate/tensor.h"
#include "ir/graph.h"
#include "ops/op.h"

namespace cormorant::ops {

using Dims = std::vector<std::int64_t>;

// Inserts nodes in place of an exported call (or a node that is being lowered), with its name and location.
class Mover {
 public:
  explicit Mover(const Importer& importer)
      : graph_(*importer.graph), name_(importer.call->name), location_(importer.call->location), before_(nullptr) {}
  explicit Mover(const Rewriter& rewriter)
      : graph_(rewriter.graph), name_(rewriter.node.name), location_(rewriter.node.location), before_(&rewriter.node) {}

  // Dimensions are not negative and within the rank; bounds are within the sizes.
  ir::Value* view(ir::Value* self, ir::Shape size) const;
  ir::Value* permute(ir::Value* self, Dims dims) const;
  ir::Value* slice(ir::Value* self, std::int64_t dim, std::int64_t start, std::int64_t end,
                   std::int64_t step = 1) const;
  ir::Value* cat(std::vector<ir::Value*> tensors, std::int64_t dim) const;
  ir::Value* expand(ir::Value* self, ir::Shape size) const;  // as PyTorch: new dimensions in front, size 1 to any
  ir::Value* flip(ir::Value* self, Dims dims) const;
  // Each index along a dimension as often as `repeats` says, one after another: 0 0 1 1 2 2.
  ir::Value* repeat_interleave(ir::Value* self, Dims repeats) const;

 private:
  ir::Value* add(const char* op, std::vector<ir::NamedArgument> args, const ir::Value* like, ir::Shape shape) const;

  ir::Graph& graph_;
  const std::string& name_;
  const ir::Location& location_;
  ir::Node* before_;
};

// An exported call's dimension, not negative; a dimension that the tensor does not have is the user's error.
std::int64_t dim_argument(const Importer& importer, std::int64_t dim, std::size_t rank);

// The elements of `input` that a walk over `shape` visits: from `first`, by `steps` elements along each dimension.
evaluate::Tensor strided(const evaluate::Tensor& input, ir::Shape shape, const Dims& steps, std::int64_t first = 0);
Dims contiguous_steps(const ir::Shape& shape);

// Whether each index of the dimension is contiguous in memory: no dimension of more than one entry is outside it.
bool is_outermost(const ir::TensorType& type, std::size_t dim);

// Throws unless input and result have equal parameters: moving data cannot change what it means.
void require_same_quantization(const ir::Node& node, const ir::Value* input);

// ExecuTorch's portable kernels take dimensions for memory axes, whatever the tensor's dim order. As five dimensions,
// the last of size 1, a tensor is always contiguous. For our runtime nothing changes.
struct PortableOrder {
  const Rewriter& rewriter;
  [[nodiscard]] ir::Value* contiguous(ir::Value* value) const;
  [[nodiscard]] ir::TensorType type(const ir::TensorType& type) const;
  // What replaces the node's result: that of the instruction `op`, in the node's own order.
  template <class S>
  [[nodiscard]] ir::Value* emit(S fields, std::string_view op) const {
    const ir::TensorType& wanted = rewriter.node.result()->type;
    return back(rewriter.emit(std::move(fields), type(wanted), op)->result(), wanted);
  }

 private:
  [[nodiscard]] ir::Value* back(ir::Value* value, const ir::TensorType& type) const;
  [[nodiscard]] bool applies(const ir::TensorType& type) const;
};

}  // namespace cormorant::ops
