// SPDX-License-Identifier: Apache-2.0
#include "runner/tree.h"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <optional>

namespace cormorant {
namespace {

// Root of the installed tree; empty: the program is in it.
std::filesystem::path& root() {
  static std::filesystem::path known;
  return known;
}

std::filesystem::path program() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none);
}

std::filesystem::path installed(const std::filesystem::path& part) {
  return (root().empty() ? program().parent_path().parent_path() : root()) / part;
}

// The file that this code is in: the program, or the Python module.
std::filesystem::path own_file() {
  Dl_info info{};
  const bool is_known = dladdr(reinterpret_cast<const void*>(&use_installation), &info) != 0;
  const std::string name = is_known && info.dli_fname != nullptr ? info.dli_fname : "";
  return name.find(".so") != std::string::npos ? std::filesystem::absolute(name) : program();
}

struct Build {
  std::filesystem::path sources, targets, plugins;
};

// CMake leaves a file in every build folder, which programs in it find above them. Those in an installed tree do not
// look, since what is above them is not ours.
std::optional<Build> read_build() {
  if (std::filesystem::exists(installed("share/cormorant"))) return std::nullopt;
  std::filesystem::path folder = own_file();
  while (folder != folder.parent_path()) {
    folder = folder.parent_path();
    std::ifstream file(folder / "cormorant-build.txt");
    std::string sources, targets;
    if (std::getline(file, sources) && std::getline(file, targets)) {
      return Build{sources, targets, folder / "runner/plugin"};
    }
  }
  return std::nullopt;
}

const std::optional<Build>& build() {
  static const std::optional<Build> found = read_build();
  return found;
}

std::filesystem::path from_environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

// Where it is, or should be: in the installed tree, which may have some of the archives only, or below a folder of the
// build.
std::filesystem::path installed_or_built(const std::filesystem::path& in_installation,
                                         std::filesystem::path Build::* folder, const std::filesystem::path& in_build) {
  std::filesystem::path beside = installed(in_installation);
  const std::optional<Build>& around = build();
  if (!around || std::filesystem::exists(beside)) return beside;
  return *around.*folder / in_build;
}

}  // namespace

void use_installation(const std::filesystem::path& folder) { root() = folder; }

std::filesystem::path find_boards() {
  const std::filesystem::path given = from_environment("CORMORANT_BOARDS_DIR");
  return given.empty() ? installed_or_built("share/cormorant/sources/boards", &Build::sources, "boards") : given;
}

std::filesystem::path find_zoo() {
  const std::filesystem::path given = from_environment("CORMORANT_ZOO_DIR");
  return given.empty() ? installed_or_built("share/cormorant/zoo", &Build::sources, "zoo") : given;
}

std::filesystem::path find_plugin() {
  constexpr const char* kFile = "libcormorant_count.so";
  const std::filesystem::path given = from_environment("CORMORANT_PLUGIN");
  const std::filesystem::path folder = "lib/cormorant";
  return given.empty() ? installed_or_built(folder / kFile, &Build::plugins, kFile) : given;
}

std::filesystem::path find_archives(const std::filesystem::path& part) {
  const std::filesystem::path given = from_environment("CORMORANT_TARGET_DIR");
  const std::filesystem::path folder = "lib/cormorant/target";
  return given.empty() ? installed_or_built(folder / part, &Build::targets, part) : given / part;
}

}  // namespace cormorant
