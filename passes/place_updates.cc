// SPDX-License-Identifier: Apache-2.0
//
// A state's new contents are computed in the state's own memory wherever possible (ops/host/state_places.h). Elsewhere
// the new value is copied at the end, after the last reader; so are new contents that come from another state (a delay
// line) or an input. Copies that read what others overwrite come first; states that swap their contents cost one extra
// copy.
#include <algorithm>
#include <unordered_set>

#include "ops/host/state_places.h"
#include "ops/nodes.h"
#include "ops/op.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

using ops::root;

class Placement {
 public:
  explicit Placement(ir::Graph& graph) : graph_(graph) {}

  void run() {
    std::erase_if(graph_.updates(), [](const ir::Update& update) { return root(update.value) == update.state; });
    for (ir::Value*& output : graph_.outputs()) {
      const auto is_it = [&](const ir::Update& update) { return update.state == root(output); };
      if (std::ranges::any_of(graph_.updates(), is_it)) output = copy_of(output);  // the caller reads it at the end
    }
    std::unordered_set<const ir::Value*> made;  // roots that are already a state's new contents
    const ops::StatePlaces places(graph_);
    for (ir::Update& update : graph_.updates()) {
      if (places.writers(update).empty() || !made.insert(root(update.value)).second) copied_.push_back(&update);
    }
    // A copy is one more reader of its source, which may be a state.
    for (bool changed = true; changed;) {
      changed = false;
      for (ir::Update& update : graph_.updates()) {
        if (is_copied(update) || !is_copied_from(update.state, nullptr)) continue;
        copied_.push_back(&update);
        changed = true;
      }
    }
    while (!copied_.empty()) add_next_copy();
  }

 private:
  [[nodiscard]] bool is_copied(const ir::Update& update) const {
    return std::ranges::find(copied_, &update) != copied_.end();
  }
  // Whether a pending copy, other than the given one, reads the state's old contents.
  [[nodiscard]] bool is_copied_from(const ir::Value* state, const ir::Update* but) const {
    return std::ranges::any_of(copied_, [&](const ir::Update* u) { return u != but && root(u->value) == state; });
  }

  void add_next_copy() {
    const auto is_free = [&](const ir::Update* update) { return !is_copied_from(update->state, update); };
    auto next = std::ranges::find_if(copied_, is_free);
    if (next == copied_.end()) {  // they wait for each other: one of them saves what it needs
      copied_.front()->value = copy_of(copied_.front()->value);
      return;
    }
    (*next)->value = copy_of((*next)->value);
    copied_.erase(next);
  }

  ir::Value* copy_of(ir::Value* value) {
    return graph_
        .add_node(value->name + "_kept", ops::nodes::aten_clone, {{"self", value}, {"memory_format", ir::None{}}},
                  {value->type}, value->producer == nullptr ? ir::Location{} : value->producer->location)
        ->result();
  }

  ir::Graph& graph_;
  std::vector<ir::Update*> copied_;  // those whose copy is pending
};

}  // namespace

void place_updates(ir::Graph& graph) { Placement(graph).run(); }

}  // namespace cormorant::passes
