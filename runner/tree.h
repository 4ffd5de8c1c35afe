// SPDX-License-Identifier: Apache-2.0
//
// Where the files are that are not in the program itself. They are found from the program's own place: in the installed
// tree that it is in, which can be moved, or in the build that it is part of. Environment variables override.
#pragma once

#include <filesystem>

namespace cormorant {

// Where an installed tree begins, for a caller that is not the program beside it.
void use_installation(const std::filesystem::path& folder);

// Where these are, or should be.
std::filesystem::path find_boards();  // CORMORANT_BOARDS_DIR
std::filesystem::path find_zoo();     // CORMORANT_ZOO_DIR
std::filesystem::path find_plugin();  // CORMORANT_PLUGIN: the instruction counter's file
// CORMORANT_TARGET_DIR: gcc/m55, say, of a build of firmware/.
std::filesystem::path find_archives(const std::filesystem::path& part);

}  // namespace cormorant
