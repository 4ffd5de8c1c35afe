// SPDX-License-Identifier: Apache-2.0
//
// The seeds of fuzzing, and the programs it once found faults with.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fuzz/editable_program.h"

namespace cormorant::fuzz {

struct SeedFile {
  std::string name;
  Bytes bytes;
};

inline Bytes read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(data, data + text.size());
}

// All .pte of a folder, by name; none where there is no folder.
inline std::vector<SeedFile> read_corpus(const std::filesystem::path& folder) {
  std::vector<SeedFile> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".pte") continue;
    files.push_back({entry.path().filename().string(), read_file(entry.path())});
  }
  std::ranges::sort(files, {}, &SeedFile::name);
  return files;
}

// What changes begin with: the smallest program of each of our operators that the conformance tests make, and calls of
// portable ones (with CORMORANT_SEEDS=tests/fuzz/seeds these tests and op_portable write them; functions.* and copies.*
// have many calls); models of one or two PyTorch operators as `cormorant compile` makes them (float_*, int8_*,
// rows_strips*, and what has an operator's name alone); and those of ExecuTorch's compiler that are small and load.
inline std::vector<SeedFile> read_seeds(const std::filesystem::path& source_folder) {
  constexpr std::size_t kLargest = 13'000;
  std::vector<SeedFile> seeds = read_corpus(source_folder / "tests/fuzz/seeds");
  for (SeedFile& file : read_corpus(source_folder / "tests/executorch")) {
    const auto has = [&](const char* part) { return file.name.find(part) != std::string::npos; };
    if (file.bytes.size() > kLargest || has("delegate") || has("unknown") || has("external")) continue;
    // No places; a list that is written differently; no method of the usual name.
    if (has("caller") || has("squeeze") || has("methods")) continue;
    seeds.push_back(std::move(file));
  }
  return seeds;
}

}  // namespace cormorant::fuzz
