// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's indices are int64. Those that an operator finds (argmax, a sort) are smaller than the dimension they are
// about, and 32 bits hold them: in half of the memory, and without pairs of registers. The same holds for what is moved
// around of them. Values that the model computes with, takes or returns stay as they are: nothing bounds those, and the
// type of an input or output is the user's. Constants that are nothing but indices are kept in 16 bits if these hold
// them, else in 32: flash for each of them.
#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

// An output in int64 needs a conversion, an instruction with a kernel: only if it saves that much.
constexpr std::int64_t kWorthAConversion = 512;

bool is_wide(const ir::Value* value) { return value->type.dtype == DType::i64; }

bool finds_indices(const ir::Node& node) {
  if (node.op != ops::nodes::aten_argmax && node.op != ops::nodes::aten_argmin &&
      node.op != ops::nodes::cormorant_argsort_any)
    return false;
  return node.tensor("self")->type.elements() <= std::numeric_limits<std::int32_t>::max();
}

// Whose elements are those of its operands, the index of a selection aside.
bool moves(const ir::Node& node) {
  constexpr std::string_view kNames[] = {
      ops::nodes::aten_view,         ops::nodes::aten_permute, ops::nodes::aten_slice,
      ops::nodes::aten_cat,          ops::nodes::aten_expand,  ops::nodes::aten_flip,
      ops::nodes::aten_index_select, ops::nodes::aten_gather,  ops::nodes::aten_repeat_interleave};
  return std::ranges::find(kNames, node.op) != std::end(kNames);
}

bool is_selection(const ir::Node& node) {
  return node.op == ops::nodes::aten_index_select || node.op == ops::nodes::aten_gather;
}

// The operands whose elements the result has.
std::vector<ir::Value*> moved(const ir::Node& node) {
  return is_selection(node) ? std::vector<ir::Value*>{node.tensor("self")} : node.inputs();
}

class Narrowing {
 public:
  explicit Narrowing(ir::Graph& graph) : graph_(graph) {}

  void run() {
    find();
    // What cannot stay narrow makes what it comes from, and what comes from it, wide.
    for (std::size_t before = 0; before != narrow_.size();) {
      before = narrow_.size();
      std::erase_if(narrow_, [&](ir::Value* value) { return !may_be_narrow(value); });
    }
    for (ir::Value* value : narrow_) value->type.dtype = DType::i32;
    for (ir::Value*& output : graph_.outputs()) {
      if (narrow_.contains(output)) output = widened(output);
    }
  }

 private:
  void find() {
    for (const ir::Node& node : graph_.nodes()) {
      if (node.results.size() != 1 || !is_wide(node.result())) continue;
      const std::vector<ir::Value*> sources = moves(node) ? moved(node) : std::vector<ir::Value*>();
      if (finds_indices(node) ||
          (!sources.empty() && std::ranges::all_of(sources, [&](ir::Value* s) { return narrow_.contains(s); }))) {
        narrow_.insert(node.result());
      }
    }
  }

  [[nodiscard]] bool may_be_narrow(ir::Value* value) {
    const ir::Node& producer = *value->producer;
    if (moves(producer) && !std::ranges::all_of(moved(producer), [&](ir::Value* s) { return narrow_.contains(s); })) {
      return false;
    }
    if (graph_.is_update(value) || (graph_.is_output(value) && !is_worth_converting(value))) return false;
    return std::ranges::all_of(graph_.users(value), [&](const ir::Node* user) {
      if (user->op == ops::nodes::cormorant_convert_any) return true;
      if (is_selection(*user) && user->tensor("self") != value) return true;  // an index may have any type
      return moves(*user) && narrow_.contains(user->result());
    });
  }

  // Bytes that the largest tensor on the way to the output gets smaller by.
  [[nodiscard]] bool is_worth_converting(const ir::Value* value) const {
    std::int64_t most = 0;
    for (const ir::Value* from = value; from->producer != nullptr;) {
      most = std::max(most, from->type.elements());
      if (!moves(*from->producer)) break;
      from = moved(*from->producer).front();
    }
    constexpr std::int64_t kSaved = 4;
    return kSaved * (most - value->type.elements()) >= kWorthAConversion;
  }

  ir::Value* widened(ir::Value* value) {
    ir::TensorType type = value->type;
    type.dtype = DType::i64;
    const ir::Location location = value->producer->location;
    return graph_
        .add_node(value->name + "_int64", ops::nodes::cormorant_convert_any, {{"self", value}}, {std::move(type)},
                  location)
        ->result();
  }

  ir::Graph& graph_;
  std::unordered_set<ir::Value*> narrow_;
};

// Whether a node reads a value as the places where it selects or writes, and as nothing else.
bool reads_as_places(const ir::Node& node, const ir::Value* value) {
  constexpr std::string_view kNames[] = {ops::nodes::aten_index_select,          ops::nodes::aten_gather,
                                         ops::nodes::aten_scatter_src_out,       ops::nodes::aten_scatter_add,
                                         ops::nodes::cormorant_scatter_amax_any, ops::nodes::cormorant_scatter_amin_any,
                                         ops::nodes::cormorant_scatter_prod_any};
  return std::ranges::find(kNames, node.op) != std::end(kNames) && std::ranges::count(node.inputs(), value) == 1 &&
         node.tensor("index") == value;
}

template <class T>
bool holds_all(std::span<const std::int64_t> places) {
  return std::ranges::all_of(places, [](std::int64_t place) { return std::in_range<T>(place); });
}

template <class T>
void narrow(ir::Value* value, DType type) {
  std::vector<T> narrow;
  for (const std::int64_t place : value->data.as<std::int64_t>()) narrow.push_back(static_cast<T>(place));
  value->type.dtype = type;
  value->data = ir::Bytes::of(std::span<const T>(narrow));
}

void narrow_constants(ir::Graph& graph) {
  std::vector<ir::Value*> wide;
  for (ir::Value& value : graph.values()) {
    if (value.kind == ir::ValueKind::constant && is_wide(&value) && !graph.is_kept(&value)) wide.push_back(&value);
  }
  for (ir::Value* value : wide) {
    const std::vector<const ir::Node*> users = std::as_const(graph).users(value);
    const auto reads = [&](const ir::Node* user) { return reads_as_places(*user, value); };
    if (users.empty() || !std::ranges::all_of(users, reads)) continue;
    const auto places = value->data.as<std::int64_t>();
    if (holds_all<std::int16_t>(places)) {
      narrow<std::int16_t>(value, DType::i16);
    } else if (holds_all<std::int32_t>(places)) {
      narrow<std::int32_t>(value, DType::i32);
    }
  }
}

}  // namespace

void narrow_integers(ir::Graph& graph) {
  Narrowing(graph).run();
  narrow_constants(graph);
}

}  // namespace cormorant::passes
