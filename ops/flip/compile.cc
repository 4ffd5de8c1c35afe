// SPDX-License-Identifier: Apache-2.0
//
// aten.flip(self, dims), dims not negative, each once.
#include <algorithm>

#include "base/diagnostic.h"
#include "ops/flip/flip.h"
#include "ops/flip/kernel.h"
#include "ops/host/move_reference.h"
#include "ops/host/movement.h"
#include "ops/host/references.h"

namespace cormorant::ops {
namespace {

using Values = std::vector<ir::Value*>;

Values make_flip(const Importer& importer, Dims dims) {
  ir::Value* self = importer.call->tensor("self");
  for (std::int64_t& dim : dims) dim = dim_argument(importer, dim, self->type.rank());
  return {Mover(importer).flip(self, std::move(dims))};
}

Values import_flip(Importer& importer) { return make_flip(importer, importer.call->integers("dims")); }
Values import_fliplr(Importer& importer) { return make_flip(importer, {1}); }
Values import_flipud(Importer& importer) { return make_flip(importer, {0}); }

// Quarter turns from the first dimension towards the second: a flip and a transposition.
Values import_rot90(Importer& importer) {
  ir::Value* self = importer.call->tensor("self");
  const Dims& dims = importer.call->integers("dims");
  if (dims.size() != 2) importer.reject("rot90 turns in a plane of two dimensions", {});
  const std::int64_t first = dim_argument(importer, dims[0], self->type.rank());
  const std::int64_t second = dim_argument(importer, dims[1], self->type.rank());
  const std::int64_t turns = ((importer.call->integer("k") % 4) + 4) % 4;
  const Mover mover(importer);
  if (turns == 0) return {self};
  if (turns == 2) return {mover.flip(self, {first, second})};
  Dims swapped;
  for (std::size_t i = 0; i < self->type.rank(); ++i) swapped.push_back(static_cast<std::int64_t>(i));
  std::swap(swapped[static_cast<std::size_t>(first)], swapped[static_cast<std::size_t>(second)]);
  return {mover.permute(mover.flip(self, {turns == 1 ? second : first}), std::move(swapped))};
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const ir::TensorType& type = node.tensor("self")->type;
  const Dims& dims = node.integers("dims");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool twice = std::find(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(i), dims[i]) !=
                       dims.begin() + static_cast<std::ptrdiff_t>(i);
    if (dims[i] < 0 || static_cast<std::size_t>(dims[i]) >= type.rank() || twice) {
      throw InputError({.problem = "a flipped dimension is out of range, or named twice",
                        .advice = {},
                        .node = node.name,
                        .source = node.location.text()});
    }
  }
  return {type};
}

std::vector<evaluate::Tensor> evaluate_flip(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  Dims steps = contiguous_steps(input.shape);
  std::int64_t first = 0;
  for (const std::int64_t dim : node.integers("dims")) {
    std::int64_t& step = steps[static_cast<std::size_t>(dim)];
    first += (input.shape[static_cast<std::size_t>(dim)] - 1) * step;
    step = -step;
  }
  return {strided(input, input.shape, steps, first)};
}

QuantRule quantize(const ir::Node&) {
  return {.output = QuantRule::Share{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const PortableOrder order{rewriter};
  require_same_quantization(node, node.tensor("self"));
  return order.emit(Flip<HostWorld>{.self = order.contiguous(node.tensor("self")), .dims = node.integers("dims")},
                    names::aten_flip_out);
}

}  // namespace

Operator flip_operator() {
  return {.name = "flip",
          .forms = {{"flip.default(Tensor self, int[] dims)", import_flip},
                    {"fliplr.default(Tensor self)", import_fliplr},
                    {"flipud.default(Tensor self)", import_flipud},
                    {"rot90.default(Tensor self, int k=1, int[] dims=[0,1])", import_rot90}},
          .canonical = {"aten.flip(Tensor self, int[] dims)"},
          .infer = infer,
          .evaluate = evaluate_flip,
          .quantize = quantize,
          .lower = lower,
          .lower_float = lower};
}

CORMORANT_REFERENCES(flip, CORMORANT_FLIP_KERNELS)

}  // namespace cormorant::ops
