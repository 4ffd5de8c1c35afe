// SPDX-License-Identifier: Apache-2.0
//
// cormorant-board-fuzz SECONDS CPU [SEED]: mutated programs on an emulated board under memory protection. A program
// that fails is left in the working folder as CPU-<number>.pte; the exit status is then 1.
//
// cormorant-board-fuzz guard CPU FILE...: programs with unused bytes around every tensor; a kernel that writes there is
// named.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "ops/op.h"
#include "target/parse.h"
#include "tests/fuzz/board.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/guard.h"
#include "tests/fuzz/mutate.h"

namespace cormorant::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPerBoot = 1000;
constexpr std::chrono::minutes kLongest(10);  // for a boot, where other work has most of the machine

void leave(const Bytes& program, const std::string& name) {
  std::ofstream(name, std::ios::binary)
      .write(reinterpret_cast<const char*>(program.data()), static_cast<std::streamsize>(program.size()));
}

// Seeds whose operators the core has: the others would only be refused.
std::vector<SeedFile> seeds_for(const FuzzBoard& board) {
  const std::vector<SeedFile> all = read_seeds(CORMORANT_SOURCE_DIR);
  std::vector<Bytes> programs;
  for (const SeedFile& seed : all) programs.push_back(seed.bytes);
  const BoardOutcome outcome = board.run(programs, false, kLongest);
  if (outcome.failure) fmt::print("seed {}: {}\n", all.at(outcome.run).name, *outcome.failure);
  std::vector<SeedFile> seeds;
  for (std::size_t i = 0; i < outcome.errors.size(); ++i) {
    if (outcome.errors[i] == 0) seeds.push_back(all[i]);
  }
  return seeds;
}

int fuzz_board(double seconds, const std::string& cpu, unsigned seed) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  const FuzzBoard board(parse_target(cpu));
  const std::vector<SeedFile> seeds = seeds_for(board);
  if (seeds.empty()) return 1;
  Random random(seed);
  std::size_t run = 0, loaded = 0, findings = 0;
  while (Clock::now() < end) {
    std::vector<Bytes> programs;
    for (std::size_t i = 0; i < kPerBoot; ++i) {
      Bytes changed = mutate(seeds[pick(random, seeds.size())].bytes, random);
      if (changed.size() <= 1 << 15) programs.push_back(std::move(changed));
    }
    for (std::span<const Bytes> left = programs; !left.empty();) {
      const BoardOutcome outcome = board.run(left, false, kLongest);
      run += outcome.run;
      loaded += outcome.loaded;
      if (!outcome.failure || outcome.run >= left.size()) break;
      const std::string name = fmt::format("{}-{}{}.pte", cpu, outcome.timed_out ? "slow-" : "", ++findings);
      leave(left[outcome.run], name);
      fmt::print("{}: {}\n", name, *outcome.failure);
      left = left.subspan(outcome.run + 1);
    }
    // After each boot, so that a campaign may be ended at any time.
    fmt::print("{}: {} seeds, {} programs, {} of them executed, {} findings\n", cpu, seeds.size(), run, loaded,
               findings);
    std::fflush(stdout);
  }
  return findings == 0 ? 0 : 1;
}

int guard(const std::string& cpu, std::span<char*> files) {
  const FuzzBoard board(parse_target(cpu));
  int status = 0;
  for (const char* name : files) {
    const Guarded guarded = run_guarded(board, read_file(name));
    fmt::print("{}: {}\n", name, !guarded.fits ? "too large" : guarded.failure.empty() ? "ok" : guarded.failure);
    if (!guarded.failure.empty()) status = 1;
  }
  return status;
}

}  // namespace
}  // namespace cormorant::fuzz

int main(int count, char** arguments) {
  if (count < 3) {
    std::fputs("usage: cormorant-board-fuzz SECONDS CPU [SEED] | guard CPU FILE...\n", stderr);
    return 2;
  }
  if (std::string_view(arguments[1]) == "guard") {
    return cormorant::fuzz::guard(arguments[2], std::span(arguments, static_cast<std::size_t>(count)).subspan(3));
  }
  return cormorant::fuzz::fuzz_board(std::atof(arguments[1]), arguments[2],
                                     count > 3 ? static_cast<unsigned>(std::atol(arguments[3])) : 1U);
}
