// SPDX-License-Identifier: Apache-2.0
//
// x[:, [2, 3, 4]] is exported as a selection by constant indices. If these are equally far apart it is a slice, which
// costs nothing where its elements are together in memory. If they are a permutation of what one linear layer or
// convolution then adds up, so are the layer's weights, once and for all. torch.gather along a dimension, with constant
// indices that are the same everywhere else, is such a selection.
#include <algorithm>
#include <numeric>
#include <optional>

#include "evaluate/tensor.h"
#include "ops/nodes.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

using Indices = std::vector<std::int64_t>;

// All of them inside the dimension; none if they are computed, or something is wrong with them.
std::optional<Indices> indices_of(const ir::Node& select) {
  const ir::Value* index = select.tensor("index");
  if (index->kind != ir::ValueKind::constant || index->type.elements() == 0) return std::nullopt;
  const std::int64_t size = select.tensor("self")->type.shape.at(static_cast<std::size_t>(select.integer("dim")));
  const evaluate::Tensor numbers = evaluate::constant_tensor(*index);
  Indices indices;
  for (const float number : numbers.values()) {
    indices.push_back(static_cast<std::int64_t>(number));
    if (indices.back() < 0 || indices.back() >= size || static_cast<float>(indices.back()) != number) {
      return std::nullopt;
    }
  }
  constexpr std::int64_t kExact = std::int64_t{1} << 24;  // of integers that floats hold
  return size <= kExact ? std::optional(std::move(indices)) : std::nullopt;
}

// 0 if they are not equally far apart, in ascending order.
std::int64_t step_of(const Indices& indices) {
  if (indices.size() == 1) return 1;
  const std::int64_t step = indices[1] - indices[0];
  for (std::size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] - indices[i - 1] != step) return 0;
  }
  return std::max<std::int64_t>(step, 0);
}

// Of aten.gather, the indices along `dim` at the origin of the other dimensions, if they are those everywhere.
std::optional<Indices> same_indices_of(const ir::Node& gather) {
  std::optional<Indices> all = indices_of(gather);
  if (!all) return std::nullopt;
  const ir::Shape& shape = gather.tensor("index")->type.shape;
  const auto dim = static_cast<std::size_t>(gather.integer("dim"));
  std::size_t inner = 1;
  for (std::size_t i = dim + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  const auto count = static_cast<std::size_t>(shape[dim]);
  Indices first(count);
  for (std::size_t k = 0; k < count; ++k) first[k] = (*all)[k * inner];
  for (std::size_t i = 0; i < all->size(); ++i) {
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there is at least one index, so no size is 0.
    if ((*all)[i] != first[i / inner % count]) return std::nullopt;
  }
  return first;
}

// The part of `self` that the gather reaches in the other dimensions, and of it a selection.
void become_selection(ir::Graph& graph, ir::Node* gather, const Indices& indices) {
  ir::Value* self = gather->tensor("self");
  const std::int64_t dim = gather->integer("dim");
  const ir::Shape& wanted = gather->result()->type.shape;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (static_cast<std::int64_t>(i) == dim || self->type.shape[i] == wanted[i]) continue;
    ir::TensorType part = self->type;
    part.shape[i] = wanted[i];
    self = graph
               .add_node(gather->name, ops::nodes::aten_slice,
                         {{"self", self},
                          {"dim", static_cast<std::int64_t>(i)},
                          {"start", std::int64_t{0}},
                          {"end", wanted[i]},
                          {"step", std::int64_t{1}}},
                         {std::move(part)}, gather->location, gather)
               ->result();
  }
  ir::TensorType type = gather->tensor("index")->type;
  type.dtype = DType::i64;
  type.shape = {static_cast<std::int64_t>(indices.size())};
  ir::Value* index =
      graph.add_constant(gather->tensor("index")->name, std::move(type), ir::Bytes::of<std::int64_t>(indices));
  ir::Value* selected =
      graph
          .add_node(gather->name, ops::nodes::aten_index_select, {{"self", self}, {"dim", dim}, {"index", index}},
                    {gather->result()->type}, gather->location, gather)
          ->result();
  graph.replace_uses(gather->result(), selected);
  graph.erase(gather);
}

