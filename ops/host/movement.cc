// SPDX-License-Identifier: Apache-2.0
#include "ops/host/movement.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/diagnostic.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

std::size_t index(std::int64_t dim) { return static_cast<std::size_t>(dim); }

}  // namespace

ir::Value* Mover::add(const char* op, std::vector<ir::NamedArgument> args, const ir::Value* like,
                      ir::Shape shape) const {
  ir::TensorType type = like->type;
  type.shape = std::move(shape);
  type.dim_order.clear();
  return graph_.add_node(name_, op, std::move(args), {std::move(type)}, location_, before_)->result();
}

ir::Value* Mover::view(ir::Value* self, ir::Shape size) const {
  if (size == self->type.shape) return self;
  return add(nodes::aten_view, {{"self", self}, {"size", size}}, self, size);
}

ir::Value* Mover::permute(ir::Value* self, Dims dims) const {
  if (std::is_sorted(dims.begin(), dims.end())) return self;
  ir::Shape shape;
  for (const std::int64_t dim : dims) shape.push_back(self->type.shape.at(index(dim)));
  return add(nodes::aten_permute, {{"self", self}, {"dims", std::move(dims)}}, self, std::move(shape));
}

ir::Value* Mover::slice(ir::Value* self, std::int64_t dim, std::int64_t start, std::int64_t end,
                        std::int64_t step) const {
  ir::Shape shape = self->type.shape;
  std::int64_t& size = shape.at(index(dim));
  if (start == 0 && end == size && (step == 1 || size <= 1)) return self;
  size = end <= start ? 0 : (end - start + step - 1) / step;
  return add(nodes::aten_slice, {{"self", self}, {"dim", dim}, {"start", start}, {"end", end}, {"step", step}}, self,
             std::move(shape));
}

ir::Value* Mover::cat(std::vector<ir::Value*> tensors, std::int64_t dim) const {
  if (tensors.size() == 1) return tensors.front();
  ir::Shape shape = tensors.front()->type.shape;
  std::int64_t& size = shape.at(index(dim));
  size = 0;
  for (const ir::Value* tensor : tensors) size += tensor->type.shape.at(index(dim));
  const ir::Value* like = tensors.front();
  return add(nodes::aten_cat, {{"tensors", std::move(tensors)}, {"dim", dim}}, like, std::move(shape));
}

ir::Value* Mover::expand(ir::Value* self, ir::Shape size) const {
  if (size.size() < self->type.rank()) throw std::logic_error("expand to fewer dimensions");
  ir::Shape aligned(size.size() - self->type.rank(), 1);
  aligned.insert(aligned.end(), self->type.shape.begin(), self->type.shape.end());
  self = view(self, std::move(aligned));
  if (size == self->type.shape) return self;
  return add(nodes::aten_expand, {{"self", self}, {"size", size}}, self, size);
}

ir::Value* Mover::flip(ir::Value* self, Dims dims) const {
  std::erase_if(dims, [&](std::int64_t dim) { return self->type.shape.at(index(dim)) <= 1; });
  if (dims.empty()) return self;
  return add(nodes::aten_flip, {{"self", self}, {"dims", std::move(dims)}}, self, self->type.shape);
}

ir::Value* Mover::repeat_interleave(ir::Value* self, Dims repeats) const {
  // Two dimensions at a time are seven loops at most, whatever the rank: as many as kernels take.
  Dims now(repeats.size(), 1);
  ir::Shape shape = self->type.shape;
  int repeated = 0;
  for (std::size_t i = 0; i < repeats.size() && repeated < 2; ++i) {
    if (repeats[i] == 1) continue;
    ++repeated;
    std::swap(now[i], repeats[i]);
    shape.at(i) *= now[i];
  }
  if (repeated == 0) return self;
  self = add(nodes::aten_repeat_interleave, {{"self", self}, {"repeats", std::move(now)}}, self, std::move(shape));
  return repeat_interleave(self, std::move(repeats));
}

std::int64_t dim_argument(const Importer& importer, std::int64_t dim, std::size_t rank) {
  const auto limit = static_cast<std::int64_t>(rank);
  if (dim < -limit || dim >= limit) {
    importer.reject("dimension " + std::to_string(dim) + " is out of range",
                    "the tensor has " + std::to_string(rank) + " dimensions");
  }
  return dim < 0 ? dim + limit : dim;
}

Dims contiguous_steps(const ir::Shape& shape) {
  Dims steps(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) steps[i - 1] = steps[i] * shape[i];
  return steps;
}

evaluate::Tensor strided(const evaluate::Tensor& input, ir::Shape shape, const Dims& steps, std::int64_t first) {
  const std::size_t rank = shape.size();
  const std::int64_t total = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<float> out(index(total));
  const float* from = input.values().data();
  const std::int64_t run = rank == 0 ? 1 : shape[rank - 1];
  const std::int64_t step = rank == 0 ? 1 : steps[rank - 1];
  Dims at(rank, 0);
  for (std::size_t to = 0; to < out.size(); to += index(run)) {
    for (std::int64_t i = 0; i < run; ++i) out[to + index(i)] = from[first + i * step];
    for (std::size_t i = rank == 0 ? 0 : rank - 1; i-- > 0;) {
      first += steps[i];
      if (++at[i] < shape[i]) break;
      first -= steps[i] * shape[i];
      at[i] = 0;
    }
  }
  return {std::move(shape), std::move(out)};
}

bool is_outermost(const ir::TensorType& type, std::size_t dim) {
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const std::size_t at = type.dim_order.empty() ? i : type.dim_order[i];
    if (at == dim) return true;
    if (type.shape[at] != 1) return false;
  }
  return false;
}

void require_same_quantization(const ir::Node& node, const ir::Value* input) {
  if (input->type.quant == node.result()->type.quant) return;
  throw InputError({.problem = node.op + " moves data and cannot change its quantization parameters",
                    .advice = "quantize the model so that inputs and output of this operator share them",
                    .node = node.name,
                    .source = node.location.text()});
}

bool PortableOrder::applies(const ir::TensorType& type) const {
  return rewriter.config.runtime == Runtime::executorch && type.rank() == 4;
}

ir::TensorType PortableOrder::type(const ir::TensorType& type) const {
  ir::TensorType five = type;
  if (applies(type)) five.shape.push_back(1);
  return five;
}

ir::Value* PortableOrder::contiguous(ir::Value* value) const {
  return applies(value->type) ? Mover(rewriter).view(value, type(value->type).shape) : value;
}

ir::Value* PortableOrder::back(ir::Value* value, const ir::TensorType& type) const {
  return applies(type) ? Mover(rewriter).view(value, type.shape) : value;
}

}  // namespace cormorant::ops
