// SPDX-License-Identifier: Apache-2.0
//
// Where the prebuilt parts of a firmware are, and how to link them. The target build (firmware/CMakeLists.txt) leaves
// one folder per compiler and archive with the archives and a link.txt that says how; this file knows nothing about
// compilers.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "target/target.h"

namespace cormorant {

enum class Compiler { gcc, clang };

constexpr std::string_view name_of(Compiler compiler) { return compiler == Compiler::gcc ? "gcc" : "clang"; }

// Where an installed tree begins, for a caller that is not the program beside it.
void use_installation(const std::filesystem::path& folder);

// <target build>/<compiler>/<archive>. The target build is beside the installed program, or where the host build
// expects it, unless the environment variable CORMORANT_TARGET_DIR says otherwise. Throws InputError, with the command
// that builds it, if it is missing.
std::filesystem::path archive_directory(const Cpu& cpu, Compiler compiler);

// The instruction counter; the environment variable CORMORANT_PLUGIN overrides. Throws InputError if it is missing.
std::filesystem::path counter_plugin();

// Assembles and links, for a board by name. Throws std::runtime_error with the linker's output if that fails.
void link_firmware(const std::filesystem::path& archives, std::string_view board,
                   const std::vector<std::string>& sources_and_options, const std::filesystem::path& elf);

}  // namespace cormorant
