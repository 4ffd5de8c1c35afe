// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostic.h"

#include <utility>

#include "base/printable.h"

namespace cormorant {

std::string Diagnostic::text() const {
  std::string text;
  if (!file.empty()) text += file + ": ";
  if (!node.empty()) text += "node '" + node + "'";
  if (!source.empty()) text += (node.empty() ? "" : ", ") + source;
  if (!node.empty() || !source.empty()) text += ": ";
  text += problem;
  if (!advice.empty()) text += "\n  " + advice;
  return printable(std::move(text));
}

InputError::InputError(Diagnostic diagnostic)
    : std::runtime_error(diagnostic.text()), diagnostic_(std::move(diagnostic)) {}

}  // namespace cormorant
