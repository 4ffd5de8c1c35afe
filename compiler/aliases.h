// SPDX-License-Identifier: Apache-2.0
//
// Names that refer to the same memory in PyTorch: a view and the tensor that it shows, an in-place operator's result
// and its operand. Changing one changes the other, so an importer that makes every operator functional has to know.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "formats/pt2/archive.h"

namespace cormorant::compiler {

// Whether an operator changes its first operand: relu_, copy_, __iand__; not __and__.
bool works_in_place(std::string_view target);

class Aliases {
 public:
  struct View {
    std::string of;
    const pt2::Node* node = nullptr;  // null: all of it
  };

  explicit Aliases(const pt2::Graph& graph);

  // Null for a tensor with memory of its own.
  [[nodiscard]] const View* view(const std::string& name) const;
  // The tensor whose memory the name refers to.
  [[nodiscard]] const std::string& base(const std::string& name) const;
  // Whether some operator changes the tensor, itself or through a view.
  [[nodiscard]] bool is_changed(const std::string& base) const { return changed_.contains(base); }

 private:
  std::unordered_map<std::string, View> views_;
  std::unordered_set<std::string> changed_;
};

}  // namespace cormorant::compiler
