// SPDX-License-Identifier: Apache-2.0
//
// Real archives, cut off and changed at many places: the answer is an archive or an InputError, never another exception
// and, under the sanitizers, never a wrong access. pt2_fuzz.cc looks further; this runs every time.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "base/diagnostic.h"
#include "formats/pt2/archive.h"
#include "formats/pt2/source.h"
#include "formats/pt2/zip_builder.h"

namespace cormorant::pt2 {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream stream(CORMORANT_SOURCE_DIR + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Reads the archive and, if that works, everything in it.
bool is_read(const std::string& bytes, bool verify_checksums) {
  const SharedBytes shared = share(bytes);
  try {
    const Archive archive = parse(shared.bytes, shared.owner, "mutant", {.verify_checksums = verify_checksums});
    for (const Program& program : archive.programs) {
      for (const auto& [name, tensor] : program.weights) static_cast<void>(contiguous(tensor));
      for (const auto& [name, tensor] : program.constants) static_cast<void>(contiguous(tensor));
      for (const Node& node : program.graph.nodes) static_cast<void>(source_of(node));
    }
    return true;
  } catch (const InputError& error) {
    EXPECT_FALSE(error.diagnostic().problem.empty());
    return false;
  }
}

// A large archive takes its time under the sanitizers, and its JSON is like that of the small ones.
int rounds_for(const std::string& archive) { return archive.size() > 50000 ? 60 : 250; }

class Mutation : public ::testing::TestWithParam<const char*> {};

TEST_P(Mutation, NoTruncationIsRead) {
  const std::string whole = bytes_of(GetParam());
  ASSERT_TRUE(is_read(whole, true));
  const std::size_t step = std::max<std::size_t>(1, whole.size() / 100);
  for (std::size_t n = 0; n < whole.size(); n += step) EXPECT_FALSE(is_read(whole.substr(0, n), false)) << n;
  for (std::size_t cut = 1; cut < 25; ++cut) EXPECT_FALSE(is_read(whole.substr(0, whole.size() - cut), false)) << cut;
}

TEST_P(Mutation, ChangedBytesGiveAnArchiveOrAnInputError) {
  const std::string whole = bytes_of(GetParam());
  std::mt19937 random(1);
  std::uniform_int_distribution<std::size_t> anywhere(0, whole.size() - 1);
  std::uniform_int_distribution<int> any_byte(0, 255);
  for (int round = 0; round < rounds_for(whole); ++round) {
    std::string mutant = whole;
    for (int i = 0; i <= round % 3; ++i) mutant[anywhere(random)] = static_cast<char>(any_byte(random));
    static_cast<void>(is_read(mutant, false));
  }
}

// The directory is where a zip is most fragile: change each of its last bytes.
TEST_P(Mutation, TheDirectoryIsNotTrusted) {
  const std::string whole = bytes_of(GetParam());
  const std::size_t tail = std::min<std::size_t>(whole.size(), 160);
  for (std::size_t i = whole.size() - tail; i < whole.size(); ++i) {
    for (const char value : {'\0', '\xff'}) {
      std::string mutant = whole;
      mutant[i] = value;
      static_cast<void>(is_read(mutant, false));
    }
  }
}

// Digits are the sizes, counts and codes of the JSON files: changing one keeps it JSON and changes its meaning.
TEST_P(Mutation, ChangedNumbersGiveAnArchiveOrAnInputError) {
  const std::string whole = bytes_of(GetParam());
  std::mt19937 random(2);
  std::vector<std::size_t> digits;
  for (std::size_t i = 1; i < whole.size(); ++i) {
    if (whole[i] >= '0' && whole[i] <= '9' && whole[i - 1] == ' ') digits.push_back(i);
  }
  ASSERT_FALSE(digits.empty());
  for (int round = 0; round < rounds_for(whole); ++round) {
    std::string mutant = whole;
    mutant[digits[random() % digits.size()]] = static_cast<char>('0' + random() % 10);
    static_cast<void>(is_read(mutant, false));
  }
}

TEST_P(Mutation, DamageIsNoticedByChecksums) {
  const std::string whole = bytes_of(GetParam());
  std::string mutant = whole;
  const std::size_t at = mutant.find("schema_version");
  ASSERT_NE(at, std::string::npos);
  mutant[at] = 'S';
  EXPECT_FALSE(is_read(mutant, true));
}

INSTANTIATE_TEST_SUITE_P(Archives, Mutation,
                         ::testing::Values("/zoo/digits.pt2", "/formats/pt2/testdata/arguments.pt2",
                                           "/formats/pt2/testdata/cond.pt2", "/formats/pt2/testdata/tied.pt2"));

}  // namespace
}  // namespace cormorant::pt2
