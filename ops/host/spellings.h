// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's names for an operator, for those who list them. Host only.
#pragma once

#include <set>
#include <string>

#include "ops/host/schema.h"
#include "ops/op.h"

namespace cormorant::ops {

// Without overloads: conv2d.default and conv2d.padding are both aten.conv2d to a user.
inline std::set<std::string> spellings(const Operator& op) {
  std::set<std::string> names;
  for (const AtenForm& form : op.forms) {
    const std::string target = parse_schema(form.schema).target();
    names.insert(target.substr(0, target.rfind('.')));
  }
  return names;
}

}  // namespace cormorant::ops
