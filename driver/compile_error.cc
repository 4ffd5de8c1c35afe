// SPDX-License-Identifier: Apache-2.0
#include "driver/compile_error.h"

namespace cormorant::driver {

void Warnings::append(const Warnings& more) {
  texts.insert(texts.end(), more.texts.begin(), more.texts.end());
  float_operators.insert(float_operators.end(), more.float_operators.begin(), more.float_operators.end());
}

Warnings warnings_of(const compiler::Facts& facts) { return {facts.warnings, facts.float_operators}; }

Warnings warnings_before(Warnings warnings, const InputError& error) {
  if (const auto* own = dynamic_cast<const CompileError*>(&error)) warnings.append(own->warnings());
  return warnings;
}

}  // namespace cormorant::driver
