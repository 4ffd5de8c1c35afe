// SPDX-License-Identifier: Apache-2.0
//
// The words of the command line. Each adds its sub-command to the application and runs when that word was given.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace cormorant::cli {

void add_compile(CLI::App& app);
void add_run(CLI::App& app);
void add_inspect(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_about(CLI::App& app);  // targets, operators, completion, manual

std::string manual_page(const CLI::App& app, std::string_view version);  // for man

// What is wrong with an argument that neither the application nor its word knows, and what may have been meant.
std::string explain_extra(const CLI::App& app, const std::string& extra);

}  // namespace cormorant::cli
