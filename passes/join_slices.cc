// SPDX-License-Identifier: Apache-2.0
//
// A slice of a slice is one slice, and a slice of one operand of a concatenation is a slice of that operand. So a
// window that is rolled and whose newest entry is then assigned becomes the same as one written with a concatenation: a
// shift.
#include <algorithm>

#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

bool is_slice(const ir::Node* node) {
  return node != nullptr && node->op == ops::nodes::aten_slice && node->integer("step") == 1;
}

// The slice of something that its source was made of; returns whether there is one.
bool look_through(ir::Node& slice) {
  ir::Node* source = slice.tensor("self")->producer;
  const std::int64_t start = slice.integer("start"), end = slice.integer("end"), dim = slice.integer("dim");
  if (source == nullptr || start == end) return false;
  if (is_slice(source) && source->integer("dim") == dim) {
    const std::int64_t first = source->integer("start");
    slice.set("self", source->tensor("self"));
    slice.set("start", first + start);
    slice.set("end", first + end);
    return true;
  }
  if (source->op != ops::nodes::aten_cat || source->integer("dim") != dim) return false;
  std::int64_t at = 0;
  for (ir::Value* piece : source->tensors("tensors")) {
    const std::int64_t next = at + piece->type.shape.at(static_cast<std::size_t>(dim));
    if (start >= at && end <= next) {
      slice.set("self", piece);
      slice.set("start", start - at);
      slice.set("end", end - at);
      return true;
    }
    at = next;
  }
  return false;
}

}  // namespace

void join_slices(ir::Graph& graph) {
  for (ir::Node* node : graph.snapshot()) {
    if (!is_slice(node)) continue;
    while (look_through(*node)) {
    }
    ir::Value* self = node->tensor("self");
    if (self->type.shape != node->result()->type.shape) continue;
    graph.replace_uses(node->result(), self);
    graph.erase(node);
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
