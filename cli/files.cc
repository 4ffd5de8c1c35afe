// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/diagnostic.h"
#include "cli/files.h"

namespace cormorant::cli {

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || std::filesystem::is_directory(path)) {
    throw InputError({std::string("cannot read the file: ") + std::strerror(errno), "check its name", path.string()});
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw InputError({"cannot read the file to its end", "check its name", path.string()});
  return bytes;
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw InputError({"cannot write the file", "is the folder there and writable?", path.string()});
}

std::string grouped(std::uint64_t number) {
  if (number < 1000) return std::to_string(number);
  const std::string last = std::to_string(number % 1000);
  return grouped(number / 1000) + "," + std::string(3 - last.size(), '0') + last;
}

}  // namespace cormorant::cli
