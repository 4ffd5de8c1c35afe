// SPDX-License-Identifier: Apache-2.0
#include "runner/toolchain.h"

#include <fstream>
#include <stdexcept>

#include "base/diagnostic.h"
#include "fmt/format.h"
#include "runner/process.h"
#include "runner/tree.h"

namespace cormorant {
namespace {

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

std::filesystem::path archive_directory(const Cpu& cpu, Compiler compiler) {
  const std::filesystem::path directory = find_archives(fmt::format("{}/{}", name_of(compiler), cpu.archive));
  for (const char* name : {"link.txt", "libboard.a", "libharness.a", "libruntime.a", "libkernels.a"}) {
    if (std::filesystem::exists(directory / name)) continue;
    throw InputError({.problem = fmt::format("{} is not built: firmware for {} with {} needs it",
                                             (directory / name).string(), cpu.name, name_of(compiler)),
                      .advice = "run ./dev build in Cormorant's sources (an installed program: then install it again), "
                                "or set CORMORANT_TARGET_DIR to a build of firmware/"});
  }
  return directory;
}

std::filesystem::path counter_plugin() {
  const std::filesystem::path plugin = find_plugin();
  if (!std::filesystem::exists(plugin)) {
    throw InputError({.problem = fmt::format("{}, the instruction counter, is not built", plugin.string()),
                      .advice = "run ./dev build in Cormorant's sources (an installed program: then install it again), "
                                "or set CORMORANT_PLUGIN to its path"});
  }
  return std::filesystem::absolute(plugin);
}

void link_firmware(const std::filesystem::path& archives, std::string_view board,
                   const std::vector<std::string>& sources_and_options, const std::filesystem::path& elf) {
  std::vector<std::string> command = read_lines(archives / "link.txt");
  if (command.empty()) throw std::runtime_error(fmt::format("{}: empty", (archives / "link.txt").string()));
  for (std::string& argument : command) {
    argument = replaced(argument, "{archives}", std::filesystem::absolute(archives).string());
    argument = replaced(replaced(argument, "{boards}", find_boards().string()), "{board}", std::string(board));
  }
  command.insert(command.begin() + 1, sources_and_options.begin(), sources_and_options.end());
  command.insert(command.end(), {"-o", elf.string()});

  // What the compiler puts aside is in the folder that we remove, also when it is killed.
  const std::filesystem::path folder = elf.parent_path();
  const ProcessResult result = run_process(command, folder, std::chrono::minutes(2), folder);
  if (result.not_found) {
    throw InputError({.problem = fmt::format("{} cannot be run: {}", command[0], result.output),
                      .advice = "install the cross compiler (Debian: apt install gcc-arm-none-eabi "
                                "libnewlib-arm-none-eabi)"});
  }
  if (!result.succeeded()) throw std::runtime_error(fmt::format("the firmware does not link:\n{}", result.output));
}

}  // namespace cormorant
