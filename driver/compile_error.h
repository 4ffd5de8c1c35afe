// SPDX-License-Identifier: Apache-2.0
//
// An error that ends a compilation, with what the compiler had to warn of until then: that often explains the error.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "compiler/compile.h"

namespace cormorant::driver {

struct Warnings {
  std::vector<std::string> texts;
  std::vector<compiler::FloatOperator> float_operators;

  void append(const Warnings& more);
};
Warnings warnings_of(const compiler::Facts& facts);

class CompileError : public InputError {
 public:
  CompileError(Diagnostic diagnostic, Warnings warnings)
      : InputError(std::move(diagnostic)), warnings_(std::move(warnings)) {}
  [[nodiscard]] const Warnings& warnings() const { return warnings_; }

 private:
  Warnings warnings_;
};

// These, then those that the error has already.
Warnings warnings_before(Warnings warnings, const InputError& error);

}  // namespace cormorant::driver
