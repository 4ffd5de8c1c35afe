// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/board.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/diagnostic.h"
#include "boards/boards.h"
#include "ops/op.h"
#include "runner/emulator.h"
#include "runner/glue.h"
#include "runner/toolchain.h"
#include "tests/fuzz/exercise.h"

namespace cormorant::fuzz {
namespace {

constexpr std::uint16_t kWroteBeside = 1;

struct Record {
  std::uint32_t bytes = 0, arenas = 0, arena_bytes[3] = {}, dump = 0;
};

std::vector<KernelChoice> all_kernels(const Target& target, const std::filesystem::path& archive) {
  const std::vector<std::string> symbols = archive_symbols(archive);
  std::vector<KernelChoice> kernels;
  for (const Kernel* kernel : ops::host_kernels()) {
    try {
      for (KernelChoice& choice : choose_kernels({kernel->name}, target, symbols)) kernels.push_back(std::move(choice));
    } catch (const InputError&) {  // another instruction set's
    }
  }
  return kernels;
}

// Whether the firmware is newer than everything it is linked from.
bool is_newer(const std::filesystem::path& elf, const std::filesystem::path& archives) {
  std::error_code none;
  const auto linked = std::filesystem::last_write_time(elf, none);
  if (none) return false;
  const std::filesystem::path sources[] = {archives / "libkernels.a", archives / "libruntime.a",
                                           archives / "libharness.a", archives / "libboard.a",
                                           CORMORANT_SOURCE_DIR "/tests/fuzz/firmware.cc"};
  return std::ranges::all_of(
      sources, [&](const std::filesystem::path& path) { return std::filesystem::last_write_time(path) < linked; });
}

void append(std::ofstream& to, const Bytes& program, bool keep_arenas) {
  const AlignedBytes aligned(program);
  const std::vector<std::size_t> sizes = arena_sizes(aligned.span(), keep_arenas ? kLargestArenas : kArenaLimit);
  Record record{.bytes = static_cast<std::uint32_t>(program.size()),
                .arenas = static_cast<std::uint32_t>(sizes.size()),
                .dump = keep_arenas ? 1U : 0U};
  std::size_t left = kLargestArenas;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    record.arena_bytes[i] = static_cast<std::uint32_t>(std::min(sizes[i], left));
    left -= record.arena_bytes[i];
  }
  to.write(reinterpret_cast<const char*>(&record), sizeof record);
  Bytes padded = program;
  padded.resize((program.size() + 15) / 16 * 16);
  to.write(reinterpret_cast<const char*>(padded.data()), static_cast<std::streamsize>(padded.size()));
}

}  // namespace

FuzzBoard::FuzzBoard(const Target& target) : target_(target) {
  const std::filesystem::path archives = archive_directory(*target.cpu, Compiler::gcc);
  path_ = archives / fmt::format("fuzz_{}.elf", name_of(target.isa));
  if (!is_newer(path_, archives)) link(archives);
  elf_ = read_elf(path_);
}

void FuzzBoard::link(const std::filesystem::path& archives) const {
  std::ofstream(directory_.path() / "model.pte") << "none";
  std::ofstream(directory_.path() / "glue.S") << assembly({.model = "model.pte",
                                                           .method = "forward",
                                                           .kernels = all_kernels(target_, archives / "libkernels.a"),
                                                           .arenas = {}});
  const std::filesystem::path elf = directory_.path() / "fuzz.elf";
  link_firmware(archives, target_.cpu->board,
                {"-std=c++20", "-Os", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-ffunction-sections",
                 "-I" CORMORANT_SOURCE_DIR, "-I" CORMORANT_SOURCE_DIR "/include",
                 CORMORANT_SOURCE_DIR "/tests/fuzz/firmware.cc", (directory_.path() / "glue.S").string()},
                elf);
  // Other processes may do the same at this moment.
  const std::filesystem::path beside = path_.string() + "." + directory_.path().filename().string();
  std::filesystem::copy_file(elf, beside, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::rename(beside, path_);
}

BoardOutcome FuzzBoard::run(std::span<const Bytes> programs, bool keep_arenas, std::chrono::milliseconds limit) const {
  {
    std::ofstream file(directory_.path() / "programs.bin", std::ios::binary);
    for (const Bytes& program : programs) append(file, program, keep_arenas);
  }
  std::filesystem::remove(directory_.path() / "results.bin");
  std::filesystem::remove(directory_.path() / "arenas.bin");
  BoardOutcome outcome;
  try {
    const EmulationResult result = emulate({.elf = path_,
                                            .board = find_board(target_.cpu->board),
                                            .directory = directory_.path(),
                                            .time_limit = limit,
                                            .count = {}},
                                           elf_);
    if (result.status != 0) outcome.failure = "the firmware ended with status " + std::to_string(result.status);
  } catch (const BoardFault& fault) {
    outcome.failure = fault.what();
  } catch (const InputError& error) {  // the only one that a firmware causes
    outcome.failure = error.what();
    outcome.timed_out = true;
  }
  std::ifstream results(directory_.path() / "results.bin", std::ios::binary);
  for (std::uint16_t error; results.read(reinterpret_cast<char*>(&error), sizeof error); ++outcome.run) {
    if (error == kWroteBeside) {
      outcome.failure = "something was written beside an arena";
      outcome.timed_out = false;
      return outcome;
    }
    if (error == 0) ++outcome.loaded;
    outcome.errors.push_back(error);
  }
  std::ifstream arenas(directory_.path() / "arenas.bin", std::ios::binary);
  const std::string dumped((std::istreambuf_iterator<char>(arenas)), std::istreambuf_iterator<char>());
  const auto* data = reinterpret_cast<const std::byte*>(dumped.data());
  outcome.arenas.assign(data, data + dumped.size());
  if (!outcome.failure && outcome.run != programs.size()) outcome.failure = "not all programs were run";
  return outcome;
}

}  // namespace cormorant::fuzz
