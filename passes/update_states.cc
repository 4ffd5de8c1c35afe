// SPDX-License-Identifier: Apache-2.0
//
// A state that becomes a concatenation of slices of itself and something new is written in part, or shifted: what stays
// in place need not be moved, and what moves is moved once. The same holds for several such steps in a row.
#include <algorithm>
#include <optional>

#include "ops/cat/cat.h"
#include "ops/op.h"
#include "ops/slice/slice.h"
#include "ops/update/update.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

using ops::root;

// A piece of a concatenation.
struct Piece {
  ir::Value* value = nullptr;
  ir::Value* of = nullptr;  // the tensor that it is a slice of; null: it is new
  std::int64_t from = 0;    // the slice's first entry
  std::int64_t at = 0;      // its place in the result
  std::int64_t count = 0;

  [[nodiscard]] bool is_kept() const { return of != nullptr; }
  [[nodiscard]] bool stays() const { return is_kept() && from == at; }
};

class Updates {
 public:
  Updates(ir::Graph& graph, const ops::Config& config) : graph_(graph), config_(config) {}

  void run() {
    for (const ir::Update& update : graph_.updates()) find(update.value, update.state, kMostSteps);
    graph_.erase_unused();
  }

 private:
  static constexpr int kMostSteps = 64;  // from a state to what it becomes

  static ir::Node* producer(const ir::Value* value) { return root(value)->producer; }

  // Turns the steps from the state to the value into updates; returns whether there were any.
  bool find(const ir::Value* value, const ir::Value* state, int steps) {
    if (root(value) == state) return true;
    ir::Node* node = producer(value);
    if (node == nullptr || node->results.size() != 1 || steps == 0) return false;
    const ops::Operator* op = ops::find(*node);
    if (op != nullptr && op->name == "update") return find(node->tensor("self"), state, steps - 1);
    if (node->op != ops::graph_name(ops::names::aten_cat_out)) return false;
    const std::vector<Piece> pieces = pieces_of(*node);
    const auto kept = std::ranges::find_if(pieces, &Piece::is_kept);
    if (kept == pieces.end() || !find(kept->of, state, steps - 1)) return false;
    return replace(*node, pieces_of(*node));  // the steps before it have changed
  }

  static std::vector<Piece> pieces_of(const ir::Node& cat) {
    std::vector<Piece> pieces;
    const std::int64_t dim = cat.integer("dim");
    std::int64_t at = 0;
    for (ir::Value* value : cat.tensors("tensors")) {
      Piece piece{.value = value, .at = at, .count = value->type.shape.at(static_cast<std::size_t>(dim))};
      const ir::Node* slice = value->producer;
      if (slice != nullptr && slice->op == ops::graph_name(ops::names::aten_slice_copy_Tensor_out) &&
          slice->integer("dim") == dim && slice->integer("step") == 1 && slice->has("start") &&
          slice->tensor("self")->type == cat.result()->type) {
        piece.of = slice->tensor("self");
        piece.from = slice->integer("start");
      }
      at += piece.count;
      pieces.push_back(piece);
    }
    return pieces;
  }

  bool replace(ir::Node& cat, const std::vector<Piece>& pieces) {
    // The new part must be contiguous, and everything else a slice of one tensor.
    const auto is_new = [](const Piece& piece) { return !piece.is_kept(); };
    const auto first = std::ranges::find_if(pieces, is_new);
    auto last = first;
    while (last != pieces.end() && is_new(*last)) ++last;
    if (first == last || std::any_of(last, pieces.end(), is_new)) return false;
    const auto kept = std::ranges::find_if(pieces, &Piece::is_kept);
    const auto is_other = [&](const Piece& piece) { return piece.is_kept() && root(piece.of) != root(kept->of); };
    if (std::ranges::any_of(pieces, is_other)) return false;
    std::vector<ir::Value*> values;
    std::int64_t count = 0;
    for (auto piece = first; piece != last; ++piece) {
      values.push_back(piece->value);
      count += piece->count;
    }
    const std::int64_t dim = cat.integer("dim");
    const bool stays =
        std::ranges::all_of(pieces, [](const Piece& piece) { return !piece.is_kept() || piece.stays(); });
    const bool is_one = std::ranges::count_if(pieces, &Piece::is_kept) == 1;
    const bool to_front = is_one && kept->at == 0 && kept->from == count;
    const bool to_back = is_one && kept->at == count && kept->from == 0;
    if (!stays && !to_front && !to_back) return false;
    ir::Value* source = joined(cat, values, count);
    ir::Value* result = nullptr;
    if (stays) {
      result =
          make(cat, ops::UpdatePart<ops::HostWorld>{.self = kept->of, .dim = dim, .start = first->at, .source = source},
               ops::update_part_variant(config_.target));
    } else {
      result = make(
          cat, ops::UpdateShift<ops::HostWorld>{.self = kept->of, .dim = dim, .in_front = to_back, .source = source},
          ops::update_shift_variant(config_.target));
    }
    graph_.replace_uses(cat.result(), result);
    graph_.erase(&cat);
    return true;
  }

  template <class S>
  ir::Value* make(ir::Node& cat, S fields, const char* name) {
    return ops::make_node(graph_, std::move(fields), {cat.result()->type}, cat.name, cat.location, &cat, name)
        ->result();
  }

  ir::Value* joined(ir::Node& cat, const std::vector<ir::Value*>& values, std::int64_t count) {
    if (values.size() == 1) return values.front();
    ir::TensorType type = cat.result()->type;
    type.shape.at(static_cast<std::size_t>(cat.integer("dim"))) = count;
    return ops::make_node(graph_, ops::Cat<ops::HostWorld>{.tensors = values, .dim = cat.integer("dim")}, {type},
                          cat.name + "_new", cat.location, &cat, ops::names::aten_cat_out)
        ->result();
  }

  ir::Graph& graph_;
  const ops::Config& config_;
};

}  // namespace

void update_states(ir::Graph& graph, const ops::Config& config) {
  if (config.runtime == ops::Runtime::cormorant) Updates(graph, config).run();
}

}  // namespace cormorant::passes
