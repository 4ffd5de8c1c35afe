// SPDX-License-Identifier: Apache-2.0
//
// aten.slice(self, dim, start, end, step) with 0 <= start <= end <= size and step >= 1: slices, selections and every
// kind of splitting, whose results are several slices.
#include "base/diagnostic.h"
#include "ops/host/move_reference.h"
#include "ops/host/movement.h"
#include "ops/host/references.h"
#include "ops/slice/kernel.h"
#include "ops/slice/slice.h"

namespace cormorant::ops {
namespace {

[[noreturn]] void reject(const ir::Node& node, std::string problem) {
  throw InputError({.problem = std::move(problem), .advice = {}, .node = node.name, .source = node.location.text()});
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  const auto dim = static_cast<std::size_t>(node.integer("dim"));
  const std::int64_t start = node.integer("start"), end = node.integer("end"), step = node.integer("step");
  if (dim >= type.rank()) reject(node, "the sliced dimension is out of range");
  if (start < 0 || start > end || end > type.shape[dim] || step < 1) {
    reject(node, "a slice is not within its dimension");
  }
  type.shape[dim] = (end - start + step - 1) / step;
  return {std::move(type)};
}

std::vector<evaluate::Tensor> evaluate_slice(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  const auto dim = static_cast<std::size_t>(node.integer("dim"));
  Dims steps = contiguous_steps(input.shape);
  const std::int64_t first = node.integer("start") * steps[dim];
  steps[dim] *= node.integer("step");
  return {strided(input, infer(node).front().shape, steps, first)};
}

QuantRule quantize(const ir::Node&) {
  return {.output = QuantRule::Share{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const PortableOrder order{rewriter};
  require_same_quantization(node, node.tensor("self"));
  return order.emit(SliceCopy<HostWorld>{.self = order.contiguous(node.tensor("self")),
                                         .dim = node.integer("dim"),
                                         .start = node.integer("start"),
                                         .end = node.integer("end"),
                                         .step = node.integer("step")},
                    names::aten_slice_copy_Tensor_out);
}

std::optional<std::uint64_t> part_offset(const ir::Node& node) {
  const ir::TensorType& type = node.tensor("self")->type;
  if (!node.has("start") || node.integer("step") != 1) return std::nullopt;
  const std::int64_t dim = node.integer("dim"), start = node.integer("start");
  if (dim < 0 || start < 0 || !is_outermost(type, static_cast<std::size_t>(dim))) return std::nullopt;
  const std::int64_t size = type.shape[static_cast<std::size_t>(dim)];
  return size == 0 ? 0 : static_cast<std::uint64_t>(start * (type.bytes() / size));
}

// Rows are copied in order, each from its destination or from after it.
std::optional<std::uint64_t> overlap(const ir::Node& node, std::string_view argument) {
  if (argument != "self" || !node.has("step") || node.integer("step") != 1) return std::nullopt;
  return 0;
}

}  // namespace

Operator slice_operator() {
  return {.name = "slice",
          .canonical = {"aten.slice(Tensor self, int dim, int start, int end, int step)"},
          .infer = infer,
          .evaluate = evaluate_slice,
          .quantize = quantize,
          .lower = lower,
          .lower_float = lower,
          .part_offset = part_offset,
          .overlap = overlap};
}

CORMORANT_REFERENCES(slice, CORMORANT_SLICE_KERNELS)

}  // namespace cormorant::ops
