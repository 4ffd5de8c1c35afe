// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace cormorant::cli {

// Whole files; a file that cannot be read or written is an InputError that names it.
std::vector<std::byte> read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

// 1234567 as 1,234,567.
std::string grouped(std::uint64_t number);

}  // namespace cormorant::cli
