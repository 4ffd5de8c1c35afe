// SPDX-License-Identifier: Apache-2.0
//
// Where the prebuilt parts of a firmware are, and how to link them. The target build (firmware/CMakeLists.txt) leaves
// one folder per compiler and archive with the archives and a link.txt that says how; this file knows nothing about
// compilers.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "target/target.h"

namespace cormorant {

enum class Compiler { gcc, clang };

constexpr std::string_view name_of(Compiler compiler) { return compiler == Compiler::gcc ? "gcc" : "clang"; }

// <target build>/<compiler>/<archive>, see tree.h. Throws InputError, with the command that builds it.
std::filesystem::path archive_directory(const Cpu& cpu, Compiler compiler);

// The instruction counter. Throws InputError if it is not built.
std::filesystem::path counter_plugin();

// Assembles and links, for a board by name. Throws InputError without the cross compiler, std::runtime_error with the
// linker's output if that fails.
void link_firmware(const std::filesystem::path& archives, std::string_view board,
                   const std::vector<std::string>& sources_and_options, const std::filesystem::path& elf);

}  // namespace cormorant
