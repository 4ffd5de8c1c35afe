// SPDX-License-Identifier: Apache-2.0
//
// aten.expand(self, size), of equal rank: dimensions of size 1 become any size. repeat and tile, which repeat larger
// dimensions too, are expansions between views, or concatenations of the tensor with itself if that keeps its memory
// order.
#include "base/diagnostic.h"
#include "ops/expand/expand.h"
#include "ops/expand/kernel.h"
#include "ops/host/move_reference.h"
#include "ops/host/movement.h"
#include "ops/host/references.h"

namespace cormorant::ops {
namespace {

using Values = std::vector<ir::Value*>;

constexpr std::int64_t kMostCopies = 8;  // of a tensor, in the list of a concatenation

Values expand_to(const Importer& importer, ir::Shape size) {
  ir::Value* self = importer.call->tensor("self");
  const ir::Shape& from = self->type.shape;
  bool fits = size.size() >= from.size();
  for (std::size_t i = 0; fits && i < from.size(); ++i) {
    std::int64_t& wanted = size[size.size() - from.size() + i];
    if (wanted == -1) wanted = from[i];
    fits = wanted == from[i] || from[i] == 1;
  }
  if (!fits) importer.reject("a tensor cannot be expanded to that shape", {});
  return {Mover(importer).expand(self, std::move(size))};
}

Values import_expand(Importer& importer) { return expand_to(importer, importer.call->integers("size")); }

Values import_expand_as(Importer& importer) { return expand_to(importer, importer.call->tensor("other")->type.shape); }

// One dimension, repeated `times` times: 0 1 2 0 1 2.
ir::Value* repeat(const Mover& mover, ir::Value* value, std::size_t dim, std::int64_t times) {
  ir::Shape size = value->type.shape;
  if (times == 1) return value;
  if (size[dim] == 1) {
    size[dim] = times;
    return mover.expand(value, std::move(size));
  }
  if (times > 0 && times <= kMostCopies) {
    return mover.cat(Values(static_cast<std::size_t>(times), value), static_cast<std::int64_t>(dim));
  }
  ir::Shape result = size;
  result[dim] *= times;
  // Everything before the dimension and everything after it is one: three dimensions suffice, and one more for the
  // repetition.
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < dim; ++i) outer *= size[i];
  const std::int64_t inner = outer * size[dim] == 0 ? 0 : value->type.elements() / outer;
  ir::Value* seen = mover.view(value, {outer, 1, inner});
  return mover.view(mover.expand(seen, {outer, times, inner}), std::move(result));
}

Values repeat_all(const Importer& importer, Dims repeats) {
  const Mover mover(importer);
  ir::Value* value = importer.call->tensor("self");
  ir::Shape shape = value->type.shape;
  if (repeats.size() < shape.size()) importer.reject("repeat needs a number for each dimension", {});
  shape.insert(shape.begin(), repeats.size() - shape.size(), 1);
  value = mover.view(value, std::move(shape));
  for (std::size_t i = repeats.size(); i-- > 0;) {
    if (repeats[i] < 1) importer.reject("a repetition of zero times", {});
    value = repeat(mover, value, i, repeats[i]);
  }
  return {value};
}

Values import_repeat(Importer& importer) { return repeat_all(importer, importer.call->integers("repeats")); }

Values import_tile(Importer& importer) {
  Dims repeats = importer.call->integers("dims");
  const std::size_t rank = importer.call->tensor("self")->type.rank();
  if (repeats.size() < rank) repeats.insert(repeats.begin(), rank - repeats.size(), 1);
  return repeat_all(importer, std::move(repeats));
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  const Dims& size = node.integers("size");
  bool fits = size.size() == type.rank();
  for (std::size_t i = 0; fits && i < size.size(); ++i) fits = size[i] == type.shape[i] || type.shape[i] == 1;
  if (!fits) {
    throw InputError({.problem = "a tensor cannot be expanded to that shape",
                      .advice = {},
                      .node = node.name,
                      .source = node.location.text()});
  }
  type.shape = size;
  return {std::move(type)};
}

std::vector<evaluate::Tensor> evaluate_expand(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  Dims steps = contiguous_steps(input.shape);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (input.shape[i] == 1) steps[i] = 0;
  }
  return {strided(input, node.integers("size"), steps)};
}

QuantRule quantize(const ir::Node&) {
  return {.output = QuantRule::Share{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const PortableOrder order{rewriter};
  require_same_quantization(node, node.tensor("self"));
  return order.emit(ExpandCopy<HostWorld>{.self = order.contiguous(node.tensor("self")),
                                          .size = order.type(node.result()->type).shape,
                                          .implicit = false},
                    names::aten_expand_copy_out);
}

}  // namespace

Operator expand_operator() {
  return {.name = "expand",
          .forms = {{"expand.default(Tensor self, SymInt[] size, *, bool implicit=False)", import_expand},
                    {"expand_copy.default(Tensor self, SymInt[] size, *, bool implicit=False)", import_expand},
                    {"expand_as.default(Tensor self, Tensor other)", import_expand_as},
                    {"broadcast_to.default(Tensor self, SymInt[] size)", import_expand},
                    {"repeat.default(Tensor self, SymInt[] repeats)", import_repeat},
                    {"tile.default(Tensor self, SymInt[] dims)", import_tile}},
          .canonical = {"aten.expand(Tensor self, int[] size)"},
          .infer = infer,
          .evaluate = evaluate_expand,
          .quantize = quantize,
          .lower = lower,
          .lower_float = lower};
}

CORMORANT_REFERENCES(expand, CORMORANT_EXPAND_KERNELS)

}  // namespace cormorant::ops
