// SPDX-License-Identifier: Apache-2.0
//
// The corpus and a fixed number of mutated programs on boards, where memory protection lets kernels write only their
// arena and the stack.
#include <gtest/gtest.h>

#include "target/parse.h"
#include "tests/fuzz/board.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/mutate.h"

namespace cormorant::fuzz {
namespace {

class BoardCorpus : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, BoardCorpus, testing::Values("cortex-m55", "cortex-m4", "cortex-m3", "cortex-m0"),
                         [](const auto& cpu) { return std::string(cpu.param).substr(7); });

TEST_P(BoardCorpus, StaysInsideItsMemory) {
  constexpr std::size_t kChanged = 400;
  const FuzzBoard board(parse_target(GetParam()));
  std::vector<Bytes> programs;
  for (SeedFile& seed : read_seeds(CORMORANT_SOURCE_DIR)) programs.push_back(std::move(seed.bytes));
  const std::size_t seeds = programs.size();
  for (const char* folder : {"tests/fuzz/findings", "tests/hostile_programs"}) {
    for (SeedFile& file : read_corpus(std::string(CORMORANT_SOURCE_DIR "/") + folder)) {
      programs.push_back(std::move(file.bytes));
    }
  }
  ASSERT_GT(seeds, 25U);
  Random random(1);
  for (std::size_t i = 0; i < kChanged; ++i) programs.push_back(mutate(programs[pick(random, seeds)], random));
  std::erase_if(programs, [](const Bytes& program) { return program.size() > 1 << 15; });
  const BoardOutcome outcome = board.run(programs);
  EXPECT_EQ(outcome.failure, std::nullopt) << "program " << outcome.run;
  EXPECT_EQ(outcome.run, programs.size());
  EXPECT_GT(outcome.loaded, programs.size() / 10);
}

}  // namespace
}  // namespace cormorant::fuzz