void become_slice(ir::Graph& graph, ir::Node* select, const Indices& indices, std::int64_t step) {
  ir::Value* slice = graph
                         .add_node(select->name, ops::nodes::aten_slice,
                                   {{"self", select->tensor("self")},
                                    {"dim", select->integer("dim")},
                                    {"start", indices.front()},
                                    {"end", indices.back() + 1},
                                    {"step", step}},
                                   {select->result()->type}, select->location, select)
                         ->result();
  graph.replace_uses(select->result(), slice);
  graph.erase(select);
}

bool is_permutation(Indices indices, std::int64_t size) {
  if (static_cast<std::int64_t>(indices.size()) != size) return false;
  std::ranges::sort(indices);
  for (std::int64_t i = 0; i < size; ++i) {
    if (indices[static_cast<std::size_t>(i)] != i) return false;
  }
  return true;
}

// The layer that alone reads the selection, and sums over the dimension that was selected from.
ir::Node* summing_layer(ir::Graph& graph, const ir::Node& select) {
  ir::Node* layer = graph.only_user(select.result());
  if (layer == nullptr || (layer->op != ops::nodes::aten_linear && layer->op != ops::nodes::aten_conv2d))
    return nullptr;
  const bool is_linear = layer->op == ops::nodes::aten_linear;
  const auto rank = static_cast<std::int64_t>(select.result()->type.rank());
  const bool is_summed = select.integer("dim") == (is_linear ? rank - 1 : 1);
  const bool is_plain = layer->tensor("input") == select.result() && layer->tensor("weight") != select.result();
  if (!is_summed || !is_plain || (!is_linear && layer->integer("groups") != 1)) return nullptr;
  return is_float_constant(layer->tensor("weight")) ? layer : nullptr;
}

// Column i of the new weights is for element i of what the selection reads: that of the place where it went.
void permute_weights(ir::Graph& graph, ir::Node& layer, const ir::Node& select, const Indices& indices) {
  const ir::Value* weight = layer.tensor("weight");
  const evaluate::Tensor old = evaluate::constant_tensor(*weight);
  const std::size_t columns = indices.size();
  const auto rows = static_cast<std::size_t>(weight->type.shape[0]);
  const std::size_t inner = old.values().size() / (rows * columns);
  std::vector<float> permuted(old.values().size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t k = 0; k < columns; ++k) {
      const auto from = old.values().begin() + static_cast<std::ptrdiff_t>((row * columns + k) * inner);
      const std::size_t to = row * columns + static_cast<std::size_t>(indices[k]);
      std::copy_n(from, inner, permuted.begin() + static_cast<std::ptrdiff_t>(to * inner));
    }
  }
  layer.set("weight", graph.add_constant(weight->name + "_permuted", ir::float_type(weight->type.shape),
                                         ir::Bytes::of<float>(permuted)));
  layer.set("input", select.tensor("self"));
}

}  // namespace

void fold_selections(ir::Graph& graph) {
  for (ir::Node* gather : graph.snapshot()) {
    if (gather->op != ops::nodes::aten_gather || gather->tensor("self")->type.rank() == 0) continue;
    if (const std::optional<Indices> indices = same_indices_of(*gather)) become_selection(graph, gather, *indices);
  }
  for (ir::Node* select : graph.snapshot()) {
    if (select->op != ops::nodes::aten_index_select || select->tensor("self")->type.rank() == 0) continue;
    const std::optional<Indices> indices = indices_of(*select);
    if (!indices) continue;
    if (const std::int64_t step = step_of(*indices); step > 0) {
      become_slice(graph, select, *indices, step);
      continue;
    }
    const std::int64_t size = select->tensor("self")->type.shape[static_cast<std::size_t>(select->integer("dim"))];
    ir::Node* layer = is_permutation(*indices, size) ? summing_layer(graph, *select) : nullptr;
    if (layer != nullptr) permute_weights(graph, *layer, *select, *indices);
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
