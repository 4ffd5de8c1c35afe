// SPDX-License-Identifier: Apache-2.0
//
// aten.cat(tensors, dim), dim not negative: every form of a concatenation. Stacking is the same with a dimension of
// size 1 first inserted into each tensor.
#include <algorithm>

#include "base/diagnostic.h"
#include "ops/cat/cat.h"
#include "ops/host/movement.h"

namespace cormorant::ops {
namespace {

using Values = std::vector<ir::Value*>;

[[noreturn]] void reject(const ir::Node& node, std::string problem) {
  throw InputError({.problem = std::move(problem), .advice = {}, .node = node.name, .source = node.location.text()});
}

// PyTorch allows empty vectors anywhere in the list; here they vanish.
Values parts_of(const Importer& importer) {
  Values parts = importer.call->tensors("tensors");
  const auto is_nothing = [](const ir::Value* value) { return value->type.shape == ir::Shape{0}; };
  if (!std::ranges::all_of(parts, is_nothing)) std::erase_if(parts, is_nothing);
  if (parts.empty()) importer.reject("a concatenation of no tensors", {});
  return parts;
}

Values concatenate(const Importer& importer, Values parts, std::int64_t dim) {
  const std::size_t rank = parts.front()->type.rank();
  for (const ir::Value* part : parts) {
    if (part->type.rank() != rank) importer.reject("the concatenated tensors differ in rank", {});
    if (part->type.dtype != parts.front()->type.dtype) {
      importer.reject("the concatenated tensors differ in element type", "convert them outside the model");
    }
  }
  return {Mover(importer).cat(std::move(parts), dim_argument(importer, dim, rank))};
}

Values import_cat(Importer& importer) {
  return concatenate(importer, parts_of(importer), importer.call->integer("dim"));
}

Values import_stack(Importer& importer) {
  Values parts = importer.call->tensors("tensors");
  if (parts.empty()) importer.reject("a stack of no tensors", {});
  const std::int64_t dim = dim_argument(importer, importer.call->integer("dim"), parts.front()->type.rank() + 1);
  for (ir::Value*& part : parts) {
    ir::Shape shape = part->type.shape;
    shape.insert(shape.begin() + dim, 1);
    part = Mover(importer).view(part, std::move(shape));
  }
  return concatenate(importer, std::move(parts), dim);
}

// hstack, vstack, dstack and column_stack give tensors of low rank more dimensions before they concatenate.
Values at_least(const Importer& importer, std::size_t rank) {
  Values parts = parts_of(importer);
  for (ir::Value*& part : parts) {
    ir::Shape shape = part->type.shape;
    if (rank == 3) {  // a vector is a row of pixels: [1, n, 1]
      if (shape.size() == 1) shape.insert(shape.begin(), 1);
      if (shape.size() == 2) shape.push_back(1);
    }
    while (shape.size() < rank) shape.insert(shape.begin(), 1);
    part = Mover(importer).view(part, std::move(shape));
  }
  return parts;
}

Values import_vstack(Importer& importer) { return concatenate(importer, at_least(importer, 2), 0); }

Values import_dstack(Importer& importer) { return concatenate(importer, at_least(importer, 3), 2); }

Values import_hstack(Importer& importer) {
  Values parts = at_least(importer, 1);
  const std::int64_t dim = parts.front()->type.rank() == 1 ? 0 : 1;
  return concatenate(importer, std::move(parts), dim);
}

Values import_column_stack(Importer& importer) {
  Values parts = parts_of(importer);
  for (ir::Value*& part : parts) {  // a vector is a column
    ir::Shape shape = part->type.shape;
    while (shape.size() < 2) shape.push_back(1);
    part = Mover(importer).view(part, std::move(shape));
  }
  return concatenate(importer, std::move(parts), 1);
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const Values& parts = node.tensors("tensors");
  if (parts.empty()) reject(node, "a concatenation of no tensors");
  ir::TensorType type = parts.front()->type;
  const auto dim = static_cast<std::size_t>(node.integer("dim"));
  if (dim >= type.rank()) reject(node, "the concatenated dimension is out of range");
  type.shape[dim] = 0;
  for (const ir::Value* part : parts) {
    ir::Shape shape = part->type.shape;
    if (shape.size() != type.rank()) reject(node, "the concatenated tensors differ in rank");
    type.shape[dim] += shape[dim];
    shape[dim] = type.shape[dim];
    if (shape != type.shape) {
      reject(node, "the concatenated tensors differ in a dimension other than " + std::to_string(dim));
    }
  }
  return {std::move(type)};
}

std::vector<evaluate::Tensor> evaluate_cat(const ir::Node& node, const evaluate::Frame& frame) {
  const Values& parts = node.tensors("tensors");
  const auto dim = static_cast<std::size_t>(node.integer("dim"));
  ir::Shape shape = infer(node).front().shape;
  std::size_t total = 1;
  std::size_t rows = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    total *= static_cast<std::size_t>(shape[i]);
    if (i < dim) rows *= static_cast<std::size_t>(shape[i]);
  }
  std::vector<float> out(total);
  auto to = out.begin();
  for (std::size_t row = 0; row < rows; ++row) {
    for (const ir::Value* part : parts) {
      const auto values = frame.get(part).values();
      const std::size_t chunk = values.size() / rows;
      to = std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(row * chunk), chunk, to);
    }
  }
  return {evaluate::Tensor(std::move(shape), std::move(out))};
}

