// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "passes/passes.h"

namespace cormorant::passes {

void clean_up(ir::Graph& graph) {
  graph.erase_unused();
  std::map<std::size_t, std::vector<ir::Value*>> by_size;  // candidates for equality
  for (ir::Value& value : graph.values()) {
    if (value.kind != ir::ValueKind::constant) continue;
    auto& same_size = by_size[value.data.bytes.size()];
    ir::Value* twin = nullptr;
    for (ir::Value* other : same_size) {
      if (other->type == value.type && std::ranges::equal(other->data.bytes, value.data.bytes)) twin = other;
    }
    if (twin == nullptr) {
      same_size.push_back(&value);
    } else {
      graph.replace_uses(&value, twin);
    }
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
