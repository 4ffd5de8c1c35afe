// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's schema notation, read once per operator form: argument names in order, their types and defaults. An export
// omits arguments that equal the default, so import needs both.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace cormorant::ops {

struct SchemaArgument {
  std::string type;  // "Tensor", "Tensor?", "int[2]", "Scalar", …; SymInt reads as int
  std::string name;
  std::optional<ir::Argument> fallback;  // the default; none: the argument must be given
};

struct Schema {
  std::string name;      // "aten::conv2d"; the namespace is aten where the text has none
  std::string overload;  // "default"
  std::vector<SchemaArgument> arguments;

  [[nodiscard]] std::string target() const;  // "aten.conv2d.default", as an export names it after torch.ops.
};

// "conv2d.default(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1)"; a return type is ignored.
// Throws std::logic_error: the text is ours.
Schema parse_schema(std::string_view text);

}  // namespace cormorant::ops
