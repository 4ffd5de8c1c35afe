// SPDX-License-Identifier: Apache-2.0
//
// The same model, data and options give the same bytes: in any number of threads, in any folder and locale.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/import.h"
#include "compiler/samples.h"
#include "runner/process.h"
#include "target/parse.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

TEST(Determinism, ThreadsDoNotMatter) {
  std::vector<std::vector<std::byte>> programs;
  for (const std::size_t threads : {1U, 2U, 5U}) {
    ir::Graph graph = compiler::import_model(CORMORANT_SOURCE_DIR "/docs/tutorial/wave.pt2");
    compiler::Options options;
    options.config.target = parse_target("cortex-m55", "");
    options.quantize = true;
    options.threads = threads;
    options.calibration = compiler::read_samples(CORMORANT_SOURCE_DIR "/docs/tutorial/wave_calibration.npz", graph);
    programs.push_back(compiler::compile(graph, options).program);
  }
  EXPECT_EQ(programs[0], programs[1]);
  EXPECT_EQ(programs[0], programs[2]);
}

// Locales that write numbers differently may not be installed; where they are, this test catches code that depends on
// them.
TEST(Determinism, FolderAndLocaleDoNotMatter) {
  const TemporaryDirectory here, there;
  std::filesystem::create_directories(there.path() / "a folder");
  const std::string model = CORMORANT_SOURCE_DIR "/docs/tutorial/wave.pt2";
  const std::string data = CORMORANT_SOURCE_DIR "/docs/tutorial/wave_calibration.npz";
  const Arguments command = {"compile", model, "--calibrate", data, "-o", "wave.pte"};
  ASSERT_EQ(cormorant(here.path(), command, {"LC_ALL=C", "TZ=UTC"}).status, 0);
  ASSERT_EQ(
      cormorant(there.path() / "a folder", command, {"LC_ALL=de_DE.UTF-8", "LANG=de_DE.UTF-8", "TZ=Asia/Tokyo"}).status,
      0);
  for (const char* file : {"wave.pte", "wave.pte.names.json"}) {
    EXPECT_EQ(read_text(here.path() / file), read_text(there.path() / "a folder" / file)) << file;
    EXPECT_FALSE(read_text(here.path() / file).empty());
  }
}

}  // namespace
}  // namespace cormorant::tests
