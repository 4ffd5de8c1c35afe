// SPDX-License-Identifier: Apache-2.0
#include "runner/toolchain.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "base/diagnostic.h"
#include "fmt/format.h"
#include "runner/process.h"

namespace cormorant {
namespace {

std::filesystem::path from_environment(const char* variable, const char* otherwise) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

// Root of the installed tree; empty: the program is in it, and it can be moved.
std::filesystem::path& root() {
  static std::filesystem::path known;
  return known;
}

std::filesystem::path installed(const char* part) {
  if (!root().empty()) return root() / part;
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  return program.parent_path().parent_path() / part;
}

// By environment variable, in the installed tree, or where the build of these sources has it.
std::filesystem::path find(const char* variable, const char* in_installation, const char* in_build) {
  const std::filesystem::path given = from_environment(variable, "");
  if (!given.empty()) return given;
  const std::filesystem::path beside = installed(in_installation);
  return std::filesystem::exists(beside) ? beside : std::filesystem::path(in_build);
}

std::filesystem::path boards() {
  return find("CORMORANT_BOARDS_DIR", "share/cormorant/sources/boards", CORMORANT_DEFAULT_BOARDS_DIR);
}

std::string replaced(std::string text, std::string_view what, const std::string& by) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace

void use_installation(const std::filesystem::path& folder) { root() = folder; }

std::filesystem::path archive_directory(const Cpu& cpu, Compiler compiler) {
  // An installed tree may have some of them only.
  const std::string part = fmt::format("{}/{}", name_of(compiler), cpu.archive);
  const std::filesystem::path given = from_environment("CORMORANT_TARGET_DIR", "");
  const std::filesystem::path beside = installed("lib/cormorant/target") / part;
  const std::filesystem::path directory = !given.empty() ? given / part
                                          : std::filesystem::exists(beside)
                                              ? beside
                                              : CORMORANT_DEFAULT_TARGET_DIR / std::filesystem::path(part);
  for (const char* name : {"link.txt", "libboard.a", "libharness.a", "libruntime.a", "libkernels.a"}) {
    if (std::filesystem::exists(directory / name)) continue;
    throw InputError({.problem = fmt::format("{} is not built: firmware for {} with {} needs it",
                                             (directory / name).string(), cpu.name, name_of(compiler)),
                      .advice = "run ./dev build, or set CORMORANT_TARGET_DIR to a build of firmware/"});
  }
  return directory;
}

std::filesystem::path counter_plugin() {
  auto plugin = find("CORMORANT_PLUGIN", "lib/cormorant/libcormorant_count.so", CORMORANT_DEFAULT_PLUGIN);
  if (!std::filesystem::exists(plugin)) {
    throw InputError({.problem = fmt::format("{}, the instruction counter, is not built", plugin.string()),
                      .advice = "run ./dev build, or set CORMORANT_PLUGIN to its path"});
  }
  return std::filesystem::absolute(plugin);
}

void link_firmware(const std::filesystem::path& archives, std::string_view board,
                   const std::vector<std::string>& sources_and_options, const std::filesystem::path& elf) {
  std::vector<std::string> command = read_lines(archives / "link.txt");
  if (command.empty()) throw std::runtime_error(fmt::format("{}: empty", (archives / "link.txt").string()));
  for (std::string& argument : command) {
    argument = replaced(argument, "{archives}", std::filesystem::absolute(archives).string());
    argument = replaced(replaced(argument, "{boards}", boards().string()), "{board}", std::string(board));
  }
  command.insert(command.begin() + 1, sources_and_options.begin(), sources_and_options.end());
  command.insert(command.end(), {"-o", elf.string()});

  // What the compiler puts aside is in the folder that we remove, also when it is killed.
  const std::filesystem::path folder = elf.parent_path();
  const ProcessResult result = run_process(command, folder, std::chrono::minutes(2), folder);
  if (result.not_found) {
    throw InputError({.problem = fmt::format("{} cannot be run: {}", command[0], result.output),
                      .advice = "run ./dev setup, which installs the cross compiler"});
  }
  if (!result.succeeded()) throw std::runtime_error(fmt::format("the firmware does not link:\n{}", result.output));
}

}  // namespace cormorant
