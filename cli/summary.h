// SPDX-License-Identifier: Apache-2.0
//
// What `compile` prints on a terminal.
#pragma once

#include <string>

#include "driver/compile_error.h"
#include "driver/compile_model.h"
#include "driver/methods.h"

namespace cormorant::cli {

// `output` is the file that was written; empty if it holds more than this.
void print_summary(const driver::CompileFlags& flags, const driver::CompileResult& result, const std::string& output);

// What all methods of a file need together.
void print_methods(const driver::CompiledMethods& compiled, const std::string& output);

// To stderr: what the compiler warns of, and the operators that stay in float.
void print_warnings(const driver::Warnings& warnings);
void print_warnings(const std::vector<std::string>& warnings);

}  // namespace cormorant::cli
