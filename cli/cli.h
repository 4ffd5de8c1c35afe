// SPDX-License-Identifier: Apache-2.0
//
// The words of the command line. Each adds its sub-command to the application and runs when that word was given.
#pragma once

#include <CLI/CLI.hpp>

namespace cormorant::cli {

void add_compile(CLI::App& app);
void add_run(CLI::App& app);
void add_inspect(CLI::App& app);
void add_evaluate(CLI::App& app);

}  // namespace cormorant::cli
