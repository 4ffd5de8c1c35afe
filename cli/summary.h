// SPDX-License-Identifier: Apache-2.0
//
// What `compile` prints on a terminal.
#pragma once

#include <string>

#include "driver/compile_model.h"

namespace cormorant::cli {

// `output` is the file that was written.
void print_summary(const driver::CompileFlags& flags, const driver::CompileResult& result, const std::string& output);

// To stderr: what the compiler warns of, and the operators that stay in float.
void print_warnings(const compiler::Facts& facts);

}  // namespace cormorant::cli
