// SPDX-License-Identifier: Apache-2.0
//
// What fuzzing found stays fixed: every file of the corpus is loaded and executed again, and a fixed number of mutants
// with it. Sanitizers judge.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "ops/op.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/exercise.h"
#include "tests/fuzz/mutate.h"

namespace cormorant::fuzz {
namespace {

TEST(Corpus, SeedsAreSound) {
  const std::vector<const Kernel*> kernels = ops::host_kernels();
  const std::vector<SeedFile> seeds = read_seeds(CORMORANT_SOURCE_DIR);
  EXPECT_GT(seeds.size(), 25U);
  for (const SeedFile& seed : seeds) {
    EXPECT_EQ(exercise(seed.bytes, kernels), Error::ok) << seed.name;
    const auto program = EditableProgram::read(seed.bytes);
    ASSERT_TRUE(program) << seed.name;
    EXPECT_EQ(exercise(program->write(), kernels), Error::ok) << seed.name << " written again";
  }
}

// Mutations reach a check only from a program that passes it.
TEST(Corpus, EveryLoadHasASeed) {
  std::map<std::string, Error (*)(Call&)> loads;
  for (const Kernel* kernel : ops::host_kernels()) loads[kernel->name] = kernel->load;
  std::set<Error (*)(Call&)> seeded;
  for (const SeedFile& seed : read_seeds(CORMORANT_SOURCE_DIR)) {
    auto program = EditableProgram::read(seed.bytes);
    ASSERT_TRUE(program) << seed.name;
    for (const schema::KernelCallT* call : program->calls()) seeded.insert(loads[program->operator_of(*call)]);
  }
  for (const auto& [name, load] : loads) {
    EXPECT_TRUE(seeded.contains(load)) << name << ": no program in tests/fuzz/seeds has a kernel like it";
  }
}

void leave(const std::filesystem::path& folder, const std::string& name, const Bytes& program) {
  std::ofstream(folder / (name + ".pte"), std::ios::binary)
      .write(reinterpret_cast<const char*>(program.data()), static_cast<std::streamsize>(program.size()));
}

// An operator that reads and writes two kinds of memory that outlive it: each may stay where it is, and nothing else
// may be shared. What they hold is any number. `reads` are the arguments of what is new and of the two that are kept,
// `writes` the result and what the two become.
void expect_memories_apart(const std::string& op, const std::array<std::size_t, 3>& reads,
                           const std::array<std::size_t, 3>& writes) {
  const std::vector<const Kernel*> kernels = ops::host_kernels();
  auto program = EditableProgram::read(read_file(CORMORANT_SOURCE_DIR "/tests/fuzz/seeds/" + op + ".scalar.pte"));
  ASSERT_TRUE(program);
  std::int64_t& arena = program->plan().non_const_buffer_sizes.at(1);
  const std::vector<std::int32_t> args = program->calls().at(0)->args;
  schema::TensorT *read[3], *results[3];
  for (std::size_t i = 0; i < 3; ++i) {
    read[i] = program->tensor(args.at(reads[i]));
    results[i] = program->tensor(args.at(writes[i]));
  }
  for (const std::size_t i : {1U, 2U}) {
    if (read[i]->allocation_info != nullptr) continue;
    // Constants here become inputs.
    arena = (arena + 15) / 16 * 16;
    read[i]->data_buffer_idx = 0;
    read[i]->allocation_info = std::make_unique<schema::AllocationDetailsT>();
    read[i]->allocation_info->memory_id = 1;
    read[i]->allocation_info->memory_offset_low = static_cast<std::uint32_t>(arena);
    program->plan().inputs.push_back(args[reads[i]]);
    arena += bytes_of(*read[i]);
  }
  const Bytes apart = program->write();
  EXPECT_EQ(exercise(apart, kernels), Error::ok);
  if (const char* const folder = std::getenv("CORMORANT_SEEDS")) leave(folder, op + ".kept", apart);
  arena += 512;  // the largest fits anywhere
  for (std::size_t i = 0; i < std::size(results); ++i) {
    for (std::size_t j = 0; j < std::size(read); ++j) {
      const schema::AllocationDetailsT before = *results[i]->allocation_info;
      *results[i]->allocation_info = *read[j]->allocation_info;
      const bool stays = i == j && i != 0;
      EXPECT_EQ(exercise(program->write(), kernels), stays ? Error::ok : Error::bad_memory) << i << " over " << j;
      *results[i]->allocation_info = before;
    }
  }
}

// By the signatures' order.
TEST(Corpus, AMovingMeanKeepsItsMemoriesApart) { expect_memories_apart("moving_mean", {0, 1, 2}, {13, 14, 15}); }
TEST(Corpus, ARingKeepsItsMemoriesApart) { expect_memories_apart("update_ring", {2, 0, 1}, {4, 5, 6}); }

// Made by hand, since compiled graphs have none: rows that have bytes though there are no rows.
TEST(Corpus, AnEmptyShiftMovesNothing) {
  auto program = EditableProgram::read(read_file(CORMORANT_SOURCE_DIR "/tests/fuzz/seeds/update_shift.scalar.pte"));
  ASSERT_TRUE(program);
  // Alone, without what computes its source or reads its result.
  std::erase_if(program->plan().chains.at(0)->instructions, [&](const auto& instruction) {
    return program->operator_of(*instruction->instr_args.AsKernelCall()) != "cormorant::update_shift.scalar";
  });
  ASSERT_EQ(program->calls().size(), 1U);
  const std::vector<std::int32_t> args = program->calls()[0]->args;
  const std::int64_t dim = program->plan().values.at(static_cast<std::size_t>(args.at(1)))->val.AsInt()->int_val;
  for (const std::size_t i : {0U, 3U, 4U}) {
    std::vector<std::int32_t>& sizes = program->tensor(args.at(i))->sizes;
    ASSERT_GT(sizes.size(), 1U);
    sizes.at(dim == 0 ? 1 : 0) = 0;
  }
  const Bytes empty = program->write();
  EXPECT_EQ(exercise(empty, ops::host_kernels()), Error::ok);
  if (const char* const folder = std::getenv("CORMORANT_SEEDS")) leave(folder, "update_shift.empty", empty);
}

TEST(Corpus, FindingsStayInsideTheirMemory) {
  const std::vector<const Kernel*> kernels = ops::host_kernels();
  for (const char* folder : {"tests/fuzz/findings", "tests/hostile_programs"}) {
    for (const SeedFile& file : read_corpus(std::string(CORMORANT_SOURCE_DIR "/") + folder)) {
      SCOPED_TRACE(file.name);
      exercise(file.bytes, kernels);
    }
  }
}

// As many in every test; CORMORANT_MUTATIONS asks for more, with CORMORANT_SEED for others.
TEST(Corpus, ChangedProgramsStayInsideTheirMemory) {
  const char* const asked = std::getenv("CORMORANT_MUTATIONS");
  const char* const seed = std::getenv("CORMORANT_SEED");
  const char* const failing = std::getenv("CORMORANT_FAILING");  // where to leave each program before it runs
  const long count = asked == nullptr ? 1500 : std::atol(asked);
  Random random(seed == nullptr ? 1U : static_cast<unsigned>(std::atol(seed)));
  const std::vector<const Kernel*> kernels = ops::host_kernels();
  const std::vector<SeedFile> seeds = read_seeds(CORMORANT_SOURCE_DIR);
  ASSERT_FALSE(seeds.empty());
  long loaded = 0;
  for (long i = 0; i < count; ++i) {
    const Bytes changed = mutate(seeds[pick(random, seeds.size())].bytes, random);
    if (failing != nullptr) {
      std::ofstream(failing, std::ios::binary)
          .write(reinterpret_cast<const char*>(changed.data()), static_cast<std::streamsize>(changed.size()));
    }
    if (exercise(changed, kernels) == Error::ok) ++loaded;
  }
  RecordProperty("loaded", static_cast<int>(loaded));
  EXPECT_GT(loaded, count / 10);  // most are refused, but execution must be reached as well
}

}  // namespace
}  // namespace cormorant::fuzz
