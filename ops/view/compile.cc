// SPDX-License-Identifier: Apache-2.0
//
// The same bytes under another shape: no instruction and no memory in our runtime. aten.view(self, size), sizes all
// known, is every spelling that keeps the elements in their logical order. cormorant.relayout(self) is what the layout
// pass puts between a tensor and its other reading, [N, H, W, C] contiguous and [N, C, H, W] channels-last: the logical
// order changes, the bytes do not.
//
// aten::view_copy.out is a copy, for files of other compilers.
#include <algorithm>

#include "base/diagnostic.h"
#include "ops/op.h"
#include "ops/view/reference.h"
#include "ops/view/view.h"

namespace cormorant::ops {
namespace {

using Dims = std::vector<std::int64_t>;

std::vector<ir::Value*> make_view(Importer& importer, Dims size) {
  ir::Value* self = importer.call->tensor("self");
  if (size == self->type.shape) return {self};
  return importer.node("aten.view", {{"self", self}, {"size", std::move(size)}})->results;
}

// The exported result's shape says it all: -1 is resolved, dimensions are squeezed, flattened or split.
std::vector<ir::Value*> import_view(Importer& importer) { return make_view(importer, importer.types.at(0).shape); }

std::int64_t elements(const Dims& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  return n;
}

[[noreturn]] void reject(const ir::Node& node, std::string problem) {
  throw InputError({.problem = std::move(problem), .advice = {}, .node = node.name, .source = node.location.text()});
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const ir::TensorType& input = node.tensor("self")->type;
  if (node.op == "cormorant.relayout") {
    const ir::TensorType& type = node.result()->type;
    if (type.bytes() != input.bytes()) reject(node, "relayout cannot change the number of bytes");
    return {type};
  }
  ir::TensorType type = input;
  type.shape = node.integers("size");
  type.dim_order.clear();
  if (elements(type.shape) != elements(input.shape)) reject(node, "a view cannot change the number of elements");
  return {std::move(type)};
}

// Evaluation keeps tensors in logical order, so a relayout moves what the program leaves in place.
evaluate::Tensor relayout(const ir::TensorType& from, const ir::TensorType& to, const evaluate::Tensor& input) {
  const auto order_of = [](const ir::TensorType& type) {
    std::vector<std::size_t> order(type.rank());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = type.dim_order.empty() ? i : type.dim_order[i];
    return order;
  };
  // visit(index in memory order -> index in logical order)
  const auto logical = [&](const ir::TensorType& type) {
    const std::vector<std::size_t> order = order_of(type);
    Dims strides(type.rank(), 1);
    for (std::size_t i = type.rank(); i-- > 1;) strides[i - 1] = strides[i] * type.shape[i];
    Dims at(type.rank(), 0);
    std::vector<std::size_t> indices(static_cast<std::size_t>(type.elements()));
    for (std::size_t& index : indices) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < at.size(); ++i) sum += at[i] * strides[order[i]];
      index = static_cast<std::size_t>(sum);
      for (std::size_t i = at.size(); i-- > 0 && ++at[i] == type.shape[order[i]];) at[i] = 0;
    }
    return indices;
  };
  const std::vector<std::size_t> source = logical(from);
  const std::vector<std::size_t> target = logical(to);
  std::vector<float> out(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) out[target[i]] = input.values()[source[i]];
  return {to.shape, std::move(out)};
}

std::vector<evaluate::Tensor> evaluate_view(const ir::Node& node, const evaluate::Frame& frame) {
  const ir::Value* self = node.tensor("self");
  const evaluate::Tensor& input = frame.get(self);
  if (node.op == "cormorant.relayout") return {relayout(self->type, node.result()->type, input)};
  return {input.reshaped(node.integers("size"))};
}

QuantRule quantize(const ir::Node&) { return {.output = QuantRule::Share{}, .weights = {}}; }

}  // namespace

Operator view_operator() {
  return {.name = "view",
          .layout = Layout::contiguous,
          .forms = {{"view.default(Tensor self, SymInt[] size)", import_view},
                    {"view_copy.default(Tensor self, SymInt[] size)", import_view},
                    {"_unsafe_view.default(Tensor self, SymInt[] size)", import_view},
                    {"_reshape_alias.default(Tensor self, SymInt[] size, SymInt[] stride)", import_view},
                    {"reshape.default(Tensor self, SymInt[] shape)", import_view},
                    {"view_as.default(Tensor self, Tensor other)", import_view},
                    {"reshape_as.default(Tensor self, Tensor other)", import_view},
                    {"flatten.using_ints(Tensor self, int start_dim=0, int end_dim=-1)", import_view},
                    {"unflatten.int(Tensor self, int dim, SymInt[] sizes)", import_view},
                    {"squeeze.default(Tensor self)", import_view},
                    {"squeeze.dim(Tensor self, int dim)", import_view},
                    {"squeeze.dims(Tensor self, int[] dim)", import_view},
                    {"squeeze_copy.default(Tensor self)", import_view},
                    {"squeeze_copy.dim(Tensor self, int dim)", import_view},
                    {"squeeze_copy.dims(Tensor self, int[] dim)", import_view},
                    {"unsqueeze.default(Tensor self, int dim)", import_view},
                    {"unsqueeze_copy.default(Tensor self, int dim)", import_view}},
          .canonical = {"aten.view", "cormorant.relayout"},
          .infer = infer,
          .evaluate = evaluate_view,
          .quantize = quantize,
          .signatures = {signature_of<ViewCopy>()},
          .is_alias = true,
          .host_kernels = {&kViewCopyReference}};
}

}  // namespace cormorant::ops
