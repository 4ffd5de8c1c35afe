// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "passes/passes.h"

namespace cormorant::passes {

void clean_up(ir::Graph& graph) {
  graph.erase_unused();
  std::unordered_map<std::size_t, std::vector<ir::Value*>> by_content;  // candidates for equality
  for (ir::Value& value : graph.values()) {
    if (value.kind != ir::ValueKind::constant) continue;
    const std::string_view content(reinterpret_cast<const char*>(value.data.bytes.data()), value.data.bytes.size());
    auto& alike = by_content[std::hash<std::string_view>()(content)];
    ir::Value* twin = nullptr;
    for (ir::Value* other : alike) {
      if (other->type == value.type && std::ranges::equal(other->data.bytes, value.data.bytes)) twin = other;
    }
    if (twin == nullptr) {
      alike.push_back(&value);
    } else {
      graph.replace_uses(&value, twin);
    }
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
