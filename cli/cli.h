// SPDX-License-Identifier: Apache-2.0
//
// The commands. Each adds its subcommand to the application and runs when that command is given.
#pragma once

#include <string>
#include <string_view>

// CLI11 takes seconds to read: only sources that define options include it.
namespace CLI {
class App;
}  // namespace CLI

namespace cormorant::cli {

void add_compile(CLI::App& app);
void add_run(CLI::App& app);
void add_inspect(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_about(CLI::App& app);  // targets, operators, completion, manual

std::string manual_page(const CLI::App& app, std::string_view version);  // for man

// What a std::bad_alloc is called, here and in Python.
inline constexpr const char* kOutOfMemory =
    "out of memory\n  the model or its data needs more memory than this machine has";

// Describes an argument that neither the application nor its command accepts, with a suggestion.
std::string explain_extra(const CLI::App& app, const std::string& extra);

}  // namespace cormorant::cli
