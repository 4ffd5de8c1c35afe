// SPDX-License-Identifier: Apache-2.0
//
// Files as the command line sees them: what a name refers to, its kind, and reading it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/grouped.h"

namespace cormorant {

// A whole file; one that cannot be read is an InputError that names it. Files are written by base/output_file.h.
std::vector<std::byte> read_file(const std::filesystem::path& path);

// Throws UsageError where the file to write is one of those that the command reads.
struct NamedFile {
  std::string option, path;  // an empty path is none
};
void require_other_file(const NamedFile& output, const std::vector<NamedFile>& inputs);

// By its first bytes; where they say nothing, by its extension. What is neither kind of program is taken for a model,
// whose reader says what the file is instead.
enum class FileKind : std::uint8_t { model, program, bundle };
FileKind kind_of(const std::string& path);

// A file's name as it is, or the file of the zoo's model by that name ("kws"). A name that is neither is a UsageError
// that lists the names. The zoo is in the installed tree (some of it) or in the source tree (runner/tree.h).
std::string find_model(const std::string& name);

using cormorant::grouped;
// 1234567 as +1,234,567.
std::string grouped_signed(std::int64_t number);

}  // namespace cormorant
