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

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::filesystem::path archive_directory(const Cpu& cpu, Compiler compiler) {
  const auto directory =
      from_environment("CORMORANT_TARGET_DIR", CORMORANT_DEFAULT_TARGET_DIR) / name_of(compiler) / cpu.archive;
  for (const char* name : {"link.txt", "libboard.a", "libharness.a", "libruntime.a", "libkernels.a"}) {
    if (std::filesystem::exists(directory / name)) continue;
    throw InputError({.problem = fmt::format("{} is not built: firmware for {} with {} needs it",
                                             (directory / name).string(), cpu.name, name_of(compiler)),
                      .advice = "Run ./dev build, or point CORMORANT_TARGET_DIR to a build of firmware/"});
  }
  return directory;
}

std::filesystem::path counter_plugin() {
  auto plugin = from_environment("CORMORANT_PLUGIN", CORMORANT_DEFAULT_PLUGIN);
  if (!std::filesystem::exists(plugin)) {
    throw InputError({.problem = fmt::format("{}, the instruction counter, is not built", plugin.string()),
                      .advice = "Run ./dev build, or point CORMORANT_PLUGIN to it"});
  }
  return std::filesystem::absolute(plugin);
}

void link_firmware(const std::filesystem::path& archives, const std::vector<std::string>& sources_and_options,
                   const std::filesystem::path& elf) {
  std::vector<std::string> command = read_lines(archives / "link.txt");
  if (command.empty()) throw std::runtime_error(fmt::format("{}: empty", (archives / "link.txt").string()));
  command.insert(command.begin() + 1, sources_and_options.begin(), sources_and_options.end());
  command.insert(command.end(), {"-o", elf.string()});

  const ProcessResult result = run_process(command, elf.parent_path(), std::chrono::minutes(2));
  if (result.not_found) {
    throw InputError({.problem = fmt::format("{} cannot be run: {}", command[0], result.output),
                      .advice = "Run ./dev setup, which installs the cross compiler"});
  }
  if (!result.succeeded()) throw std::runtime_error(fmt::format("the firmware does not link:\n{}", result.output));
}

}  // namespace cormorant