QuantRule quantize(const ir::Node&) {
  return {.output = QuantRule::Share{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const PortableOrder order{rewriter};
  Values parts = node.tensors("tensors");
  for (ir::Value*& part : parts) {
    require_same_quantization(node, part);
    part = order.contiguous(part);
  }
  return order.emit(Cat<HostWorld>{.tensors = std::move(parts), .dim = node.integer("dim")}, names::aten_cat_out);
}

bool joins(const ir::Node& node) {
  const std::int64_t dim = node.integer("dim");
  return dim >= 0 && is_outermost(node.result()->type, static_cast<std::size_t>(dim));
}

// Of one of the tensors, "tensors.1". Where all of them can be in place there is nothing to copy, which is better.
std::optional<std::uint64_t> overlap(const ir::Node& node, std::string_view argument) {
  constexpr std::string_view kList = "tensors.";
  if (!argument.starts_with(kList) || joins(node)) return std::nullopt;
  const std::size_t index = std::stoul(std::string(argument.substr(kList.size())));
  const ir::TensorType& out = node.result()->type;
  const auto dim = static_cast<std::size_t>(node.integer("dim"));
  const Values& parts = node.tensors("tensors");
  if (out.elements() == 0 || out.shape.at(dim) == 0) return std::nullopt;
  std::uint64_t rows = 1;  // the dimensions outside this one
  for (std::size_t i = 0; i < out.rank(); ++i) {
    const auto at = out.dim_order.empty() ? i : static_cast<std::size_t>(out.dim_order[i]);
    if (at == dim) break;
    rows *= static_cast<std::uint64_t>(out.shape[at]);
  }
  const auto chunk = [&](const ir::Value* value) { return static_cast<std::uint64_t>(value->type.bytes()) / rows; };
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < index; ++i) offset += chunk(parts.at(i));
  return cat_distance(rows, chunk(node.result()), chunk(parts.at(index)), offset);
}

}  // namespace

Operator cat_operator() {
  return {.name = "cat",
          .forms = {{"cat.default(Tensor[] tensors, int dim=0)", import_cat},
                    {"concat.default(Tensor[] tensors, int dim=0)", import_cat},
                    {"concatenate.default(Tensor[] tensors, int dim=0)", import_cat},
                    {"stack.default(Tensor[] tensors, int dim=0)", import_stack},
                    {"hstack.default(Tensor[] tensors)", import_hstack},
                    {"vstack.default(Tensor[] tensors)", import_vstack},
                    {"row_stack.default(Tensor[] tensors)", import_vstack},
                    {"dstack.default(Tensor[] tensors)", import_dstack},
                    {"column_stack.default(Tensor[] tensors)", import_column_stack}},
          .canonical = {"aten.cat(Tensor[] tensors, int dim)"},
          .infer = infer,
          .evaluate = evaluate_cat,
          .quantize = quantize,
          .lower = lower,
          .lower_float = lower,
          .joins = joins,
          .overlap = overlap};
}

}  // namespace cormorant::ops
