// SPDX-License-Identifier: Apache-2.0
//
// The runtime in firmware that uses it differently from `cormorant run` (tests/testdata/device.cc), on a board of each
// instruction set.
#include <gtest/gtest.h>

#include <fstream>

#include "formats/pte/reader.h"
#include "ops/op.h"
#include "runner/emulator.h"
#include "runner/glue.h"
#include "runner/process.h"
#include "runner/toolchain.h"
#include "runtime/host.h"
#include "target/parse.h"
#include "tests/command.h"
#include "tests/fuzz/corpus.h"

namespace cormorant::tests {
namespace {

struct Device {
  const char* cpu;
  const char* first;  // of tests/fuzz/seeds
  const char* second;
};
void PrintTo(const Device& device, std::ostream* out) { *out << device.cpu; }

fuzz::Bytes seed(const std::string& name, const char* folder = "fuzz/seeds") {
  for (fuzz::SeedFile& file : fuzz::read_corpus(std::string(CORMORANT_SOURCE_DIR "/tests/") + folder)) {
    if (file.name == name + ".pte") return file.bytes;
  }
  ADD_FAILURE() << "no " << name << " in " << folder;
  return {};
}

// The arena's size before the program; the program's operators are added to the list.
void put(const fuzz::Bytes& program, const std::filesystem::path& path, std::vector<std::string>& operators) {
  const AlignedBytes aligned(program);
  const auto method = pte::ProgramView::open(aligned.span()).value().method(0);
  const auto arena = static_cast<std::uint32_t>(method.value().memory_sizes()[1]);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&arena), sizeof arena);
  file.write(reinterpret_cast<const char*>(program.data()), static_cast<std::streamsize>(program.size()));
  for (std::uint32_t i = 0; i < method.value().operator_count(); ++i) {
    const pte::OperatorView op = method.value().operator_at(i).value();
    operators.push_back(std::string(op.name) + (op.overload.empty() ? "" : "." + std::string(op.overload)));
  }
}

class OnADevice : public testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(All, OnADevice,
                         testing::Values(Device{"cortex-m55", "conv2d.mve_kxk", "quantized_add.out"},
                                         Device{"cortex-m4", "conv2d.dsp", "quantized_add.out"},
                                         Device{"cortex-m0", "conv2d.v6m", "quantized_add.out"}));

TEST_P(OnADevice, MemoryLoadsAndInterruptsAreDefined) {
  const TemporaryDirectory directory;
  const Target target = parse_target(GetParam().cpu);
  const std::filesystem::path archives = archive_directory(*target.cpu, Compiler::gcc);
  std::vector<std::string> operators;
  put(seed(GetParam().first), directory.path() / "first.bin", operators);
  put(seed(GetParam().second), directory.path() / "second.bin", operators);
  put(seed("buffers", "executorch"), directory.path() / "foreign.bin", operators);
  const Ran compiled = cormorant(directory.path(), {"compile", zoo("state/dilated.pt2"), "--sequence", "--calibrate",
                                                    zoo("state/dilated_expected.npz"), "--target", GetParam().cpu,
                                                    "--io=int8", "--no-link", "-o", "stream.pte"});
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  put(fuzz::read_file(directory.path() / "stream.pte"), directory.path() / "stream.bin", operators);
  std::ofstream(directory.path() / "model.pte") << "none";
  std::ofstream(directory.path() / "glue.S")
      << assembly({.model = (directory.path() / "model.pte").string(),
                   .method = "forward",
                   .kernels = choose_kernels(operators, target, archive_symbols(archives / "libkernels.a"), operators),
                   .arenas = {}});
  const std::filesystem::path elf = directory.path() / "device.elf";
  link_firmware(archives, target.cpu->board,
                {"-std=c++20", "-Os", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
                 "-I" CORMORANT_SOURCE_DIR, "-I" CORMORANT_SOURCE_DIR "/include",
                 CORMORANT_SOURCE_DIR "/tests/testdata/device.cc", (directory.path() / "glue.S").string()},
                elf);
  const EmulationResult result = emulate(
      {.elf = elf, .board = find_board(target.cpu->board), .directory = directory.path(), .count = {}}, read_elf(elf));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.console.size(), 15U);
  for (const std::string& line : result.console) EXPECT_TRUE(line.starts_with("ok ")) << line;
}

}  // namespace
}  // namespace cormorant::tests
